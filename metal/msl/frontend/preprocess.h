#pragma once

#include <string_view>

#include "metal/msl/interface.h"

namespace mlxn::msl {

// Compiler::preprocess.
Result<Preprocessed> preprocess(std::string_view source, const CompileOptions& options,
                                const PreprocessRequest& request);

}  // namespace mlxn::msl

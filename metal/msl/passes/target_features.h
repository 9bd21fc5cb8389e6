#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"

namespace mlxn::msl {

// Whether a function is compiled for a processor with this feature, such as "+avx2".
inline bool has_feature(const llvm::Function& function, llvm::StringRef feature) {
  llvm::SmallVector<llvm::StringRef, 64> features;
  function.getFnAttribute("target-features").getValueAsString().split(features, ',');
  return llvm::is_contained(features, feature);
}

}  // namespace mlxn::msl

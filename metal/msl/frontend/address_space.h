// Address spaces as the source writes them. The C++ that Clang parses has none (see
// token_rewriter.h), so what a pointer points to is found by where its * or & stands.
#pragma once

#include <unordered_map>
#include <vector>

#include "clang/Lex/Token.h"

namespace mlxn::msl {

enum class Space : uint8_t { kUnknown, kDevice, kConstant, kThreadgroup, kThread };

// The address space a word names; kUnknown for all others.
Space space_named(llvm::StringRef word);

const char* name_of(Space space);

// The space written for each pointer and reference, by the location of its * or &.
class PointerSpaces {
 public:
  explicit PointerSpaces(const std::vector<clang::Token>& tokens);
  PointerSpaces() = default;

  // kUnknown where the source writes none.
  Space at(clang::SourceLocation star) const {
    auto found = spaces_.find(star.getRawEncoding());
    return found == spaces_.end() ? Space::kUnknown : found->second;
  }

 private:
  std::unordered_map<unsigned, Space> spaces_;
};

// What a list of tokens such as `device const T* p` says about the outermost pointer or reference
// in it: its space, kThread if none is written, kUnknown if there is no pointer.
Space outermost_space(const std::vector<clang::Token>& tokens, size_t begin, size_t end);

}  // namespace mlxn::msl

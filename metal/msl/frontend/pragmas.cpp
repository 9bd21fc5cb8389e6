#include "metal/msl/frontend/pragmas.h"

#include <optional>

#include "clang/Lex/Pragma.h"
#include "llvm/ADT/StringSwitch.h"
#include "metal/msl/frontend/token_rewriter.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

namespace {

using clang::Token;
namespace tok = clang::tok;

// Clang's pragma for an option of Metal's, or nothing for one that Metal does not have.
std::optional<std::string> clang_pragma(llvm::StringRef option, llvm::StringRef value) {
  if (option == "contract" && (value == "off" || value == "on" || value == "fast"))
    return str("clang fp contract(", value.str(), ")");
  if (option != "math_mode") return std::nullopt;
  constexpr const char* kFree = "clang fp reassociate(on) reciprocal(on) contract(fast)";
  return llvm::StringSwitch<std::optional<std::string>>(value)
      .Case("safe", "clang fp reassociate(off) reciprocal(off) contract(on)")
      .Cases("relaxed", "fast", kFree)
      .Default(std::nullopt);
}

class FloatingPointPragma : public clang::PragmaHandler {
 public:
  FloatingPointPragma() : PragmaHandler("fp") {}

  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer,
                    Token& first) override {
    std::string text;
    Token token;
    for (preprocessor.Lex(token); token.isNot(tok::eod); preprocessor.Lex(token))
      text += preprocessor.getSpelling(token);
    auto [option, rest] = llvm::StringRef(text).split('(');
    bool closed = rest.consume_back(")");
    std::optional<std::string> pragma;
    if (closed) pragma = clang_pragma(option, rest);
    if (!pragma) return refuse(preprocessor, first, text);
    std::vector<Token> tokens =
        lex_text(preprocessor, str("_Pragma(\"", *pragma, "\")"), "<pragma>");
    auto copy = std::make_unique<Token[]>(tokens.size());
    std::copy(tokens.begin(), tokens.end(), copy.get());
    preprocessor.EnterTokenStream(std::move(copy), tokens.size(), /*DisableMacroExpansion=*/false,
                                  /*IsReinject=*/false);
  }

 private:
  static void refuse(clang::Preprocessor& preprocessor, const Token& first,
                     const std::string& text) {
    auto& diagnostics = preprocessor.getDiagnostics();
    unsigned id = diagnostics.getCustomDiagID(
        clang::DiagnosticsEngine::Error,
        "unknown option '%0' of '#pragma METAL fp', expected contract(off|on|fast) or "
        "math_mode(safe|relaxed|fast)");
    diagnostics.Report(first.getLocation(), id) << text;
  }
};

}  // namespace

void add_pragmas(clang::Preprocessor& preprocessor) {
  preprocessor.AddPragmaHandler("METAL", new FloatingPointPragma);
}

}  // namespace mlxn::msl

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stablehlo/module_error.h"

namespace topos::stablehlo_text {

enum class TokenKind : std::uint8_t {
  end,
  identifier,   // stablehlo.add, dense
  value,        // %arg0, without the %
  symbol,       // @main, without the @
  block,        // ^bb0, without the ^
  integer,      // -12, 0x7FC00000
  real,         // 1.5, -2.0e-3
  string,       // "text", what stands between the quotes, escapes and all
  tensor,       // tensor<2x3xf32>, what stands between < and >
  punctuation,  // one character, or ->
};

/// A word of the text, which has to outlive it.
struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  Location at;
};

/// Cuts MLIR's text into tokens, once, from left to right.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  /// \throws ModuleError  no token begins here
  Token next();

 private:
  Location here() const;
  char peek(std::size_t ahead = 0) const;
  void skip_blanks();
  // The characters from `from` on that `accepts`, taken.
  template <class F>
  std::string_view take_while(std::size_t from, F&& accepts);
  Token number(Location at);
  Token string(Location at);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace topos::stablehlo_text

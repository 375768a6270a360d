#pragma once

#include <string>
#include <string_view>

#include "stablehlo/lexer.h"
#include "stablehlo/syntax.h"

namespace topos::stablehlo_text {

/// The current token of a text, and what parsers ask of it. Everything is
/// decided by one token: nothing is read twice.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : lexer_(text) { advance(); }

  const Token& token() const { return token_; }
  Location at() const { return token_.at; }
  bool is(TokenKind kind) const { return token_.kind == kind; }
  bool is_word(std::string_view word) const;
  bool is_punctuation(std::string_view text) const;

  /// The current token, left behind.
  Token take();
  bool accept(std::string_view punctuation);
  bool accept_word(std::string_view word);
  void expect(std::string_view punctuation);
  Token expect(TokenKind kind, std::string_view what);
  std::int64_t integer();
  TensorType type();

  /// \throws ModuleError  naming what was wanted and what is there
  [[noreturn]] void expected(std::string_view what) const;

 private:
  void advance() { token_ = lexer_.next(); }

  Lexer lexer_;
  Token token_;
};

/// An attribute's value; a type may follow a number (`1 : i32`).
Attribute read_attribute(Cursor& cursor);
/// The value of a key of a pretty form, where a colon begins the signature.
Attribute read_plain_attribute(Cursor& cursor);
/// `{name = value, ...}` as the fields of a dictionary, the brace being next.
Attribute read_dictionary(Cursor& cursor);
/// `dense<...> : type`, the word being next.
Attribute read_dense(Cursor& cursor);

}  // namespace topos::stablehlo_text

#include "stablehlo/cursor.h"

#include <charconv>

namespace topos::stablehlo_text {

bool Cursor::is_word(std::string_view word) const {
  return token_.kind == TokenKind::identifier && token_.text == word;
}

bool Cursor::is_punctuation(std::string_view text) const {
  return token_.kind == TokenKind::punctuation && token_.text == text;
}

Token Cursor::take() {
  const Token token = token_;
  advance();
  return token;
}

bool Cursor::accept(std::string_view punctuation) {
  if (!is_punctuation(punctuation)) return false;
  advance();
  return true;
}

bool Cursor::accept_word(std::string_view word) {
  if (!is_word(word)) return false;
  advance();
  return true;
}

void Cursor::expect(std::string_view punctuation) {
  if (!accept(punctuation)) expected(punctuation);
}

Token Cursor::expect(TokenKind kind, std::string_view what) {
  if (token_.kind != kind) expected(what);
  return take();
}

std::int64_t Cursor::integer() {
  const Token token = expect(TokenKind::integer, "an integer");
  std::int64_t result = 0;
  const char* const last = token.text.data() + token.text.size();
  const auto [end, error] = std::from_chars(token.text.data(), last, result);
  if (error != std::errc() || end != last) {
    fail(token.at, std::string(token.text) + " is no integer of 64 bits");
  }
  return result;
}

TensorType Cursor::type() {
  const Token token = expect(TokenKind::tensor, "a tensor type");
  return parse_tensor_type(token.text, token.at);
}

void Cursor::expected(std::string_view what) const {
  std::string found;
  switch (token_.kind) {
    case TokenKind::end:
      found = "the end of the text";
      break;
    case TokenKind::value:
      found = "%" + std::string(token_.text);
      break;
    case TokenKind::symbol:
      found = "@" + std::string(token_.text);
      break;
    case TokenKind::block:
      found = "^" + std::string(token_.text);
      break;
    case TokenKind::string:
      found = "\"" + std::string(token_.text) + "\"";
      break;
    case TokenKind::tensor:
      found = "tensor<" + std::string(token_.text) + ">";
      break;
    default:
      found = token_.text;
  }
  fail(token_.at, "expected " + std::string(what) + ", found " + found);
}

}  // namespace topos::stablehlo_text

#include "stablehlo/lexer.h"

#include <string>

namespace topos::stablehlo_text {
namespace {

// Not those of <cctype>, which ask the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name(char c) {
  return is_letter(c) || is_digit(c) || c == '$' || c == '.';
}
bool is_suffix(char c) { return is_name(c) || c == '-'; }

}  // namespace

Location Lexer::here() const {
  return {line_, static_cast<int>(at_ - line_start_) + 1};
}

char Lexer::peek(std::size_t ahead) const {
  return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

template <class F>
std::string_view Lexer::take_while(std::size_t from, F&& accepts) {
  at_ = from;
  while (at_ < text_.size() && accepts(text_[at_])) ++at_;
  return text_.substr(from, at_ - from);
}

Token Lexer::next() {
  skip_blanks();
  const Location at = here();
  if (at_ == text_.size()) return {TokenKind::end, "", at};
  const std::size_t start = at_;
  const char c = text_[at_];

  if (is_letter(c)) {
    const std::string_view word = take_while(start, is_name);
    if (word != "tensor" || peek() != '<') {
      return {TokenKind::identifier, word, at};
    }
    // In one piece: 2x3xf32 is neither a number nor a name.
    const std::string_view inside = take_while(at_ + 1, is_name);
    if (peek() != '>') fail(here(), "expected > after tensor<");
    ++at_;
    return {TokenKind::tensor, inside, at};
  }
  if (is_digit(c) || (c == '-' && is_digit(peek(1)))) return number(at);
  if (c == '"') return string(at);
  if (c == '%' || c == '@' || c == '^') {
    const std::string_view word = take_while(start + 1, is_suffix);
    if (word.empty()) fail(at, std::string("expected a name after ") + c);
    return {c == '%'   ? TokenKind::value
            : c == '@' ? TokenKind::symbol
                       : TokenKind::block,
            word, at};
  }
  if (c == '-' && peek(1) == '>') {
    at_ += 2;
    return {TokenKind::punctuation, text_.substr(start, 2), at};
  }
  if (std::string_view("(){}[]<>=,:#").find(c) != std::string_view::npos) {
    ++at_;
    return {TokenKind::punctuation, text_.substr(start, 1), at};
  }
  fail(at, "an unexpected character");
}

Token Lexer::number(Location at) {
  const std::size_t start = at_;
  if (text_[at_] == '-') ++at_;
  if (peek() == '0' && peek(1) == 'x' && is_hex_digit(peek(2))) {
    take_while(at_ + 2, is_hex_digit);
    return {TokenKind::integer, text_.substr(start, at_ - start), at};
  }
  take_while(at_, is_digit);
  TokenKind kind = TokenKind::integer;
  if (peek() == '.') {
    kind = TokenKind::real;
    take_while(at_ + 1, is_digit);
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '-' || peek(1) == '+' ? 1 : 0;
      if (is_digit(peek(1 + sign))) take_while(at_ + 1 + sign, is_digit);
    }
  }
  return {kind, text_.substr(start, at_ - start), at};
}

Token Lexer::string(Location at) {
  const std::size_t start = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    at_ += text_[at_] == '\\' ? 2 : 1;
  }
  if (at_ >= text_.size() || text_[at_] != '"') {
    at_ = text_.size();
    fail(at, "the string does not end");
  }
  const std::string_view inside = text_.substr(start, at_ - start);
  ++at_;
  return {TokenKind::string, inside, at};
}

}  // namespace topos::stablehlo_text

#include <bit>
#include <charconv>
#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "stablehlo/cursor.h"

/// \file
/// Constants: `dense<...> : type`. The type comes last, so the literals are
/// kept as tokens until it is known.

namespace topos::stablehlo_text {
namespace {

struct Literals {
  std::vector<Token> tokens;
  std::vector<std::int64_t> shape;  // of the brackets; none for a splat
};

// One level of brackets; `depth` counts them from outside.
void read_level(Cursor& cursor, std::size_t depth, Literals& into) {
  const Location at = cursor.at();
  if (!cursor.accept("[")) {
    const TokenKind kind = cursor.token().kind;
    if (kind != TokenKind::integer && kind != TokenKind::real &&
        !cursor.is_word("true") && !cursor.is_word("false")) {
      cursor.expected("a number");
    }
    into.tokens.push_back(cursor.take());
    if (into.shape.size() != depth) fail(at, "the brackets differ in depth");
    return;
  }
  if (depth == max_rank) fail(at, "brackets nest too deep");
  const bool first_of_level = into.shape.size() == depth;
  if (first_of_level) {
    if (!into.tokens.empty()) fail(at, "the brackets differ in depth");
    into.shape.push_back(0);
  }
  std::int64_t count = 0;
  if (!cursor.accept("]")) {
    do {
      read_level(cursor, depth + 1, into);
      ++count;
    } while (cursor.accept(","));
    cursor.expect("]");
  }
  if (first_of_level) {
    into.shape[depth] = count;
  } else if (into.shape[depth] != count) {
    fail(at, "brackets of " + std::to_string(count) + " after ones of " +
                 std::to_string(into.shape[depth]));
  }
}

[[noreturn]] void refuse_literal(const Token& token, ElementType element) {
  fail(token.at,
       std::string(token.text) + " is no " + std::string(name(element)));
}

// A decimal integer, or the digits behind 0x.
template <class T>
T parse_integer(const Token& token, std::string_view digits, int base,
                ElementType element) {
  T result = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, result, base);
  if (error != std::errc() || end != last) refuse_literal(token, element);
  return result;
}

template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 8, std::uint64_t,
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;

// Decimals go through f64 to the type, as in MLIR, which rounds twice.
template <class T>
requires(!std::integral<T>) T
    parse_literal(const Token& token, ElementType element) {
  if (token.kind == TokenKind::integer && token.text.starts_with("0x")) {
    return std::bit_cast<T>(
        parse_integer<BitsOf<T>>(token, token.text.substr(2), 16, element));
  }
  // An integer is no float in MLIR, either.
  if (token.kind != TokenKind::real) refuse_literal(token, element);
  double result = 0;
  const char* const last = token.text.data() + token.text.size();
  const auto [end, error] = std::from_chars(token.text.data(), last, result);
  if (error != std::errc() || end != last) refuse_literal(token, element);
  return static_cast<T>(result);
}

// Types without a sign take what their bits can mean: i32 -1 and 4294967295.
template <std::integral T>
T parse_literal(const Token& token, ElementType element) {
  if (token.kind == TokenKind::identifier) {
    if (element != ElementType::i1) refuse_literal(token, element);
    return static_cast<T>(token.text == "true");
  }
  if (token.kind != TokenKind::integer) refuse_literal(token, element);
  if constexpr (std::same_as<T, bool>) {
    if (token.text != "0" && token.text != "1") refuse_literal(token, element);
    return token.text == "1";
  } else {
    using Bits = std::make_unsigned_t<T>;
    if (token.text.starts_with("0x")) {
      return static_cast<T>(
          parse_integer<Bits>(token, token.text.substr(2), 16, element));
    }
    if (token.text.starts_with("-")) {
      return parse_integer<T>(token, token.text, 10, element);
    }
    return static_cast<T>(parse_integer<Bits>(token, token.text, 10, element));
  }
}

void fill_literals(const std::vector<Token>& tokens, Array& into) {
  const ElementType element = into.type().element;
  visit_element(element, [&]<class T>() {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      into.as<T>()[i] = parse_literal<T>(tokens[i], element);
    }
  });
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "0x0000803F": the bytes in memory, little-endian.
void fill_hex(const Token& token, Array& into) {
  const std::string_view digits = token.text.substr(2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = hex_digit(digits[i]);
    const int low = hex_digit(digits[i + 1]);
    if (high < 0 || low < 0) fail(token.at, "not a string of hex digits");
    into.data()[i / 2] = static_cast<std::byte>(high * 16 + low);
  }
}

Array hex_elements(const Token& token, const TensorType& type) {
  if (!token.text.starts_with("0x") || token.text.size() % 2 != 0) {
    fail(token.at, "not a string of hex digits");
  }
  if (type.element == ElementType::i1) {
    fail(token.at, "i1 has no hex form that all versions read alike");
  }
  const std::size_t bytes = token.text.size() / 2 - 1;
  const std::size_t width = size_bytes(type.element);
  const bool is_splat = bytes == width;
  if (!is_splat && bytes != width * static_cast<std::size_t>(type.count())) {
    fail(token.at, std::to_string(bytes) + " bytes for " + type.text());
  }
  Array result(is_splat ? TensorType{type.element, {}} : type);
  fill_hex(token, result);
  return result;
}

Array literal_elements(const Literals& literals, const TensorType& type,
                       Location at) {
  const bool is_splat = literals.shape.empty() && literals.tokens.size() == 1;
  // dense<> says only that there is nothing.
  const bool is_none = literals.shape.empty() && literals.tokens.empty();
  const bool fits =
      is_splat || (is_none ? type.count() == 0
                           : std::vector(type.shape.begin(),
                                         type.shape.end()) == literals.shape);
  if (!fits) {
    fail(at,
         "elements of shape " + text(literals.shape) + " for " + type.text());
  }
  Array result(is_splat ? TensorType{type.element, {}} : type);
  fill_literals(literals.tokens, result);
  return result;
}

}  // namespace

Attribute read_dense(Cursor& cursor) {
  Attribute result;
  result.kind = Attribute::Kind::dense;
  result.at = cursor.take().at;
  cursor.expect("<");
  Token hex;
  Literals literals;
  if (cursor.is(TokenKind::string)) {
    hex = cursor.take();
  } else if (!cursor.is_punctuation(">")) {
    read_level(cursor, 0, literals);
  }
  cursor.expect(">");
  cursor.expect(":");
  result.type = cursor.type();
  result.elements = hex.kind == TokenKind::string
                        ? hex_elements(hex, result.type)
                        : literal_elements(literals, result.type, result.at);
  return result;
}

}  // namespace topos::stablehlo_text

#include <string>
#include <utility>

#include "stablehlo/cursor.h"

namespace topos::stablehlo_text {
namespace {

using Kind = Attribute::Kind;

// Deeper than any module, and shallow enough for every stack.
constexpr int greatest_depth = 32;

class AttributeReader {
 public:
  AttributeReader(Cursor& cursor, bool typed)
      : cursor_(cursor), typed_(typed) {}

  Attribute value();
  Attribute dictionary();

 private:
  Attribute begin(Kind kind) const;
  Attribute word();
  Attribute list();
  Attribute integers();
  Attribute record();
  std::string sharding();
  void fields(Attribute& into, std::string_view end);
  // `: i64` or `: tensor<...>` behind a number tells us nothing.
  void skip_type();

  Cursor& cursor_;
  bool typed_;
  int depth_ = 0;
};

Attribute AttributeReader::begin(Kind kind) const {
  Attribute result;
  result.kind = kind;
  result.at = cursor_.at();
  return result;
}

Attribute AttributeReader::value() {
  if (++depth_ > greatest_depth) {
    fail(cursor_.at(), "attributes nest too deep");
  }
  Attribute result = [&] {
    switch (cursor_.token().kind) {
      case TokenKind::identifier:
        return word();
      case TokenKind::integer: {
        Attribute number = begin(Kind::integer);
        number.integer = cursor_.integer();
        skip_type();
        return number;
      }
      case TokenKind::real: {
        Attribute number = begin(Kind::real);
        number.text = cursor_.take().text;
        skip_type();
        return number;
      }
      case TokenKind::string: {
        Attribute string = begin(Kind::string);
        string.text = cursor_.take().text;
        return string;
      }
      case TokenKind::symbol: {
        Attribute symbol = begin(Kind::symbol);
        symbol.text = cursor_.take().text;
        return symbol;
      }
      case TokenKind::tensor: {
        Attribute type = begin(Kind::type);
        type.type = cursor_.type();
        return type;
      }
      default:
        if (cursor_.is_punctuation("[")) return list();
        if (cursor_.is_punctuation("{")) return dictionary();
        if (cursor_.is_punctuation("#")) return record();
        cursor_.expected("an attribute");
    }
  }();
  --depth_;
  return result;
}

Attribute AttributeReader::word() {
  if (cursor_.is_word("dense")) return read_dense(cursor_);
  if (cursor_.is_word("array")) return integers();
  Attribute result = begin(Kind::keyword);
  result.text = cursor_.take().text;
  if (result.text == "true" || result.text == "false") {
    result.kind = Kind::boolean;
    result.integer = result.text == "true" ? 1 : 0;
  } else if (result.text == "unit") {
    result.kind = Kind::unit;
  }
  return result;
}

Attribute AttributeReader::list() {
  Attribute result = begin(Kind::integers);
  cursor_.expect("[");
  if (cursor_.accept("]")) return result;
  do {
    result.items.push_back(value());
    if (result.items.back().kind != Kind::integer) result.kind = Kind::list;
  } while (cursor_.accept(","));
  cursor_.expect("]");
  if (result.kind == Kind::list) return result;
  for (const Attribute& item : result.items) {
    result.integers.push_back(item.integer);
  }
  result.items.clear();
  return result;
}

Attribute AttributeReader::integers() {
  Attribute result = begin(Kind::integers);
  cursor_.take();
  cursor_.expect("<");
  cursor_.expect(TokenKind::identifier, "an integer type");
  if (cursor_.accept(":")) {
    do {
      if (cursor_.is_word("true") || cursor_.is_word("false")) {
        result.integers.push_back(cursor_.take().text == "true" ? 1 : 0);
      } else {
        result.integers.push_back(cursor_.integer());
      }
    } while (cursor_.accept(","));
  }
  cursor_.expect(">");
  return result;
}

// #stablehlo<comparison_direction LT>, #stablehlo.gather<offset_dims = [1]>.
Attribute AttributeReader::record() {
  Attribute result = begin(Kind::record);
  cursor_.expect("#");
  result.text = cursor_.expect(TokenKind::identifier, "a dialect").text;
  cursor_.expect("<");
  if (result.text == "sdy.sharding") {
    result.text = sharding();
    result.kind = Kind::string;
  } else if (result.text == "stablehlo") {
    cursor_.expect(TokenKind::identifier, "the name of an enumeration");
    result.kind = Kind::keyword;
    result.text = cursor_.expect(TokenKind::identifier, "a keyword").text;
    cursor_.expect(">");
  } else {
    fields(result, ">");
  }
  return result;
}

// `@mesh, [{"device"}, {}]>`: the parts of the mesh that split each axis. As
// text: `[{device}, {}]`.
std::string AttributeReader::sharding() {
  cursor_.expect(TokenKind::symbol, "a mesh");
  cursor_.expect(",");
  cursor_.expect("[");
  std::string text = "[";
  while (!cursor_.accept("]")) {
    if (text.size() > 1) {
      cursor_.expect(",");
      text += ", ";
    }
    text += "{";
    for (const auto& [name, unit] : dictionary().fields) {
      if (text.back() != '{') text += ", ";
      text += name;
    }
    text += "}";
  }
  cursor_.expect(">");
  return text + "]";
}

Attribute AttributeReader::dictionary() {
  Attribute result = begin(Kind::dictionary);
  cursor_.expect("{");
  fields(result, "}");
  return result;
}

void AttributeReader::fields(Attribute& into, std::string_view end) {
  if (cursor_.accept(end)) return;
  do {
    if (!cursor_.is(TokenKind::identifier) && !cursor_.is(TokenKind::string)) {
      cursor_.expected("the name of an attribute");
    }
    const Token key = cursor_.take();
    if (into.find(key.text) != nullptr) {
      fail(key.at, std::string(key.text) + " is given twice");
    }
    Attribute unit;
    unit.at = key.at;
    into.fields.push_back({std::string(key.text),
                           cursor_.accept("=") ? value() : std::move(unit)});
  } while (cursor_.accept(","));
  cursor_.expect(end);
}

void AttributeReader::skip_type() {
  if (!typed_ || !cursor_.accept(":")) return;
  if (cursor_.is(TokenKind::tensor)) {
    cursor_.type();
  } else {
    cursor_.expect(TokenKind::identifier, "a type");
  }
}

}  // namespace

Attribute read_attribute(Cursor& cursor) {
  return AttributeReader(cursor, true).value();
}

Attribute read_plain_attribute(Cursor& cursor) {
  return AttributeReader(cursor, false).value();
}

Attribute read_dictionary(Cursor& cursor) {
  return AttributeReader(cursor, true).dictionary();
}

}  // namespace topos::stablehlo_text

#include "stablehlo/syntax.h"

#include <array>

#include "stablehlo/dialect.h"

namespace topos::stablehlo_text {

std::string_view name(Attribute::Kind kind) {
  static constexpr std::array<std::string_view, 13> names = {
      "a unit",   "a boolean",      "an integer", "a real", "a string",
      "a symbol", "a keyword",      "integers",   "a list", "a dictionary",
      "a record", "dense elements", "a type"};
  static_assert(names.size() ==
                static_cast<std::size_t>(Attribute::Kind::type) + 1);
  return names[static_cast<std::size_t>(kind)];
}

const Attribute* Attribute::find(std::string_view field) const {
  for (const auto& [key, value] : fields) {
    if (key == field) return &value;
  }
  return nullptr;
}

const std::vector<std::int64_t>& Attribute::integers_of(
    std::string_view field) const {
  static const std::vector<std::int64_t> none;
  const Attribute* found = find(field);
  return found == nullptr ? none : found->integers;
}

const Attribute* Operation::find(std::string_view attribute) const {
  for (const auto& [key, value] : attributes) {
    if (key == attribute) return &value;
  }
  return nullptr;
}

const Attribute& Operation::get(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  if (found == nullptr) throw InternalError("an attribute that is not there");
  return *found;
}

void refuse(const Operation& op, const std::string& clause) {
  fail(op.at, std::string(op.row->name) + ": " + clause);
}

std::string text(const std::vector<std::int64_t>& integers) {
  std::string result = "[";
  for (const std::int64_t x : integers) {
    if (result.size() > 1) result += ", ";
    result += std::to_string(x);
  }
  return result + "]";
}

}  // namespace topos::stablehlo_text

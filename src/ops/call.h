#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "ops/at_line.h"
#include "ops/catalog.h"
#include "ops/print.h"
#include "topos/site.h"

/// \file
/// What a call of a public function is before anyone evaluates or records it:
/// numbers find their dtype, shapes their broadcast, attributes their form.

namespace topos::ops {

/// How operands of an operation meet.
struct CallRules {
  std::string_view name;
  bool elementwise;
  /// The first operand that numbers take their dtype from; those before it
  /// are boolean.
  std::size_t first_like;
  /// The operand that holds indices, if there is one: a number there is an
  /// i64, whatever the others are.
  std::size_t index_operand = no_operand;

  static constexpr std::size_t no_operand = static_cast<std::size_t>(-1);
};

/// Those of an operation or a composite.
template <class Op>
constexpr CallRules call_rules() {
  CallRules rules{Op::name, Elementwise<Op>,
                  std::is_same_v<Op, Select> ? 1u : 0u};
  if constexpr (requires { Op::index_operand; }) {
    rules.index_operand = Op::index_operand;
  }
  return rules;
}

/// The dtype of operand `at`, a number: that of the first operand that is not
/// one (`types` holds none for numbers).
/// \throws DTypeError  all are numbers
inline DType number_dtype(const CallRules& rules, std::size_t at,
                          std::span<const std::optional<Type>> types) {
  if (at < rules.first_like) return boolean;
  if (at == rules.index_operand) return i64;
  for (std::size_t i = rules.first_like; i < types.size(); ++i) {
    if (types[i]) return types[i]->dtype;
  }
  throw DTypeError("all operands are numbers: give one of them a dtype");
}

/// The operation from a caller's arguments.
template <class Op, class... Arguments>
Op make_operation(Operands<Type> types, const Arguments&... arguments) {
  if constexpr (requires { Op::make(types, arguments...); }) {
    return Op::make(types, arguments...);
  } else {
    return Op{arguments...};
  }
}

/// The line of a call: the greatest of its operands' (compilers differ on
/// expressions of several lines), but not the line of the frame that a layer
/// passes on with its operands.
template <class Operand>
Site call_site(std::span<const Operand> operands) {
  const Site frame = Frame::outermost();
  Site site = operands.empty() ? Site{} : operands[0].site;
  const auto is_frame = [&](const Site& s) {
    return s.line == frame.line &&
           std::string_view(s.file) == std::string_view(frame.file);
  };
  for (const Operand& operand : operands) {
    if (is_frame(site) ||
        (!is_frame(operand.site) && operand.site.line > site.line)) {
      site = operand.site;
    }
  }
  return site;
}

}  // namespace topos::ops

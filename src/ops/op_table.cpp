#include "ops/op_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "ops/call.h"
#include "ops/catalog.h"
#include "ops/composite.h"
#include "ops/evaluate.h"

namespace topos::ops {

namespace {

constexpr std::array dtypes = {f32, f64, bf16, f16, i32, i64, boolean};
static_assert(dtypes.size() == dtype_count);

/// The types that a row names: `f32[2, 3]{...} i32[]` without the elements.
std::vector<Type> types_of(std::string_view text) {
  std::vector<Type> result;
  for (std::size_t open = text.find('['); open != text.npos;
       open = text.find('[')) {
    const std::size_t close = text.find(']', open);
    Type type;
    for (DType dtype : dtypes) {
      if (text.substr(0, open) == name(dtype)) type.dtype = dtype;
    }
    std::int64_t extent = -1;
    for (char c : text.substr(open + 1, close - open)) {
      if (c >= '0' && c <= '9') {
        extent = std::max<std::int64_t>(extent, 0) * 10 + (c - '0');
      } else if (extent >= 0) {
        type.shape.push_back(extent);
        extent = -1;
      }
    }
    result.push_back(type);
    // Past the elements, to the next name.
    std::size_t next = close + 1;
    if (next < text.size() && text[next] == '{') next = text.find('}') + 1;
    text.remove_prefix(std::min(next, text.size()));
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return result;
}

/// The operands of a row with another dtype for those that share the leading
/// operand's (the first that numbers take theirs from).
template <class Op>
std::vector<Type> retyped(const Row<Op>& row, DType dtype) {
  std::vector<Type> types = types_of(row.operands);
  const std::size_t leading = call_rules<Op>().first_like;
  if (leading >= types.size()) return types;
  const DType from = types[leading].dtype;
  for (Type& type : types) {
    if (type.dtype == from) type.dtype = dtype;
  }
  return types;
}

/// The operation of a row; one without operands has its dtype as an attribute.
template <class Op>
Op retyped_op(const Row<Op>& row, DType dtype) {
  Op op = row.op;
  if constexpr (requires { op.type.dtype; }) op.type.dtype = dtype;
  return op;
}

template <class Op>
bool accepts(const Row<Op>& row, DType dtype) {
  const std::vector<Type> types = retyped(row, dtype);
  try {
    if constexpr (Composite<Op>) {
      row.op.check(types);
    } else {
      retyped_op(row, dtype).infer(types);
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

template <class Op>
std::string accepted_dtypes() {
  std::string result;
  for (DType dtype : dtypes) {
    const auto rows = Op::rows();
    if (std::any_of(rows.begin(), rows.end(),
                    [&](const auto& row) { return accepts(row, dtype); })) {
      result += fmt::format("{}{}", result.empty() ? "" : " ", name(dtype));
    }
  }
  return result;
}

/// Whether the rule gives a cotangent, at zeros of a type that it accepts.
template <class Op>
bool has_rule() {
  for (const auto& row : Op::rows()) {
    if (!accepts(row, f32)) continue;
    std::vector<Tensor> x;
    for (const Type& type : retyped(row, f32)) {
      if (type.size_bytes() > 4096) break;  // only there to be refused
      x.push_back(Tensor::zeros(type));
    }
    const std::vector<Type> types = retyped(row, f32);
    if (x.size() != types.size()) continue;
    try {
      const Op op = retyped_op(row, f32);
      const Type type = op.infer(types);
      const Tensor y = evaluate(op, type, x);
      if (!is_floating(type.dtype)) continue;
      for (const auto& cotangent : op.derivative(Operands<Tensor>(x), y, y)) {
        if (cotangent) return true;
      }
    } catch (const IndexError&) {
      continue;  // a row that indexes nothing
    }
  }
  return false;
}

/// The operations of StableHLO that it becomes in the first dtype that it
/// accepts, in their order; a few words of a long formula.
template <class Op>
std::string lowered_operations() {
  constexpr std::size_t most_listed = 4;
  const auto rows = Op::rows();
  auto row = rows.begin();
  const auto dtype = std::ranges::find_if(dtypes, [&](DType candidate) {
    row = std::ranges::find_if(
        rows, [&](const auto& x) { return accepts(x, candidate); });
    return row != rows.end();
  });
  if (dtype == dtypes.end()) return "-";
  const std::vector<Type> types = retyped(*row, *dtype);
  stablehlo::Writer out;
  std::vector<stablehlo::Value> x;
  for (const Type& type : types) x.push_back(out.argument("x", type));
  const Op op = retyped_op(*row, *dtype);
  op.lower(out, {x, op.infer(types)});

  constexpr std::string_view prefix = "stablehlo.";
  std::vector<std::string_view> names;
  std::string_view body = out.body();
  for (std::size_t at = body.find(prefix); at != body.npos;
       at = body.find(prefix)) {
    body.remove_prefix(at + prefix.size());
    const std::string_view found =
        body.substr(0, body.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
    // What belongs to another one: its region's end, its attributes, and the
    // constants that it broadcasts.
    constexpr std::string_view parts[] = {"return", "constant",
                                          "broadcast_in_dim"};
    const bool is_part = (out.operation_count() > 1 || found == "return") &&
                         std::ranges::find(parts, found) != std::end(parts);
    if (!is_part && std::ranges::find(names, found) == names.end()) {
      names.push_back(found);
    }
  }
  if (names.empty()) return "the operand";
  const bool is_long = names.size() > most_listed;
  if (is_long) names.resize(most_listed);
  return fmt::format("{}{}", fmt::join(names, " "), is_long ? " ..." : "");
}

template <class Op>
std::string fields_of() {
  std::string result;
  std::apply(
      [&](const auto&... field) {
        ((result +=
          fmt::format("{}{}", result.empty() ? "" : " ", field.first)),
         ...);
      },
      Op::fields());
  return result;
}

std::string line(std::string_view name, std::string_view arity,
                 std::string_view fields, std::string_view kind,
                 std::string_view accepted, std::string_view derivative,
                 std::string_view lowering) {
  return fmt::format("{:<15} {:<6} {:<17} {:<12} {:<34} {:<11} {}\n", name,
                     arity, fields.empty() ? "-" : fields, kind, accepted,
                     derivative, lowering);
}

}  // namespace

std::string op_table() {
  std::string result = line("operation", "arity", "attributes", "kind",
                            "dtypes", "derivative", "StableHLO");
  All::for_each([&]<class Op>() {
    result +=
        line(Op::name,
             Op::arity == any_number ? "any" : fmt::format("{}", Op::arity),
             fields_of<Op>(),
             Elementwise<Op> ? "elementwise"
             : ViewValue<Op> ? "view"
                             : "tensor",
             accepted_dtypes<Op>(), has_rule<Op>() ? "rule" : "-",
             lowered_operations<Op>());
  });
  AllComposites::for_each([&]<class C>() {
    std::size_t arity = 0;
    for (const auto& row : C::rows()) {
      arity = std::max(arity, types_of(row.operands).size());
    }
    result += line(C::name, fmt::format("{}", arity), fields_of<C>(),
                   "composite", accepted_dtypes<C>(),
                   OwnDerivative<C> ? "rule" : "formula", "its formula");
  });
  return result;
}

}  // namespace topos::ops

namespace topos {

std::string op_table() { return ops::op_table(); }

}  // namespace topos

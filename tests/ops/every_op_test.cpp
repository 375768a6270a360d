// Every operation and composite keeps what its rows promise. A new operation
// is tested here without a change: its rows are its tests.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/call.h"
#include "ops/catalog.h"
#include "ops/composite.h"
#include "ops/evaluate.h"
#include "ops/op_table.h"
#include "ops/print.h"
#include "support/differences.h"
#include "support/layouts.h"
#include "support/random.h"
#include "support/tensors.h"

namespace topos::ops {
namespace {

using test::HasBitsOf;
using test::IsNear;
using test::IsWithinUlps;

/// A row of any operation or composite: the same questions to all of them.
struct Case {
  std::string name;
  std::string_view operands;
  std::string_view result;
  std::string_view derivative;
  /// Of a composite: only checks.
  std::function<void(Operands<Type>)> infer;
  std::function<Tensor(Operands<Tensor>)> evaluate;
  /// None where a composite leaves it to its formula.
  std::function<Cotangents<Tensor>(Operands<Tensor>, const Tensor& y,
                                   const Tensor& dy)>
      rule;
  bool composite = false;
  bool elementwise = false;
  /// The first operand that numbers take their dtype from.
  std::size_t leading = 0;
  /// How far an f64 result may be from the mathematical value in its row: an
  /// elementary function rounds nearly once, a formula at each of its steps.
  int f64_ulps = 0;
  /// stop_gradient's slope is not its derivative.
  bool smooth = true;

  bool is_refusal() const { return !test::is_types(result); }
};

template <class Op>
bool takes_integers() {
  for (const auto& row : Op::rows()) {
    if (!test::is_types(row.result)) continue;
    for (const Type& type : test::types(row.operands)) {
      if (is_integer(type.dtype)) return true;
    }
  }
  return false;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  All::for_each([&]<class Op>() {
    for (const Row<Op>& row : Op::rows()) {
      Case c;
      c.name = std::string(Op::name) + ", " + std::string(row.note);
      c.operands = row.operands;
      c.result = row.result;
      c.derivative = row.derivative;
      const Op op = row.op;
      c.infer = [op](Operands<Type> x) { op.infer(x); };
      c.evaluate = [op](Operands<Tensor> x) {
        std::vector<Type> types;
        for (const Tensor& tensor : x) types.push_back(tensor.type());
        return evaluate(op, infer(op, types), x);
      };
      c.rule = [op](Operands<Tensor> x, const Tensor& y, const Tensor& dy) {
        return op.derivative(x, y, dy);
      };
      c.elementwise = Elementwise<Op>;
      c.leading = call_rules<Op>().first_like;
      c.f64_ulps = takes_integers<Op>() ? 0 : Elementwise<Op> ? 1 : 4;
      c.smooth = !std::is_same_v<Op, StopGradient>;
      result.push_back(c);
    }
  });
  AllComposites::for_each([&]<class C>() {
    for (const Row<C>& row : C::rows()) {
      Case c;
      c.name = std::string(C::name) + ", " + std::string(row.note);
      c.operands = row.operands;
      c.result = row.result;
      c.derivative = row.derivative;
      const C composite = row.op;
      c.infer = [composite](Operands<Type> x) { composite.check(x); };
      c.evaluate = [composite](Operands<Tensor> x) {
        return composite.formula(x);
      };
      if constexpr (OwnDerivative<C>) {
        c.rule = [composite](Operands<Tensor> x, const Tensor& y,
                             const Tensor& dy) {
          return composite.derivative(x, y, dy);
        };
      }
      c.composite = true;
      c.f64_ulps = 8;
      result.push_back(c);
    }
  });
  return result;
}

/// Calls `body` with each of the cases that are `wanted`; what it throws is a
/// failure of that case and not the end. Gives their count.
template <class Wanted, class F>
int for_each_case(Wanted&& wanted, F&& body) {
  int count = 0;
  for (const Case& c : cases()) {
    if (!wanted(c)) continue;
    ++count;
    SCOPED_TRACE(c.name);
    try {
      body(c);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  return count;
}

bool is_refusal(const Case& c) { return c.is_refusal(); }
bool has_result(const Case& c) { return !c.is_refusal(); }

/// The message of what `f` throws; empty if nothing.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

std::vector<Type> types_of(Operands<Tensor> x) {
  std::vector<Type> result;
  for (const Tensor& tensor : x) result.push_back(tensor.type());
  return result;
}

/// All checks of a Case's cotangents that do not look at their elements; none
/// becomes zeros.
std::vector<Tensor> checked_cotangents(const Case& c, Operands<Tensor> x,
                                       const Tensor& y, const Tensor& dy) {
  const Cotangents<Tensor> cotangents = c.rule(x, y, dy);
  EXPECT_EQ(cotangents.size(), x.size());
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i >= cotangents.size() || !cotangents[i]) {
      result.push_back(Tensor::zeros(x[i].type()));
      continue;
    }
    EXPECT_TRUE(is_floating(x[i].dtype())) << "operand " << i;
    EXPECT_EQ(cotangents[i]->type(), x[i].type()) << "operand " << i;
    result.push_back(*cotangents[i]);
  }
  return result;
}

TEST(EveryOperation, GivesTheResultsOfItsRows) {
  const int rows = for_each_case(has_result, [](const Case& c) {
    const Tensor y = c.evaluate(test::tensors(c.operands));
    const Tensor expected = test::tensor(c.result);
    if (expected.dtype() == f64) {
      EXPECT_THAT(y, IsWithinUlps(expected, c.f64_ulps));
    } else {
      EXPECT_THAT(y, HasBitsOf(expected));
    }
  });
  RecordProperty("rows", rows);
}

TEST(EveryOperation, RefusesWithTheClauseOfItsRow) {
  const int rows = for_each_case(is_refusal, [](const Case& c) {
    std::string message = error_of([&] { c.infer(test::types(c.operands)); });
    if (message.empty() && test::has_elements(c.operands)) {
      message = error_of([&] { c.evaluate(test::tensors(c.operands)); });
      // What a part of a formula refuses has the part's own call before it.
      if (c.composite && message.ends_with(c.result)) return;
    }
    EXPECT_EQ(message, c.result);
  });
  RecordProperty("rows", rows);
}

// The reference walks strides; whatever an operand's layout, the bits are
// those of its elements in row-major order.
TEST(EveryOperation, HasTheSameBitsInEveryLayout) {
  int checks = 0;
  for_each_case(has_result, [&](const Case& c) {
    const std::vector<Tensor> plain = test::tensors(c.operands);
    const Tensor expected = c.evaluate(plain);
    std::map<std::string, std::vector<Tensor>> together;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      for (const test::Variant& variant : test::variants(plain[i])) {
        SCOPED_TRACE("operand " + std::to_string(i) + " " + variant.layout);
        ASSERT_TRUE(bits_equal(variant.tensor, plain[i]));
        std::vector<Tensor> x = plain;
        x[i] = variant.tensor;
        EXPECT_THAT(c.evaluate(x), HasBitsOf(expected));
        ++checks;
        together.try_emplace(variant.layout, plain).first->second[i] =
            variant.tensor;
      }
    }
    for (const auto& [layout, x] : together) {
      SCOPED_TRACE("all operands " + layout);
      EXPECT_THAT(c.evaluate(x), HasBitsOf(expected));
      ++checks;
    }
  });
  EXPECT_GT(checks, 0);
  RecordProperty("checks", checks);
}

// Into given storage, as a plan runs it: no element is forgotten.
TEST(EveryOperation, FillsTheStorageThatItIsGiven) {
  All::for_each([&]<class Op>() {
    for (const Row<Op>& row : Op::rows()) {
      if (!test::is_types(row.result)) continue;
      SCOPED_TRACE(std::string(Op::name) + ", " + std::string(row.note));
      const std::vector<Tensor> x = test::tensors(row.operands);
      const Type type = infer(row.op, types_of(x));
      const Tensor expected = evaluate(row.op, type, x);
      EXPECT_EQ(expected.type(), type);
      std::byte* data = nullptr;
      const Tensor y = Tensor::uninitialized(type, data);
      std::fill_n(data, type.size_bytes(),
                  type.dtype == boolean ? std::byte{1} : std::byte{0xA5});
      evaluate_into(row.op, x, {type, data});
      EXPECT_THAT(y, HasBitsOf(expected));
    }
  });
}

TEST(EveryOperation, HasTheDerivativesOfItsRows) {
  const auto given = [](const Case& c) {
    return !c.is_refusal() && c.rule && !c.derivative.empty() &&
           c.derivative != "skip";
  };
  const int rows = for_each_case(given, [](const Case& c) {
    const std::vector<Tensor> x = test::tensors(c.operands);
    const Tensor y = c.evaluate(x);
    // The chain rule does not ask where there is no float.
    bool floats = false;
    for (const Tensor& operand : x) floats |= is_floating(operand.dtype());
    if (!floats || !is_floating(y.dtype())) {
      EXPECT_EQ(c.derivative, "-");
      return;
    }
    const auto expected = test::optional_tensors(c.derivative);
    const bool none = c.derivative == "-";
    ASSERT_TRUE(none || expected.tensors.size() == x.size());
    const Cotangents<Tensor> cotangents =
        c.rule(x, y, Tensor::full(y.type(), 1));
    ASSERT_EQ(cotangents.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      SCOPED_TRACE("operand " + std::to_string(i));
      ASSERT_EQ(cotangents[i].has_value(), !none && expected.present[i]);
      if (!cotangents[i]) continue;
      if (x[i].dtype() == f64) {
        EXPECT_THAT(*cotangents[i],
                    IsWithinUlps(expected.tensors[i], c.f64_ulps));
      } else {
        EXPECT_THAT(*cotangents[i], HasBitsOf(expected.tensors[i]));
      }
    }
  });
  RecordProperty("rows", rows);
}

/// Compares the rule at f64 operands with central differences, under a
/// cotangent of random numbers.
void check_by_differences(const Case& c, const std::vector<Tensor>& x,
                          const Tensor& y, test::Random& random) {
  const Tensor dy = random.tensor(y.shape(), 0.5, 1.5);
  const std::vector<Tensor> cotangents = checked_cotangents(c, x, y, dy);
  const test::Function f = [&](std::span<const Tensor> at) {
    return c.evaluate(at);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].dtype() != f64) continue;
    SCOPED_TRACE("operand " + std::to_string(i));
    EXPECT_THAT(cotangents[i], IsNear(test::differences(f, x, i, dy), 2e-9));
  }
}

// Where a row leaves its derivative open, its floating operands are taken to
// f64 and moved.
TEST(EveryOperation, HasTheSlopesThatDifferencesShow) {
  constexpr std::uint64_t seed = 20250101;
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::Random random(seed);
  const auto open = [](const Case& c) {
    return !c.is_refusal() && c.rule && c.smooth && c.derivative.empty();
  };
  int rows = 0;
  for_each_case(open, [&](const Case& c) {
    std::vector<Tensor> x;
    for (const Tensor& operand : test::tensors(c.operands)) {
      x.push_back(is_floating(operand.dtype()) ? cast(operand, f64) : operand);
    }
    const Tensor y = c.evaluate(x);
    if (y.dtype() != f64) return;
    ++rows;
    check_by_differences(c, x, y, random);
  });
  EXPECT_GT(rows, 0);
  RecordProperty("rows", rows);
}

bool all_finite(const Tensor& x) {
  for (double element : x.to_vector<double>()) {
    if (!std::isfinite(element)) return false;
  }
  return true;
}

/// Operands of the given types: f64 elements that differ from each other, from
/// 0 and from -1, where log1p ends, by more than differences move them, so that
/// nothing is near a tie; indices below `bound`.
std::vector<Tensor> random_operands(std::span<const Type> types,
                                    bool only_positive, std::int64_t bound,
                                    test::Random& random) {
  std::set<std::int64_t> used;
  std::vector<Tensor> result;
  for (const Type& type : types) {
    if (type.dtype == f64) {
      std::vector<double> elements;
      for (std::int64_t i = 0; i < type.shape.element_count(); ++i) {
        std::int64_t at = 0;  // an odd multiple of 1/128, at least 1/4
        do {
          at = 33 + 2 * random.below(128);
          if (!only_positive && random.below(2) == 0) at = -at;
        } while (std::abs(at + 128) < 32 || !used.insert(at).second);
        elements.push_back(static_cast<double>(at) / 128);
      }
      result.emplace_back(type.shape, elements);
    } else {
      const Tensor units = random.tensor(type.shape, 0, 1);
      result.push_back(
          type.dtype == boolean
              ? less(units, 0.5)
              : cast(units * static_cast<double>(bound), type.dtype));
    }
  }
  return result;
}

/// The operands' types of a row with f64 in place of the leading dtype and
/// other extents: equal ones stay equal. Elementwise operations get other
/// ranks, too.
std::vector<Type> random_types(const Case& c, test::Random& random) {
  constexpr std::int64_t extents[] = {0, 1, 1, 2, 2, 3, 3, 4};
  std::vector<Type> types = test::types(c.operands);
  if (c.leading >= types.size()) return {};
  const DType from = types[c.leading].dtype;
  Shape common;
  for (std::int64_t rank = random.below(4); rank > 0; --rank) {
    common.push_back(extents[random.below(std::size(extents))]);
  }
  std::map<std::int64_t, std::int64_t> changed;
  for (Type& type : types) {
    if (type.dtype == from) type.dtype = f64;
    if (c.elementwise) type.shape = common;
    if (c.elementwise) continue;
    for (std::int64_t& extent : type.shape) {
      extent =
          changed.try_emplace(extent, extents[random.below(std::size(extents))])
              .first->second;
    }
  }
  return types;
}

TEST(EveryOperation, HasTheSlopesThatDifferencesShowAtRandomOperands) {
  constexpr std::uint64_t seed = 20250102;
  constexpr int tries = 48;
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::Random random(seed);
  std::map<std::string, int> checked;  // by operation
  int empty = 0;
  const auto differentiable = [](const Case& c) {
    return !c.is_refusal() && c.rule && c.smooth;
  };
  for_each_case(differentiable, [&](const Case& c) {
    const std::string op = c.name.substr(0, c.name.find(','));
    for (int i = 0; i < tries && !testing::Test::HasFailure(); ++i) {
      const std::vector<Type> types = random_types(c, random);
      std::int64_t elements = 0;
      for (const Type& type : types) elements += type.shape.element_count();
      if (elements > 48) continue;
      if (!error_of([&] { c.infer(types); }).empty()) continue;
      // Where the rule's domain or an axis is smaller, from the second on.
      for (const auto& [positive, bound] :
           {std::pair{false, 4}, {true, 4}, {true, 1}}) {
        const std::vector<Tensor> x =
            random_operands(types, positive, bound, random);
        std::optional<Tensor> y;
        try {
          y = c.evaluate(x);
        } catch (const IndexError&) {
          continue;
        }
        if (y->dtype() != f64) break;
        if (!all_finite(*y)) continue;
        std::string trace = "operands";
        for (const Tensor& operand : x) trace += " " + test::text(operand);
        SCOPED_TRACE(trace);
        check_by_differences(c, x, *y, random);
        ++checked[op];
        if (y->element_count() == 0) ++empty;
        break;
      }
    }
  });
  int total = 0;
  for (const auto& [op, count] : checked) {
    EXPECT_GE(count, 4) << op;
    total += count;
  }
  EXPECT_GT(empty, 20);
  RecordProperty("checks", total);
  RecordProperty("operations", static_cast<int>(checked.size()));
}

TEST(EveryOperation, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  const auto add = [&]<class Op>() {
    EXPECT_TRUE(names.insert(Op::name).second) << Op::name;
  };
  All::for_each(add);
  AllComposites::for_each(add);
  EXPECT_GE(names.size(), All::size);
}

TEST(EveryOperation, PrintsItsAttributes) {
  EXPECT_EQ(fields_of(Any(Tanh{})), "");
  EXPECT_EQ(fields_of(Any(Gather{1, 0})), " axis=1, batch=0");
  EXPECT_EQ(fields_of(Any(Sum{{0, 2}})), " axes=[0, 2]");
  EXPECT_EQ(fields_of(Any(Cast{boolean})), " to=boolean");
  EXPECT_EQ(fields_of(Any(Pad{{1}, {0}, -0.0})),
            " low=[1], high=[0], value=-0");
  EXPECT_EQ(fields_text(Gelu{GeluForm::tanh}), " form=tanh");
  EXPECT_EQ(name_of(Any(Iota{})), "iota");
}

// Equal attributes make nodes common subexpressions: zeros of both signs are
// not equal, and NaN is.
TEST(EveryOperation, ComparesItsAttributesByTheirBits) {
  EXPECT_EQ(Any(Pad{{1}, {0}, 0.0}), Any(Pad{{1}, {0}, 0.0}));
  EXPECT_NE(Any(Pad{{1}, {0}, 0.0}), Any(Pad{{1}, {0}, -0.0}));
  const double nan = std::nan("");
  EXPECT_EQ(Any(Pad{{1}, {0}, nan}), Any(Pad{{1}, {0}, nan}));
  EXPECT_NE(Any(Sum{{0}}), Any(Sum{{1}}));
  EXPECT_NE(Any(Sum{{0}}), Any(Mean{{0}}));
}

// An axis that a caller counts from the end is not an attribute: whoever makes
// an operation by hand has to count from the front.
TEST(EveryOperation, WantsItsAxesCountedFromTheFront) {
  const std::vector<Type> x = {{f32, {2, 3}}};
  EXPECT_EQ(error_of([&] { infer(Sum{{-1}}, x); }),
            "the axes [-1] do not ascend from the front");
  EXPECT_EQ(error_of([&] {
              infer(ReduceMax{{1, 0}}, x);
            }),
            "the axes [1, 0] do not ascend from the front");
  EXPECT_EQ(error_of([&] { infer(Softmax{-1}, x); }),
            "the axis -1 does not count from the front");
}

TEST(OpTable, HasALineAnOperation) {
  const std::string table = op_table();
  EXPECT_EQ(
      static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')),
      1 + All::size + AllComposites::size);
  // clang-format off
  for (std::string_view line : {
           "add             2      -                 elementwise  f32 f64 bf16 f16 i32 i64           rule        add\n",
           "argmax          1      axis              tensor       f32 f64 bf16 f16 i32 i64           -           iota reduce compare and ...\n",
           "reshape         1      shape             view         f32 f64 bf16 f16 i32 i64 boolean   rule        reshape\n",
           "select          3      -                 elementwise  f32 f64 bf16 f16 i32 i64 boolean   rule        select\n",
           "stop_gradient   1      -                 view         f32 f64 bf16 f16 i32 i64 boolean   -           the operand\n",
           "gelu            1      form              composite    f32 f64 bf16 f16                   formula     its formula\n",
       }) {
    // clang-format on
    EXPECT_NE(table.find(line), table.npos) << line << table;
  }
}

}  // namespace
}  // namespace topos::ops

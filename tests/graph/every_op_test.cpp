// BC-05: each operation and composite in turn in the middle of a network of
// two layers. The gradient of the first weight is right (central differences
// in f64), or exactly zero where the operation documents that. A new operation
// is tested here without a change: its rows are its operands.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/derivatives.h"
#include "graph/recorded_row.h"
#include "ops/composite.h"
#include "ops/evaluate.h"

namespace topos {
namespace {

using test::IsNear;
using test::Random;

/// Neither infinite nor NaN, and so small that differences have digits left.
bool moderate(const Tensor& x) {
  for (double element : cast(x, f64).to_vector<double>()) {
    if (!(std::abs(element) < 1000)) return false;
  }
  return true;
}

/// The network: h = tanh(x w), each floating operand of the middle is a fixed
/// tensor moved by h, and the second layer weighs what the middle gives.
template <class Op>
Value two_layers(const Op& op, const std::vector<Tensor>& operands, Tape& tape,
                 Value w) {
  Random random(20250302);
  const Value x = tape.constant(random.tensor({1, 2}, -1, 1));
  const Value h = sum(tanh(matmul(x, w)));
  std::vector<Value> middle;
  for (const Tensor& operand : operands) {
    Value value = tape.constant(operand);
    if (operand.dtype() == f64) {
      const Value slope =
          tape.constant(random.tensor(operand.shape(), -0.02, 0.02));
      value = value + slope * h;
    }
    middle.push_back(value);
  }
  const Value y = test::record(op, tape, middle);
  const Value flat = reshape(cast(y, f64), {1, -1});
  const Value second =
      tape.constant(random.tensor({flat.shape()[1], 1}, 0.5, 1.5));
  return sum(matmul(flat, second));
}

class EveryOperation : public testing::Test {
 protected:
  /// One row in the middle. A row that no network can take says so: false.
  template <class Op>
  bool check(const ops::Row<Op>& row) {
    if (!test::is_types(row.result) || row.derivative == "skip") return false;
    // Its slope is not its derivative.
    if (std::is_same_v<Op, ops::StopGradient>) return false;
    std::vector<Tensor> operands;
    bool floats = false;
    for (const Tensor& x : test::tensors(row.operands)) {
      const bool floating = is_floating(x.dtype());
      floats |= floating;
      operands.push_back(floating ? cast(x, f64) : x);
      if (!moderate(operands.back()) || x.element_count() == 0) return false;
    }
    if (!floats) return false;
    const Tensor start = Random(20250303).tensor({2, 3}, -1, 1);
    Tape tape;
    const Value w = tape.parameter("w", start);
    const Value free = tape.input("free", f64, {2, 3});
    const Value loss = two_layers(row.op, operands, tape, w);
    const Value moved = two_layers(row.op, operands, tape, free);
    const Value by = tape.differentiate(loss, {w})[0];
    const Network network = tape.seal();
    const Tensor gradient = network.evaluate(by);
    if (!moderate(network.evaluate(loss))) return false;
    EXPECT_EQ(gradient.type(), (Type{f64, {2, 3}}));
    const std::vector<Tensor> at = {start};
    const test::Function f = [&](std::span<const Tensor> x) {
      return network.evaluate(moved, {{free, x[0]}});
    };
    const Tensor expected = test::differences(f, at, 0, Tensor::scalar(1.0));
    EXPECT_THAT(gradient, IsNear(expected, 1e-7));
    bool any = false;
    for (double g : gradient.to_vector<double>()) any |= g != 0;
    (any ? with_slope_ : without_)[std::string(Op::name)]++;
    return true;
  }

  std::map<std::string, int> with_slope_;
  std::map<std::string, int> without_;
};

TEST_F(EveryOperation, Bc05InTheMiddleOfTwoLayers) {
  int rows = 0;
  const auto all = [&]<class Op>() {
    for (const auto& row : Op::rows()) {
      SCOPED_TRACE(std::string(Op::name) + ", " + std::string(row.note));
      // Points where differences mean nothing have their derivative in the row
      // and are tested with it; away from ties they are smooth.
      if (!row.derivative.empty() && row.derivative != "-") continue;
      if (check(row)) ++rows;
    }
  };
  ops::All::for_each(all);
  ops::AllComposites::for_each(all);
  RecordProperty("rows", rows);
  // Zero by their definition: everything else has a slope.
  const std::set<std::string> flat = {
      "argmax",    "equal",      "greater",       "greater_equal", "is_finite",
      "less",      "less_equal", "logical_and",   "logical_not",   "logical_or",
      "not_equal", "sign",       "stop_gradient", "iota"};
  const auto found = [&]<class Op>() {
    const std::string name(Op::name);
    EXPECT_EQ(with_slope_.contains(name), !flat.contains(name)) << name;
  };
  ops::All::for_each(found);
  ops::AllComposites::for_each(found);
}

// Where the derivative is zero by definition, the gradient is zeros of the
// weight's type, and not absent: the first layer moves, the result does not.
TEST(Zero, Bc05OfOperationsWithoutASlope) {
  using Middle = std::function<Value(Tape&, Value)>;
  const std::vector<std::pair<const char*, Middle>> rows = {
      {"argmax", [](Tape&, Value x) { return argmax(x); }},
      {"equal", [](Tape&, Value x) { return equal(x, 1); }},
      {"not_equal", [](Tape&, Value x) { return not_equal(x, 1); }},
      {"less", [](Tape&, Value x) { return less(x, 1); }},
      {"less_equal", [](Tape&, Value x) { return less_equal(x, 1); }},
      {"greater", [](Tape&, Value x) { return greater(x, 1); }},
      {"greater_equal", [](Tape&, Value x) { return greater_equal(x, 1); }},
      {"logical",
       [](Tape&, Value x) {
         const Value c = logical_not(less(x, 0));
         return logical_or(logical_and(c, c), c);
       }},
      {"is_finite", [](Tape&, Value x) { return is_finite(x); }},
      {"sign", [](Tape&, Value x) { return sign(x); }},
      {"cast to i32", [](Tape&, Value x) { return cast(x * 100, i32); }},
      {"cast to boolean", [](Tape&, Value x) { return cast(x, boolean); }},
      {"stop_gradient", [](Tape&, Value x) { return stop_gradient(x); }},
      {"gather by it",
       [](Tape& tape, Value x) {
         return gather(tape.constant(Tensor({2}, {1.0, 2.0})),
                       cast(greater(x, 0), i32));
       }},
      {"select by it",
       [](Tape&, Value x) { return select(greater(x, 0), 1.0, sign(x)); }},
  };
  for (const auto& [name, middle] : rows) {
    SCOPED_TRACE(name);
    Tape tape;
    const Value w = tape.parameter("w", Tensor({3}, {0.5, -0.25, 2.0}));
    const Value y = cast(middle(tape, tanh(w)), f64);
    const Value by = tape.differentiate(sum(y * y), {w})[0];
    EXPECT_TRUE(
        bits_equal(tape.seal().evaluate(by), Tensor::zeros({f64, {3}})));
  }
}

}  // namespace
}  // namespace topos

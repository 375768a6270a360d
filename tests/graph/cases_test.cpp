// Faults reported of other libraries, as recorded and differentiated networks.
// BC-nn is the number of the case in the project's collection; the right
// values are of the mathematics, of IEEE 754 or of the thread that settled it.
// Not here: BC-12 (cross_entropy has no ignored index), BC-06 on prod and
// BC-04 (d), max-pool (no such operation yet); BC-05 is in every_op_test.cpp,
// BC-07 in differentiate_test.cpp, BC-31 and BC-32 in scale_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "graph/errors.h"
#include "support/tensors.h"
#include "topos/error.h"
#include "topos/network.h"
#include "topos/tape.h"

namespace topos {
namespace {

using test::IsNear;
using test::message_of;
using test::tensor;

/// The loss at x, then its gradient, then the gradient of the sum of that.
struct Results {
  Tensor loss;
  Tensor first;
  Tensor second;
};

Results at(const Tensor& x, const std::function<Value(Value)>& loss_of) {
  Tape tape;
  const Value parameter = tape.parameter("x", x);
  const Value loss = loss_of(parameter);
  const Value first = tape.differentiate(loss, {parameter})[0];
  const Value second = tape.differentiate(sum(first), {parameter})[0];
  const Network network = tape.seal();
  return {network.evaluate(loss), network.evaluate(first),
          network.evaluate(second)};
}

/// Element by element equal; zeros of both signs are.
#define EXPECT_VALUES(actual, expected) \
  EXPECT_THAT(actual, IsNear(tensor(expected), 0.0))
#define EXPECT_CLOSE(actual, expected, tolerance) \
  EXPECT_THAT(actual, IsNear(tensor(expected), tolerance))

TEST(Cases, Bc01BranchNotTaken) {
  const Results root = at(tensor("f32[2]{-1 -4}"), [](Value x) {
    return sum(select(greater(x, 0), sqrt(x), x));
  });
  EXPECT_VALUES(root.loss, "f32[]{-5}");
  EXPECT_VALUES(root.first, "f32[2]{1 1}");
  EXPECT_VALUES(root.second, "f32[2]{0 0}");

  const Results cosine = at(tensor("f32[2]{0 inf}"), [](Value x) {
    return sum(select(less(x, 1), cos(x), 0));
  });
  EXPECT_VALUES(cosine.loss, "f32[]{1}");
  EXPECT_VALUES(cosine.first, "f32[2]{0 0}");
  EXPECT_VALUES(cosine.second, "f32[2]{-1 0}");
}

// Each guarded rule in the branch that is not taken, at its pole, to the
// second derivative.
TEST(Cases, Bc01OfEachGuardedRule) {
  struct Row {
    std::string_view name;
    double pole;
    std::function<Value(Value)> f;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Row> rows = {
      {"sqrt", 0, [](Value x) { return sqrt(x); }},
      {"sqrt, below", -1, [](Value x) { return sqrt(x); }},
      {"rsqrt", 0, [](Value x) { return rsqrt(x); }},
      {"ln", 0, [](Value x) { return ln(x); }},
      {"1/x", 0, [](Value x) { return 1 / x; }},
      {"x/x", 0, [](Value x) { return x / x; }},
      {"pow(x, 0.5)", 0, [](Value x) { return pow(x, 0.5); }},
      {"pow(x, -1)", 0, [](Value x) { return pow(x, -1); }},
      {"pow(x, x)", -1.5, [](Value x) { return pow(x, x); }},
      {"exp", inf, [](Value x) { return exp(x); }},
      {"sin", inf, [](Value x) { return sin(x); }},
      {"cos", inf, [](Value x) { return cos(x); }},
      {"exp(exp)", 1000, [](Value x) { return exp(exp(x)); }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const Tensor x({2}, {2.0, row.pole});
    const Results results = at(
        x, [&](Value v) { return sum(select(equal(v, 2), row.f(v), 3 * v)); });
    EXPECT_EQ(results.first.at<double>({1}), 3);
    EXPECT_EQ(results.second.at<double>({1}), 0);
    EXPECT_TRUE(std::isfinite(results.first.at<double>({0})));
  }
}

TEST(Cases, Bc02NormOfAZeroVector) {
  // Its square: the zero slope of the square masks the root's pole.
  const Results square = at(tensor("f32[3]{0 0 0}"), [](Value x) {
    const Value norm = sqrt(sum(x * x));
    return norm * norm;
  });
  EXPECT_VALUES(square.loss, "f32[]{0}");
  EXPECT_VALUES(square.first, "f32[3]{0 0 0}");
  // The norm itself takes the double select.
  const Results norm = at(tensor("f32[3]{0 0 0}"), [](Value x) {
    const Value total = sum(x * x);
    const Value positive = greater(total, 0);
    return select(positive, sqrt(select(positive, total, 1)), 0);
  });
  EXPECT_VALUES(norm.loss, "f32[]{0}");
  EXPECT_VALUES(norm.first, "f32[3]{0 0 0}");
  EXPECT_VALUES(norm.second, "f32[3]{0 0 0}");
}

TEST(Cases, Bc03PowerWithBaseZero) {
  Tape powers;
  const Value a = powers.parameter("a", Tensor::zeros({f64, {6}}));
  const Value e = powers.constant(tensor("f64[6]{3 2 1 0.5 0 -1}"));
  const Value first = powers.differentiate(sum(pow(a, e)), {a})[0];
  const Value second = powers.differentiate(sum(first), {a})[0];
  const Network network = powers.seal();
  const Tensor curvature = network.evaluate(second);
  EXPECT_VALUES(network.evaluate(first), "f64[6]{0 0 1 inf 0 -inf}");
  // Of a^3, a^2, a^1 and a^0 at 0.
  EXPECT_VALUES(curvature.narrowed(0, 0, 3), "f64[3]{0 2 0}");
  EXPECT_VALUES(curvature.narrowed(0, 4, 1), "f64[1]{0}");

  Tape tape;
  const Value base = tape.constant(tensor("f64[2]{0 2}"));
  const Value exponent = tape.parameter("b", tensor("f64[2]{1 1}"));
  const Value by = tape.differentiate(sum(pow(base, exponent)), {exponent})[0];
  EXPECT_CLOSE(tape.seal().evaluate(by), "f64[2]{0 1.3862943611198906}", 1e-15);
}

TEST(Cases, Bc04Ties) {
  for (const char* t : {"f64[]{0}", "f64[]{1.5}"}) {
    EXPECT_VALUES(at(tensor(t), [](Value x) { return maximum(x, x); }).first,
                  "f64[]{1}");
    EXPECT_VALUES(at(tensor(t), [](Value x) { return minimum(x, x); }).first,
                  "f64[]{1}");
  }
  const Tensor zero = tensor("f64[]{0}");
  EXPECT_VALUES(at(zero, [](Value x) { return relu(x); }).first, "f64[]{0}");
  EXPECT_VALUES(at(zero, [](Value x) { return maximum(x, 0); }).first,
                "f64[]{0.5}");
  EXPECT_VALUES(at(zero, [](Value x) { return abs(x); }).first, "f64[]{0}");
  EXPECT_VALUES(
      at(tensor("f64[3]{0.6 0.6 0.3}"), [](Value x) { return reduce_max(x); })
          .first,
      "f64[3]{0.5 0.5 0}");
  EXPECT_VALUES(
      at(tensor("f64[3]{0.6 0.3 0.3}"), [](Value x) { return reduce_min(x); })
          .first,
      "f64[3]{0 0.5 0.5}");
}

/// The Hessian of a function of one axis, row after row.
Tensor hessian(const Tensor& x, const std::function<Value(Value)>& loss_of) {
  Tape tape;
  const Value parameter = tape.parameter("x", x);
  const Value by = tape.differentiate(loss_of(parameter), {parameter})[0];
  std::vector<Value> rows;
  for (std::int64_t i = 0; i < x.element_count(); ++i) {
    const Value entry = reshape(narrow(by, 0, i, 1), {});
    rows.push_back(reshape(tape.differentiate(entry, {parameter})[0], {1, -1}));
  }
  const Value all = concat(rows, 0);
  return tape.seal().evaluate(all);
}

/// x0 x1 x2 ..., by the pairs of a tree, as prod will be.
Value product(Value x, Value (*times)(Operand, Operand)) {
  std::vector<Value> factors;
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) {
    factors.push_back(reshape(narrow(x, 0, i, 1), {}));
  }
  while (factors.size() > 1) {
    std::vector<Value> halves;
    for (std::size_t i = 0; i + 1 < factors.size(); i += 2) {
      halves.push_back(times(factors[i], factors[i + 1]));
    }
    if (factors.size() % 2 == 1) halves.push_back(factors.back());
    factors = halves;
  }
  return factors[0];
}

TEST(Cases, Bc06ProductWithZerosTwiceDifferentiated) {
  struct Row {
    const char* name;
    Value (*times)(Operand, Operand);
  };
  const Row rows[] = {{"mul", [](Operand a, Operand b) { return a * b; }},
                      {"masked_product", [](Operand a, Operand b) {
                         return masked_product(a, b);
                       }}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto f = [&](Value x) { return product(x, row.times); };
    const Results four = at(tensor("f64[4]{2 3 0 0}"), f);
    EXPECT_VALUES(four.loss, "f64[]{0}");
    EXPECT_VALUES(four.first, "f64[4]{0 0 0 0}");
    EXPECT_VALUES(hessian(tensor("f64[4]{2 3 0 0}"), f),
                  "f64[4, 4]{0 0 0 0  0 0 0 0  0 0 0 6  0 0 6 0}");
    EXPECT_VALUES(at(tensor("f64[3]{2 3 0}"), f).first, "f64[3]{0 0 6}");
    EXPECT_VALUES(hessian(tensor("f64[3]{2 3 0}"), f),
                  "f64[3, 3]{0 0 3  0 0 2  3 2 0}");
  }
}

TEST(Cases, Bc08IndicesOutOfRange) {
  Tape tape;
  const Value d = tape.parameter("d", tensor("f32[3]{10 20 30}"));
  const Value index = tape.input("index", i32, {3});
  const Value y = gather(d, index);
  const Value by = tape.differentiate(sum(y), {d})[0];
  const Network network = tape.seal();
  EXPECT_VALUES(network.evaluate(by, {{index, tensor("i32[3]{2 0 2}")}}),
                "f32[3]{1 0 2}");
  for (const char* bad :
       {"i32[3]{-1 0 -1}", "i32[3]{0 3 0}", "i32[3]{0 -4 0}"}) {
    for (Value asked : {y, by}) {
      EXPECT_THAT(message_of<IndexError>([&] {
                    network.evaluate(asked, {{index, tensor(bad)}});
                  }),
                  testing::HasSubstr("input \"index\""))
          << bad;
    }
  }
}

TEST(Cases, Bc09FullyMaskedRow) {
  Tape tape;
  const Value scores =
      tape.parameter("scores", tensor("f32[2, 2]{0 0 -inf -inf}"));
  const Value v = tape.parameter("v", tensor("f32[2, 2]{1 0 0 1}"));
  const Value out = matmul(softmax(scores), v);
  const Value loss = reshape(narrow(reshape(out, {-1}), 0, 0, 1), {});
  const auto by = tape.differentiate(loss, {scores, v});
  const Network network = tape.seal();
  EXPECT_VALUES(network.evaluate(out), "f32[2, 2]{0.5 0.5 0 0}");
  EXPECT_VALUES(network.evaluate(by[0]), "f32[2, 2]{0.25 -0.25 0 0}");
  EXPECT_VALUES(network.evaluate(by[1]), "f32[2, 2]{0.5 0 0.5 0}");
}

TEST(Cases, Bc09InAnAttentionBlock) {
  Tape tape;
  const Value x = tape.constant(tensor("f32[2, 2]{1 2 3 -1}"));
  const Value w = tape.parameter("w", tensor("f32[2, 2]{0.5 -1 2 0.25}"));
  const Value exists =
      tape.constant(tensor("boolean[2, 2]{1 1 0 0}"));  // row 1: none
  const Value h = matmul(x, w);  // query, key and value alike
  const Value scores = select(exists, matmul(h, transpose(h)),
                              -std::numeric_limits<float>::infinity());
  const Value loss = sum(matmul(matmul(softmax(scores), h), w));
  const Value by = tape.differentiate(loss, {w})[0];
  const Value again = tape.differentiate(sum(by * by), {w})[0];
  const Network network = tape.seal();
  for (Value gradient : {by, again}) {
    bool any = false;
    for (float g : network.evaluate(gradient).to_vector<float>()) {
      EXPECT_TRUE(std::isfinite(g));
      any |= g != 0;
    }
    EXPECT_TRUE(any);
  }
}

TEST(Cases, Bc10LogSumExpOfNothingButInfinities) {
  const auto lse = [](Value x) { return logsumexp(x); };
  const Results none = at(tensor("f32[2]{-inf -inf}"), lse);
  EXPECT_VALUES(none.loss, "f32[]{-inf}");
  EXPECT_VALUES(none.first, "f32[2]{0 0}");
  EXPECT_VALUES(none.second, "f32[2]{0 0}");
  const Results one = at(tensor("f32[2]{-inf 1}"), lse);
  EXPECT_VALUES(one.loss, "f32[]{1}");
  EXPECT_VALUES(one.first, "f32[2]{0 1}");
  const Results moved = at(tensor("f32[]{1}"), [](Value x) {
    const float inf = std::numeric_limits<float>::infinity();
    return logsumexp(
        concat({full_like(x, {f32, {1}}, -inf), reshape(-inf + x, {1})}, 0));
  });
  EXPECT_VALUES(moved.loss, "f32[]{-inf}");
  EXPECT_VALUES(moved.first, "f32[]{0}");
}

TEST(Cases, Bc11CrossEntropyOfHugeLogitsAndSoftTargets) {
  struct Row {
    const char* logits;
    const char* targets;
    double loss;
    const char* gradient;
    double tolerance;
  };
  // Where no loss is given in the collection it is that of the closed form.
  const Row rows[] = {
      {"f32[2]{-4885.4614 4878.027}", "f32[2]{0.2 0.8}", 1952.6977,
       "f32[2]{-0.2 0.2}", 1e-6},
      {"f32[3]{-8 10 3}", "f32[3]{0.3 0.3 0.4}", 8.2009115,
       "f32[3]{-0.29999998 0.69908893 -0.39908895}", 1e-6},
      {"f32[3]{1 2 3}", "f32[3]{1 1 0}", 3.8152119,
       "f32[3]{-0.8199389 -0.5105431 1.3304819}", 1e-6},
      {"f32[3]{1 2 3}", "f32[3]{0 0 0}", 0, "f32[3]{0 0 0}", 0},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.logits);
    Tape tape;
    const Value x = tape.parameter("x", tensor(row.logits));
    const Value t = tape.constant(tensor(row.targets));
    const Value loss = -sum(t * log_softmax(x));
    const Value by = tape.differentiate(loss, {x})[0];
    const Network network = tape.seal();
    EXPECT_NEAR(network.evaluate(loss).item(), row.loss,
                1e-7 * std::abs(row.loss) + 1e-6);
    EXPECT_CLOSE(network.evaluate(by), row.gradient, row.tolerance);
  }
}

TEST(Cases, Bc11CrossEntropyOfHugeLogitsAndClasses) {
  Tape tape;
  const Value x =
      tape.parameter("x", tensor("f32[2, 2]{-4885.4614 4878.027 4878 -4885}"));
  const Value loss = cross_entropy(x, tape.constant(tensor("i32[2]{0 0}")));
  const Value by = tape.differentiate(loss, {x})[0];
  const Network network = tape.seal();
  EXPECT_NEAR(network.evaluate(loss).item(), (4885.4614 + 4878.027) / 2, 1e-3);
  EXPECT_VALUES(network.evaluate(by), "f32[2, 2]{-0.5 0.5 0 0}");
}

TEST(Cases, Bc12IllegalClasses) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::zeros({f32, {3, 5}}));
  const Value targets = tape.input("targets", i32, {3});
  const Value loss = cross_entropy(x, targets);
  const Value by = tape.differentiate(loss, {x})[0];
  const Network network = tape.seal();
  for (const char* bad : {"i32[3]{0 -4 1}", "i32[3]{0 5 1}"}) {
    for (Value asked : {loss, by}) {
      EXPECT_THAT(message_of<IndexError>([&] {
                    network.evaluate(asked, {{targets, tensor(bad)}});
                  }),
                  testing::HasSubstr("at position 1 of input"))
          << "names the row";
    }
  }
}

TEST(Cases, Bc18EmptyInnerExtent) {
  Tape tape;
  const Value a = tape.parameter("a", Tensor::zeros({f32, {3, 2, 0}}));
  const Value b = tape.parameter("b", Tensor::zeros({f32, {3, 0, 3}}));
  const Value y = matmul(a, b);
  const auto by = tape.differentiate(sum(y), {a, b});
  const Network network = tape.seal();
  EXPECT_TRUE(bits_equal(network.evaluate(y), Tensor::zeros({f32, {3, 2, 3}})));
  EXPECT_EQ(network.evaluate(by[0]).shape(), Shape({3, 2, 0}));
  EXPECT_EQ(network.evaluate(by[1]).shape(), Shape({3, 0, 3}));
}

TEST(Cases, Bc23AColumnAgainstARow) {
  Tape tape;
  const Value a = tape.input("column", f32, {3, 1});
  const Value b = tape.input("row", f32, {3});
  EXPECT_EQ((a - b).shape(), Shape({3, 3}));
  const std::string message = message_of<ShapeError>([&] { mse(a, b); });
  EXPECT_THAT(message, testing::HasSubstr("mse: [3, 1] x [3]: "));
  EXPECT_THAT(message, testing::HasSubstr("input \"column\""));
  EXPECT_THAT(message, testing::HasSubstr("input \"row\""));
}

}  // namespace
}  // namespace topos

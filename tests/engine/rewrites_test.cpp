// The closed list of rewrites keeps bits and fires; what is not on it stays.
// Elements: all pairs of the numbers at which floating arithmetic turns.

#include <gtest/gtest.h>

#include <cfenv>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/lowered_plan.h"
#include "ops/evaluate.h"
#include "support/tensors.h"
#include "topos/topos.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace topos::test {
namespace {

template <class T>
std::vector<T> specials() {
  using L = std::numeric_limits<T>;
  std::vector<T> result{0,
                        L::infinity(),
                        L::denorm_min(),
                        L::min() - L::denorm_min(),
                        L::min(),
                        L::max(),
                        1,
                        1 + L::epsilon(),
                        1 - L::epsilon() / 2,
                        2,
                        3,
                        T(0.1),
                        L::max() / 2,
                        L::min() * 3};
  for (std::size_t i = result.size(); i-- > 0;) result.push_back(-result[i]);
  result.push_back(L::quiet_NaN());
  return result;
}

/// The operations of a plan in order, without the broadcasts of numbers.
std::string operations(const Plan& plan) {
  std::string result;
  for (const graph::Node& node : plan.lowered()->simplified.list.nodes) {
    if (node.kind != graph::Kind::operation) continue;
    if (std::holds_alternative<ops::Broadcast>(node.op)) continue;
    if (!result.empty()) result += ' ';
    result += ops::name_of(node.op);
  }
  return result;
}

/// a and b: all pairs; c: alternately true and false.
struct Pairs {
  explicit Pairs(DType dtype) {
    dtype == f32 ? fill<float>() : fill<double>();
    c = cast(iota({i32, a.shape()}, 0) / 2 * 2 - iota({i32, a.shape()}, 0),
             boolean);
  }
  template <class T>
  void fill() {
    std::vector<T> left;
    std::vector<T> right;
    for (T x : specials<T>()) {
      for (T y : specials<T>()) {
        left.push_back(x);
        right.push_back(y);
      }
    }
    const Shape shape{static_cast<std::int64_t>(left.size())};
    a = Tensor(shape, left);
    b = Tensor(shape, right);
  }
  Tensor a, b, c;
};

struct Rule {
  const char* name;
  std::function<Value(Value a, Value b, Value c)> formula;
  const char* operations;  // of the simplified plan
};

void check(const Rule& rule, DType dtype) {
  SCOPED_TRACE(testing::Message() << rule.name << ", " << name(dtype));
  const Pairs pairs(dtype);
  Tape tape;
  const Value a = tape.input("a", dtype, pairs.a.shape());
  const Value b = tape.input("b", dtype, pairs.a.shape());
  const Value c = tape.input("c", boolean, pairs.a.shape());
  const Value y = rule.formula(a, b, c);
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  EXPECT_EQ(operations(plan), rule.operations);
  std::vector<Feed> feeds;
  for (std::uint32_t node : plan.lowered()->recorded.origin) {
    const Symbol symbol{plan.lowered()->recorded.list.tape, node};
    if (symbol == a) feeds.emplace_back(symbol, pairs.a);
    if (symbol == b) feeds.emplace_back(symbol, pairs.b);
    if (symbol == c) feeds.emplace_back(symbol, pairs.c);
  }
  Session plain = interpreter::open(network);
  Session session = native::open(network);
  EXPECT_THAT(session.step(plan, feeds).of(y),
              HasBitsOf(plain.step(plan, feeds).of(y)));
}

TEST(Rewrites, FireAndKeepBits) {
  const Rule rules[] = {
      {"x 1", [](auto a, auto, auto) { return a * 1; }, ""},
      {"1 x", [](auto a, auto, auto) { return 1 * a; }, ""},
      {"x / 1", [](auto a, auto, auto) { return a / 1; }, ""},
      {"x - (+0)", [](auto a, auto, auto) { return a - 0.0; }, ""},
      {"x + (-0)", [](auto a, auto, auto) { return a + -0.0; }, ""},
      {"(-0) + x", [](auto a, auto, auto) { return -0.0 + a; }, ""},
      {"x (-1)", [](auto a, auto, auto) { return a * -1; }, "neg"},
      {"(-1) x", [](auto a, auto, auto) { return -1 * a; }, "neg"},
      {"(-0) - x", [](auto a, auto, auto) { return -0.0 - a; }, "neg"},
      {"-(-x)", [](auto a, auto, auto) { return -(-a); }, ""},
      {"-(x (-1))", [](auto a, auto, auto) { return -(a * -1); }, ""},
      {"(-a)(-b)", [](auto a, auto b, auto) { return -a * -b; }, "mul"},
      {"a + (-b)", [](auto a, auto b, auto) { return a + -b; }, "sub"},
      {"(-a) + b", [](auto a, auto b, auto) { return -a + b; }, "sub"},
      {"a - (-b)", [](auto a, auto b, auto) { return a - -b; }, "add"},
      {"a + b (-1)", [](auto a, auto b, auto) { return a + b * -1; }, "sub"},
      {"x / 8", [](auto a, auto, auto) { return a / 8; }, "mul"},
      {"x / -0.5", [](auto a, auto, auto) { return a / -0.5; }, "mul"},
      {"x / 2^126", [](auto a, auto, auto) { return a / 0x1p126; }, "mul"},
      {"x / 2^-126", [](auto a, auto, auto) { return a / 0x1p-126; }, "mul"},
      {"select(c, x, x)", [](auto a, auto, auto c) { return select(c, a, a); },
       ""},
      {"stop at equal casts",
       [](auto a, auto, auto) { return cast(a, a.dtype()); }, ""},
      // Common subexpressions, up to a swap.
      {"(a + b)(b + a)", [](auto a, auto b, auto) { return (a + b) * (b + a); },
       "add mul"},
      {"(a b) + (b a)", [](auto a, auto b, auto) { return a * b + b * a; },
       "mul add"},
      {"maximum twice",
       [](auto a, auto b, auto) { return maximum(a, b) - maximum(b, a); },
       "maximum sub"},
      {"minimum twice",
       [](auto a, auto b, auto) { return minimum(a, b) / minimum(b, a); },
       "minimum div"},
      {"masked_product twice",
       [](auto a, auto b, auto) {
         return masked_product(a, b) + masked_product(b, a);
       },
       "masked_product add"},
      {"exp twice", [](auto a, auto, auto) { return exp(a) + exp(a); },
       "exp add"},
      // Folding, by the interpreter's own code.
      {"1 / 3 of constants",
       [](auto a, auto, auto) {
         return a * (full_like(a, {a.dtype(), {}}, 1) /
                     full_like(a, {a.dtype(), {}}, 3));
       },
       "mul"},
      {"exp of a constant",
       [](auto a, auto, auto) { return a + exp(full_like(a, a.type(), 0.1)); },
       "add"},
  };
  for (const Rule& rule : rules) {
    check(rule, f32);
    check(rule, f64);
  }
}

TEST(Rewrites, LeaveAloneWhatWouldLoseBits) {
  const Rule rules[] = {
      {"x + (+0)", [](auto a, auto, auto) { return a + 0.0; }, "add"},
      {"(+0) + x", [](auto a, auto, auto) { return 0.0 + a; }, "add"},
      {"(+0) - x", [](auto a, auto, auto) { return 0.0 - a; }, "sub"},
      {"x - (-0)", [](auto a, auto, auto) { return a - -0.0; }, "sub"},
      {"x 0", [](auto a, auto, auto) { return a * 0.0; }, "mul"},
      {"x (-0)", [](auto a, auto, auto) { return a * -0.0; }, "mul"},
      {"0 / x", [](auto a, auto, auto) { return 0.0 / a; }, "div"},
      {"x - x", [](auto a, auto, auto) { return a - a; }, "sub"},
      {"x / x", [](auto a, auto, auto) { return a / a; }, "div"},
      {"-(a - b)", [](auto a, auto b, auto) { return -(a - b); }, "sub neg"},
      {"a - b, b - a", [](auto a, auto b, auto) { return (a - b) * (b - a); },
       "sub sub mul"},
      {"a / b, b / a", [](auto a, auto b, auto) { return (a / b) * (b / a); },
       "div div mul"},
      {"(a + b) + 3",
       [](auto a, auto b, auto) {
         const Value left = (a + b) + 3;
         const Value right = a + (b + 3);
         return left - right;
       },
       "add add add add sub"},
      {"x / 3", [](auto a, auto, auto) { return a / 3; }, "div"},
      {"x / 0", [](auto a, auto, auto) { return a / 0.0; }, "div"},
      {"x / inf",
       [](auto a, auto, auto) {
         return a / std::numeric_limits<double>::infinity();
       },
       "div"},
      {"1 / x", [](auto a, auto, auto) { return 1 / a; }, "div"},
      {"a (1 / b)", [](auto a, auto b, auto) { return a * (1 / b); },
       "div mul"},
      {"maximum(x, x)", [](auto a, auto, auto) { return maximum(a, a); },
       "maximum"},
      {"pow(x, 2)", [](auto a, auto, auto) { return pow(a, 2); }, "pow"},
      {"sum over 1",
       [](auto a, auto, auto) {
         return sum(reshape(a, {-1, 1}), 1);
       },
       "reshape sum"},
      {"product with k = 1",
       [](auto a, auto, auto) {
         const Value one = full_like(a, {a.dtype(), {1, 1}}, 1);
         return matmul(reshape(a, {-1, 1}), one);
       },
       "reshape matmul"},
      {"sum of sums",
       [](auto a, auto, auto) {
         return sum(sum(broadcast(a, {2, a.shape()[0]}), 0), 0);
       },
       "sum sum"},
      {"mean as a sum",
       [](auto a, auto, auto) {
         const Value m = mean(a);
         return m - sum(a) / 841;
       },
       "mean sum div sub"},
      {"to i32 and back",
       [](auto a, auto, auto) { return cast(cast(a, i32), a.dtype()); },
       "cast cast"},
      {"to the other float and back",
       [](auto a, auto, auto) {
         const DType other = a.dtype() == f32 ? f64 : f32;
         return cast(cast(a * 3, other), a.dtype());
       },
       nullptr},
  };
  for (Rule rule : rules) {
    for (DType dtype : {f32, f64}) {
      if (rule.name == std::string("to the other float and back")) {
        rule.operations = dtype == f32 ? "mul" : "mul cast cast";
      }
      check(rule, dtype);
    }
  }
  // The reciprocal of 2^127 is no normal f32, that of 2^1023 no normal f64.
  check({"x / 2^127", [](auto a, auto, auto) { return a / 0x1p127; }, "div"},
        f32);
  check({"x / 2^127", [](auto a, auto, auto) { return a / 0x1p127; }, "mul"},
        f64);
  check({"x / 2^1023", [](auto a, auto, auto) { return a / 0x1p1023; }, "div"},
        f64);
  check(
      {"x / 2^-1040", [](auto a, auto, auto) { return a / 0x1p-1040; }, "div"},
      f64);
}

TEST(Rewrites, OfCastsKeepEveryValue) {
  struct Case {
    const char* x;
    DType through;
    const char* operations;
  };
  const Case cases[] = {
      {"boolean[2]{0 1}", i32, ""},
      {"boolean[2]{0 1}", f32, ""},
      {"i32[4]{-2147483648 2147483647 16777217 -1}", i64, ""},
      {"i32[4]{-2147483648 2147483647 16777217 -1}", f64, ""},
      {"i32[4]{-2147483648 2147483647 16777217 -1}", f32, "cast cast"},
      {"i64[3]{-9223372036854775808 9223372036854775807 9007199254740993}", f64,
       "cast cast"},
      {"i64[3]{4294967297 -1 7}", i32, "cast cast"},
      {"i32[3]{0 1 2}", boolean, "cast cast"},
      {"f32[4]{nan 0.5 3e9 -0}", boolean, "cast cast"},
      {"f32[4]{nan 0.5 3e9 -0}", f64, ""},
      {"f32[4]{nan 0.5 3e9 -0}", i64, "cast cast"},
      {"f64[4]{nan 0.1 1e300 -0}", f32, "cast cast"},
      {"bf16[4]{nan 0x1p-133 1e38 -0}", f32, ""},
      {"f16[4]{nan 0x1p-24 65504 -0}", f64, ""},
      {"bf16[4]{nan 0x1p-133 1e38 -0}", f16, "cast cast"},
      {"f32[4]{nan 0.1 1e38 -0}", bf16, "cast cast"},
  };
  for (const Case& row : cases) {
    SCOPED_TRACE(testing::Message() << row.x << " " << name(row.through));
    const Tensor x = tensor(row.x);
    Tape tape;
    const Value input = tape.input("x", x.dtype(), x.shape());
    const Value y = cast(cast(input, row.through), x.dtype());
    const Network network = tape.seal();
    const Plan plan = network.lower(Entry().result(y));
    EXPECT_EQ(operations(plan), row.operations);
    EXPECT_THAT(
        native::open(network).step(plan, {{input, x}}).of(y),
        HasBitsOf(interpreter::open(network).step(plan, {{input, x}}).of(y)));
  }
}

TEST(Rewrites, TurnAProductThatOnlyATransposeReads) {
  Tape tape;
  const Value a = tape.input("a", f32, {2, 5, 7});
  const Value b = tape.input("b", f32, {2, 7, 3});
  const Value once = transpose(matmul(a, b)) * 2;
  const Value product = matmul(a, -b);
  const Value turned = transpose(product);
  const Value total = sum(product);
  const Value twice = turned + total;
  const Value moved = permute(matmul(a, b * 3), {1, 0, 2});
  const Network network = tape.seal();
  const auto check = [&](const Value& y, const std::string& expected) {
    const Plan plan = network.lower(Entry().result(y));
    EXPECT_EQ(operations(plan), expected);
    const std::vector<Feed> feeds{{a, uniform({2, 5, 7}, 1.0, 1)},
                                  {b, uniform({2, 7, 3}, 1.0, 2)}};
    EXPECT_THAT(
        native::open(network).step(plan, Feeds(feeds)).of(y),
        HasBitsOf(interpreter::open(network).step(plan, Feeds(feeds)).of(y)));
  };
  check(once, "permute permute matmul mul");
  check(twice, "neg matmul permute sum add");
  check(moved, "mul matmul permute");
}

TEST(Rewrites, LeaveIntegersAlone) {
  Tape tape;
  const Value x = tape.input("x", i32, {4});
  const Value y = -(-x) + (x * 1) * (x * -1) - x / 2 + (x - 0) - (x + -x);
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  const Feed feed{x, tensor("i32[4]{-2147483648 -1 7 0}")};
  EXPECT_THAT(native::open(network).step(plan, {feed}).of(y),
              HasBitsOf(interpreter::open(network).step(plan, {feed}).of(y)));
}

/// Constants fold as a step computes, whatever the caller's modes are: these
/// are those of a library built with -ffast-math, and of interval arithmetic.
TEST(Rewrites, FoldInTheDefinedEnvironment) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f32[1]{1}"));
  const Value tiny = tape.constant(tensor("f32[1]{1e-30}"));
  const Value third =
      tape.constant(tensor("f32[1]{1}")) / tape.constant(tensor("f32[1]{3}"));
  const Value y = x * (tiny * tape.constant(tensor("f32[1]{1e-10}"))) + third;
  const Value small = tiny * tape.constant(tensor("f32[1]{1e-10}"));
  const Network network = tape.seal();
  const Entry entry = Entry().result(y).result(small);
  const Tensor expected =
      interpreter::open(network).step(network.lower(entry)).of(small);
  ASSERT_NE(expected.item(), 0);
  const Tensor sum =
      interpreter::open(network).step(network.lower(entry)).of(y);
#if defined(__x86_64__)
  const unsigned modes = _mm_getcsr();
  _mm_setcsr(modes | 0x8040);  // flush to zero, denormals are zero
#endif
  std::fesetround(FE_UPWARD);
  const Plan plan = network.lower(entry);
  Session session = native::open(network);
  const Tensor found = session.step(plan).of(small);
  const Tensor found_sum = session.step(plan).of(y);
  std::fesetround(FE_TONEAREST);
#if defined(__x86_64__)
  _mm_setcsr(modes);
#endif
  EXPECT_THAT(found, HasBitsOf(expected));
  EXPECT_THAT(found_sum, HasBitsOf(sum));
}

}  // namespace
}  // namespace topos::test

// Every misuse is an error of its own kind that names the user's line and the
// value, and leaves the tape exactly as it was.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "graph/errors.h"
#include "support/tensors.h"
#include "topos/engine.h"
#include "topos/error.h"
#include "topos/network.h"
#include "topos/plan.h"
#include "topos/tape.h"

namespace topos {
namespace {

using test::at_line;
using test::message_of;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// A tape with a value of every kind, and one of another tape. Messages name
/// the lines here as `@0`, `@1` and so on.
constexpr int first_line = __LINE__ + 3;
struct Values {
  Values() {
    a = tape.input("a", f32, {2});
    b = tape.input("b", f32, {3});
    m = tape.input("m", f32, {2, 3});
    s = tape.input("s", f32, {});
    d = tape.input("d", f64, {2});
    i = tape.input("i", i32, {2});
    t = tape.input("t", boolean, {2});
    e = tape.input("e", f32, {0, 2});
    w = tape.parameter("w", f32, {2});
    k = tape.input("k", i32, {2, 3});
    c = tape.input("c", i32, {2, 1});
    n = tape.input("n", i32, {});
    other = other_tape.input("other", f32, {2});
  }

  Tape tape;
  Value a, b, m, s, d, i, t, e, w, k, c, n;
  Tape other_tape;
  Value other;
};

constexpr std::int64_t huge = std::int64_t{1} << 62;

struct Misuse {
  int line;
  std::function<void(Values&)> f;
  /// What follows the line, up to the operands' history; `@@` is the line.
  std::string message;
};

std::string with_lines(std::string text, int line) {
  for (auto at = text.find('@'); at != text.npos; at = text.find('@')) {
    if (text[at + 1] == '@') {
      text.replace(at, 2, std::to_string(line));
    } else {
      const std::size_t end = text.find_first_not_of("0123456789", at + 1);
      const int below = std::stoi(text.substr(at + 1, end - at - 1));
      text.replace(at, end - at, std::to_string(first_line + below));
    }
  }
  return text;
}

/// Refused by exactly an E with that message; afterwards the tape is as it was
/// and goes on recording as if nothing had been.
template <class E>
void expect_refused(const Misuse& row) {
  SCOPED_TRACE(at_line(__FILE__, row.line) + row.message);
  Values v;
  const std::string before = v.tape.describe();
  const std::string message = message_of<E>([&] { row.f(v); });
  EXPECT_EQ(message.substr(0, message.find('\n')),
            at_line(__FILE__, row.line) + with_lines(row.message, row.line));
  EXPECT_EQ(v.tape.describe(), before);
  EXPECT_FALSE(Frame::outermost().known());

  Values untouched;
  const auto go_on = [](Values& x) {
    const Value y = gelu(x.a * 2.5 + 0.0);
    x.tape.name(y, "y");
    x.tape.differentiate(mean(y * x.w), {x.a, x.w});
    return x.tape.describe();
  };
  EXPECT_EQ(go_on(v), go_on(untouched));
}

// clang-format off
TEST(Misuse, OfShapes) {
  const std::vector<Misuse> rows = {
      {__LINE__, [](Values& v) { v.a + v.b; }, "add: [2] x [3]: the shapes [2] and [3] do not broadcast: the extents 2 and 3 of axis -1 differ and neither is 1"},
      {__LINE__, [](Values& v) { v.m* v.a; }, "mul: [2, 3] x [2]: the shapes [2, 3] and [2] do not broadcast: the extents 3 and 2 of axis -1 differ and neither is 1"},
      {__LINE__, [](Values& v) { v.m - v.a; }, "sub: [2, 3] x [2]: the shapes [2, 3] and [2] do not broadcast: the extents 3 and 2 of axis -1 differ and neither is 1"},
      {__LINE__, [](Values& v) { maximum(v.b, v.a); }, "maximum: [3] x [2]: the shapes [3] and [2] do not broadcast: the extents 3 and 2 of axis -1 differ and neither is 1"},
      {__LINE__, [](Values& v) { less(v.b, v.a); }, "less: [3] x [2]: the shapes [3] and [2] do not broadcast: the extents 3 and 2 of axis -1 differ and neither is 1"},
      {__LINE__, [](Values& v) { select(v.t, v.b, 1); }, "select: boolean[2], f32[3], 1: the shapes [2] and [3] do not broadcast: the extents 2 and 3 of axis -1 differ and neither is 1"},
      {__LINE__, [](Values& v) { pow(v.a, v.b); }, "pow: [2] x [3]: the shapes [2] and [3] do not broadcast: the extents 2 and 3 of axis -1 differ and neither is 1"},
      {__LINE__, [](Values& v) { matmul(v.m, v.m); }, "matmul: [2, 3] x [2, 3]: the inner extents 3 and 2 differ"},
      {__LINE__, [](Values& v) { sum(v.m, 2); }, "sum: [2, 3]: the axis 2 is not in a tensor of rank 2"},
      {__LINE__, [](Values& v) { mean(v.m, {0, -2}); }, "mean: [2, 3]: the axis 0 is named twice in [0, -2]"},
      {__LINE__, [](Values& v) { reduce_max(v.e, 0, true); }, "reduce_max: [0, 2]: axis 0 of [0, 2] is empty"},
      {__LINE__, [](Values& v) { argmax(v.s); }, "argmax: []: the axis -1 is not in a tensor of rank 0"},
      {__LINE__, [](Values& v) { softmax(v.s); }, "softmax: []: the axis -1 is not in a tensor of rank 0"},
      {__LINE__, [](Values& v) { broadcast(v.a, {2, 3}); }, "broadcast: [2]: [2] does not broadcast to [2, 3]"},
      {__LINE__, [](Values& v) { broadcast(v.a, {huge, huge, 2}); }, "broadcast: [2]: the element count of the shape [4611686018427387904, 4611686018427387904, 2] overflows"},
      {__LINE__, [](Values& v) { reshape(v.m, {4, -1}); }, "reshape: [2, 3]: the extent -1 of [4, -1] cannot be inferred from [2, 3] (6 elements)"},
      {__LINE__, [](Values& v) { permute(v.m, {0, 0}); }, "permute: [2, 3]: the axis 0 is named twice in [0, 0]"},
      {__LINE__, [](Values& v) { transpose(v.a); }, "transpose: [2]: the axis -2 is not in a tensor of rank 1"},
      {__LINE__, [](Values& v) { narrow(v.a, 0, 1, 2); }, "narrow: [2]: the elements [1, 1 + 2) are not in axis 0 of [2]"},
      {__LINE__, [](Values& v) { concat({v.a, v.m}, 0); }, "concat: [2] x [2, 3]: the shapes [2] and [2, 3] differ beside axis 0"},
      {__LINE__, [](Values&) { concat(std::initializer_list<Value>{}, 0); }, "concat: nothing to concatenate"},
      {__LINE__, [](Values& v) { pad(v.a, {-1}, {0}); }, "pad: [2]: the padding [-1], [0] is negative"},
      {__LINE__, [](Values& v) { reverse(v.a, {1}); }, "reverse: [2]: the axis 1 is not in a tensor of rank 1"},
      {__LINE__, [](Values& v) { gather(v.a, v.i, {1, 0}); }, "gather: f32[2] x i32[2]: the axis 1 is not in a tensor of rank 1"},
      {__LINE__, [](Values& v) { scatter_add(v.m, v.i, v.a); }, "scatter_add: f32[2, 3], i32[2], f32[2]: the updates are [2], but the index names [2, 3]"},
      {__LINE__, [](Values& v) { cross_entropy(v.m, v.c); }, "cross_entropy: f32[2, 3] x i32[2, 1]: the targets are [2, 1], but the rows of the logits [2]: a loss does not broadcast"},
      {__LINE__, [](Values& v) { mse(v.a, v.b); }, "mse: [2] x [3]: the shapes [2] and [3] differ: a loss does not broadcast"},
      {__LINE__, [](Values& v) { layer_norm(v.m, v.a, v.b); }, "layer_norm: [2, 3], [2], [3]: the scale is [2], but the last extent is 3"},
      {__LINE__, [](Values& v) { variance(v.m, 2); }, "variance: [2, 3]: the axis 2 is not in a tensor of rank 2"},
      {__LINE__, [](Values& v) { iota(v.tape, {f32, {2}}, 1); }, "iota: the axis 1 is not in a tensor of rank 1"},
      {__LINE__, [](Values& v) { full_like(v.a, {f32, {-2}}, 0); }, "full_like: [2]: the shape [-2] has a negative extent"},
      {__LINE__, [](Values& v) { broadcast(v.d, {huge / 4, 2}); }, "broadcast: [2]: the size of f64[1152921504606846976, 2] in bytes overflows"},
      {__LINE__, [](Values& v) { v.tape.input("x", f32, {huge, 4}); }, "input \"x\": the element count of the shape [4611686018427387904, 4] overflows"},
      {__LINE__, [](Values& v) { v.tape.input("x", f64, {huge}); }, "input \"x\": the size of f64[4611686018427387904] in bytes overflows"},
      {__LINE__, [](Values& v) { v.tape.parameter("x", f32, {-1}); }, "parameter \"x\": the shape [-1] has a negative extent"},
      {__LINE__, [](Values& v) { v.tape.differentiate(v.a, {v.a}); }, "differentiate: the loss %0 (input \"a\", misuse_test.cpp:@0) is f32[2], but has to be a scalar"},
      {__LINE__, [](Values& v) { v.tape.gradients(v.a); }, "gradients: the loss %0 (input \"a\", misuse_test.cpp:@0) is f32[2], but has to be a scalar"},
      {__LINE__, [](Values& v) { v.tape.vjp(v.a, {v.w}, v.b); }, "vjp: the cotangent %1 (input \"b\", misuse_test.cpp:@1) is f32[3], but has to be f32[2]"},
      {__LINE__, [](Values& v) { v.tape.jvp(v.a, {v.w}, {v.b}); }, "jvp: the tangent %1 (input \"b\", misuse_test.cpp:@1) is f32[3], but has to be f32[2]"},
      {__LINE__, [](Values& v) { v.tape.jvp(v.a, {v.w, v.a}, {v.w}); }, "jvp: 1 tangents do not fit 2 values"},
  };
  for (const Misuse& row : rows) expect_refused<ShapeError>(row);
}

// clang-format on
/// Elements that are not there may be many, until an operation makes them.
TEST(Misuse, OfSizesThatNoMemoryHolds) {
  Tape tape;
  const Value none = tape.input("none", f32, {huge / 2, 0});
  const std::string before = tape.describe();
  const int line = __LINE__ + 1;
  const auto f = [&] { sum(none, 1); };
  EXPECT_THAT(message_of<ShapeError>(f),
              StartsWith(at_line(__FILE__, line) +
                         "sum: [2305843009213693952, 0]: the size of "
                         "f32[2305843009213693952] in bytes overflows"));
  EXPECT_EQ(tape.describe(), before);
}

// clang-format off
TEST(Misuse, OfDTypes) {
  const std::vector<Misuse> rows = {
      {__LINE__, [](Values& v) { v.a + v.d; }, "add: f32[2] x f64[2]: the dtypes f32 and f64 differ: cast one"},
      {__LINE__, [](Values& v) { v.i * 2.5; }, "mul: [2] x 2.5: i32 cannot hold the number 2.5"},
      {__LINE__, [](Values& v) { v.i + (std::int64_t{1} << 40); }, "add: [2] x 1099511627776: i32 cannot hold the number 1099511627776"},
      {__LINE__, [](Values& v) { v.a + true; }, "add: [2] x true: f32 cannot hold the number true"},
      {__LINE__, [](Values& v) { logical_and(v.t, 1); }, "logical_and: [2] x 1: boolean cannot hold the number 1"},
      {__LINE__, [](Values& v) { logical_or(v.t, v.i); }, "logical_or: boolean[2] x i32[2]: the dtypes boolean and i32 differ: cast one"},
      {__LINE__, [](Values& v) { -v.t; }, "neg: [2]: boolean has no arithmetic"},
      {__LINE__, [](Values& v) { greater(v.t, v.t); }, "greater: [2] x [2]: boolean has no arithmetic"},
      {__LINE__, [](Values& v) { tanh(v.i); }, "tanh: [2]: i32 is not floating"},
      {__LINE__, [](Values& v) { is_finite(v.i); }, "is_finite: [2]: i32 is not floating"},
      {__LINE__, [](Values& v) { select(v.a, v.a, v.a); }, "select: [2], [2], [2]: f32 is not boolean"},
      {__LINE__, [](Values& v) { select(v.t, v.i, 2.5); }, "select: boolean[2], i32[2], 2.5: i32 cannot hold the number 2.5"},
      {__LINE__, [](Values& v) { matmul(v.k, v.k); }, "matmul: [2, 3] x [2, 3]: i32 is not floating"},
      {__LINE__, [](Values& v) { mean(v.i); }, "mean: [2]: i32 is not floating"},
      {__LINE__, [](Values& v) { sum(v.t); }, "sum: [2]: boolean has no arithmetic"},
      {__LINE__, [](Values& v) { log_softmax(v.i); }, "log_softmax: [2]: i32 is not floating"},
      {__LINE__, [](Values& v) { concat({v.a, v.d}, 0); }, "concat: f32[2] x f64[2]: the dtypes f32 and f64 differ: cast one"},
      {__LINE__, [](Values& v) { pad(v.i, {1}, {0}, 2.5); }, "pad: [2]: i32 cannot hold the number 2.5"},
      {__LINE__, [](Values& v) { gather(v.a, v.a); }, "gather: [2] x [2]: f32 is not an integer type"},
      {__LINE__, [](Values& v) { gather(v.a, 1.5); }, "gather: [2] x 1.5: i64 cannot hold the number 1.5"},
      {__LINE__, [](Values& v) { scatter_add(v.a, v.i, v.d); }, "scatter_add: f32[2], i32[2], f64[2]: the dtypes f32 and f64 differ: cast one"},
      {__LINE__, [](Values& v) { cross_entropy(v.m, v.a); }, "cross_entropy: [2, 3] x [2]: f32 is not an integer type"},
      {__LINE__, [](Values& v) { gelu(v.i); }, "gelu: [2]: i32 is not floating"},
      {__LINE__, [](Values& v) { iota(v.tape, {boolean, {2}}, 0); }, "iota: boolean has no arithmetic"},
      {__LINE__, [](Values& v) { full_like(v.a, {i32, {2}}, 2.5); }, "full_like: [2]: i32 cannot hold the number 2.5"},
      {__LINE__, [](Values& v) { v.tape.differentiate(v.n, {v.w}); }, "differentiate: the loss %11 (input \"n\", misuse_test.cpp:@11) is i32[]: only floating values have derivatives"},
      {__LINE__, [](Values& v) { v.tape.differentiate(v.s, {v.i}); }, "differentiate: the target %5 (input \"i\", misuse_test.cpp:@5) is i32[2]: only floating values have derivatives"},
      {__LINE__, [](Values& v) { v.tape.vjp(v.i, {v.w}, v.i); }, "vjp: the result %5 (input \"i\", misuse_test.cpp:@5) is i32[2]: only floating values have derivatives"},
      {__LINE__, [](Values& v) { v.tape.vjp(v.a, {v.w}, v.d); }, "vjp: the cotangent %4 (input \"d\", misuse_test.cpp:@4) is f64[2], but has to be f32[2]"},
      {__LINE__, [](Values& v) { v.tape.jvp(v.a, {v.w}, {v.d}); }, "jvp: the tangent %4 (input \"d\", misuse_test.cpp:@4) is f64[2], but has to be f32[2]"},
      {__LINE__, [](Values& v) { v.tape.jvp(v.a, {v.i}, {v.i}); }, "jvp: the value %5 (input \"i\", misuse_test.cpp:@5) is i32[2]: only floating values have derivatives"},
  };
  for (const Misuse& row : rows) expect_refused<DTypeError>(row);
}

TEST(Misuse, OfNamesAndTapes) {
  const std::vector<Misuse> rows = {
      {__LINE__, [](Values& v) { v.tape.input("", f32, {}); }, "input \"\": a name is empty"},
      {__LINE__, [](Values& v) { v.tape.parameter("", f32, {}); }, "parameter \"\": a name is empty"},
      {__LINE__, [](Values& v) { v.tape.input("w", f32, {}); }, "input \"w\": the name \"w\" is taken by %8 (parameter \"w\", misuse_test.cpp:@8)"},
      {__LINE__, [](Values& v) { v.tape.parameter("a", Tensor::scalar(1.0f)); }, "parameter \"a\": the name \"a\" is taken by %0 (input \"a\", misuse_test.cpp:@0)"},
      {__LINE__, [](Values& v) { v.tape.name(v.b, "a"); }, "name: the name \"a\" is taken by %0 (input \"a\", misuse_test.cpp:@0)"},
      {__LINE__, [](Values& v) { v.tape.name(v.b, ""); }, "name: a name is empty"},
      {__LINE__, [](Values& v) { v.tape.name(v.other, "x"); }, "name: OTHER"},
      {__LINE__, [](Values& v) { static_cast<void>(v.tape.name(v.other)); }, "name: OTHER"},
      {__LINE__, [](Values& v) { v.a + v.other; }, "add: OTHER"},
      {__LINE__, [](Values& v) { select(v.t, 1, v.other); }, "select: OTHER"},
      {__LINE__, [](Values& v) { mse(v.a, v.other); }, "mse: OTHER"},
      {__LINE__, [](Values& v) { concat({v.a, v.other}, 0); }, "concat: OTHER"},
      {__LINE__, [](Values& v) { v.tape.differentiate(v.other, {v.a}); }, "differentiate: OTHER"},
      {__LINE__, [](Values& v) { v.tape.differentiate(v.s, {v.other}); }, "differentiate: OTHER"},
      {__LINE__, [](Values& v) { v.tape.gradients(v.other); }, "gradients: OTHER"},
      {__LINE__, [](Values& v) { v.tape.vjp(v.a, {v.w}, v.other); }, "vjp: OTHER"},
      {__LINE__, [](Values& v) { v.tape.jvp(v.a, {v.w}, {v.other}); }, "jvp: OTHER"},
      {__LINE__, [](Values& v) { v.a + Value(); }, "add: a Value that was never recorded is used"},
      {__LINE__, [](Values&) { exp(Value()); }, "exp: a Value that was never recorded is used"},
      {__LINE__, [](Values& v) { v.tape.differentiate(Value(), {v.a}); }, "differentiate: a Value that was never recorded is used"},
      {__LINE__, [](Values& v) { v.tape.name(Value(), "x"); }, "name: a Value that was never recorded is used"},
      {__LINE__, [](Values& v) { exp(Value(Symbol{v.a.symbol().tape, 77})); }, "exp: tape TAPE has no value %77"},
  };
  for (Misuse row : rows) {
    Values probe;  // the next tape's ids are two further
    const std::uint32_t tape = probe.other.symbol().tape + 1;
    const auto put = [&](const std::string& from, const std::string& to) {
      if (const auto at = row.message.find(from); at != std::string::npos) {
        row.message.replace(at, from.size(), to);
      }
    };
    put("OTHER", fmt::format("value %0 (input \"other\", misuse_test.cpp:@12) is of tape {}, but this is tape {}: a value is used on the tape that recorded it", tape + 1, tape));
    put("TAPE", fmt::format("{}", tape));
    expect_refused<UsageError>(row);
  }
}
// clang-format on

TEST(Misuse, NamesANumbersPlaceAmongTheOperands) {
  Values v;
  EXPECT_THAT(message_of<DTypeError>([&] { v.i * 2.5; }),
              EndsWith(fmt::format(
                  "i32 cannot hold the number 2.5\n"
                  "  left   i32[2]           input \"i\", misuse_test.cpp:{}\n"
                  "  right  2.5              a number",
                  first_line + 5)));
}

/// A line and what it does there. Not inside a macro: compilers differ on the
/// line of a macro's arguments.
struct Line {
  int line;
  std::function<void()> f;
  std::string message;
};

template <class E>
void expect_messages(const std::vector<Line>& rows) {
  for (const Line& row : rows) {
    EXPECT_EQ(message_of<E>(row.f), at_line(__FILE__, row.line) + row.message);
  }
}

// clang-format off
TEST(Misuse, OfASealedTape) {
  Tape tape;
  const Value x = tape.input("x", f32, {});
  const Network network = tape.seal();
  const std::string stale = fmt::format(
      "value %0 of tape {} is used after its tape was sealed or destroyed: "
      "record before the seal, or reopen the network with "
      "Tape(std::move(network))",
      x.symbol().tape);
  const std::string sealed = "the tape is sealed or was moved from";
  expect_messages<UsageError>({
      {__LINE__, [&] { x + 1; }, "add: " + stale},
      {__LINE__, [&] { cross_entropy(x, 1); }, "cross_entropy: " + stale},
      {__LINE__, [&] { tape.seal(); }, "seal: " + sealed},
      {__LINE__, [&] { tape.input("y", f32, {}); }, "input \"y\": " + sealed},
      {__LINE__, [&] { tape.differentiate(x, {x}); }, "differentiate: " + sealed},
      {__LINE__, [&] { tape.gradients(x); }, "gradients: " + sealed},
      {__LINE__, [&] { iota(tape, {f32, {2}}, 0); }, "iota: " + sealed},
  });
  EXPECT_THAT(message_of<UsageError>([&] { x.type(); }), EndsWith(stale));
  EXPECT_EQ(message_of<UsageError>([&] { tape.size(); }), sealed);
  EXPECT_EQ(message_of<UsageError>([&] { tape.describe(); }), sealed);
  EXPECT_EQ(network.size(), 1u) << "and the network is as it was";
}
// clang-format on

TEST(Misuse, OfADestroyedTape) {
  std::optional<Tape> tape(std::in_place);
  const Value x = tape->input("x", f32, {});
  tape.reset();
  Tape next;
  const Value y = next.input("y", f32, {});
  EXPECT_NE(y.symbol().tape, x.symbol().tape) << "no id is given twice";
  EXPECT_THAT(message_of<UsageError>([&] { tanh(x); }),
              HasSubstr("is used after its tape was sealed or destroyed"));
  EXPECT_THAT(message_of<UsageError>([&] { y + x; }),
              HasSubstr("is used after its tape was sealed or destroyed"));
  EXPECT_EQ(next.size(), 1u);
}

TEST(Misuse, OfATapeThatWasMovedFrom) {
  Tape first;
  const Value x = first.input("x", f32, {});
  Tape second = std::move(first);
  EXPECT_EQ(second.size(), 1u);
  tanh(x);
  EXPECT_EQ(second.size(), 2u) << "values follow their tape";
  EXPECT_THAT(message_of<UsageError>([&] { first.seal(); }),
              EndsWith("the tape is sealed or was moved from"));
  Tape third;
  const Value y = third.input("y", f32, {});
  third = std::move(second);
  EXPECT_THAT(message_of<UsageError>([&] { tanh(y); }),
              HasSubstr("sealed or destroyed"));
  EXPECT_EQ(third.seal().size(), 2u);
}

TEST(Misuse, OfForeignSymbols) {
  Tape tape;
  const Value x = tape.input("x", f32, {});
  Tape other_tape;
  const Value other = other_tape.input("other", f32, {});
  const Network network = tape.seal();
  const std::uint32_t id = x.symbol().tape;
  const std::string foreign = fmt::format(
      "%0 is a value of tape {}, but this network is of tape {}", id + 1, id);
  const Symbol beyond{id, 7};
  // clang-format off
  expect_messages<UsageError>({
      {__LINE__, [&] { network.type(other); }, foreign},
      {__LINE__, [&] { network.name(other); }, foreign},
      {__LINE__, [&] { network.evaluate(other); }, "evaluate: " + foreign},
      {__LINE__, [&] { network.lower(Entry().result(other)); }, "result: " + foreign},
      {__LINE__, [&] { network.lower(Entry().carry(x, other)); }, "carry: " + foreign},
      {__LINE__, [&] { network.type(beyond); }, "%7 was recorded after this network was sealed: it has 1 nodes"},
      {__LINE__, [&] { network.type(Value()); }, "a Value that was never recorded is used"},
      {__LINE__, [&] { network.symbol("y"); }, "no node is named \"y\""},
  });
  // clang-format on
}

/// A layer with a fault of its own, and what calls it.
constexpr int layer_line = __LINE__ + 3;
Value layer(Operand x, Value weight) {
  const Frame frame(x.site);
  return matmul(x, weight);
}

TEST(Misuse, InsideALayerNamesTheUsersLineFirst) {
  Values v;
  const std::string before = v.tape.describe();
  const int line = __LINE__ + 1;
  const auto wrong = [&] { layer(v.m, v.m); };
  EXPECT_THAT(message_of<ShapeError>(wrong),
              StartsWith(fmt::format("misuse_test.cpp:{}: in "
                                     "misuse_test.cpp:{}: matmul: [2, 3] x "
                                     "[2, 3]: the inner",
                                     line, layer_line)));
  EXPECT_EQ(v.tape.describe(), before);
  EXPECT_FALSE(Frame::outermost().known());
}

/// A training step of a user's own, which frames what it records.
constexpr int step_line = __LINE__ + 3;
std::vector<Value> step(Tape& tape, Operand loss, Value weight) {
  const Frame frame(loss.site);
  return tape.differentiate(loss.value(), {weight});
}

TEST(Misuse, InsideAFrameOfDifferentiateNamesBothLines) {
  Values v;
  const int line = __LINE__ + 1;
  const auto wrong = [&] { step(v.tape, v.a, v.w); };
  EXPECT_THAT(message_of<ShapeError>(wrong),
              StartsWith(fmt::format("misuse_test.cpp:{}: in "
                                     "misuse_test.cpp:{}: differentiate: the "
                                     "loss %0 (",
                                     line, step_line)));
}

// The element of a loop that recorded before it failed goes, too.
TEST(Misuse, TakesBackTheNumbersOfAFailedCall) {
  Values v;
  const std::size_t before = v.tape.size();
  // 7 is recorded before the shapes are found not to fit.
  message_of<ShapeError>([&] { select(v.t, v.b, 7); });
  EXPECT_EQ(v.tape.size(), before);
  v.b + 7;
  EXPECT_EQ(v.tape.size(), before + 3) << "the constant, its broadcast, add";
}

TEST(Misuse, OfANumberWhereALayerNeedsAValue) {
  const int line = __LINE__ + 1;
  const Operand number = 2.5;
  EXPECT_EQ(message_of<UsageError>([&] { number.value(); }),
            at_line(__FILE__, line) +
                "the number 2.5 stands where a recorded value is needed");
}

TEST(Misuse, AddsContextOnce) {
  ShapeError error("clause");
  error.add_context("first: ", " (after)");
  error.add_context("second: ");
  EXPECT_EQ(error.message(), "first: clause (after)");
}

TEST(Misuse, OfANetworkThatWasMovedFrom) {
  Tape tape;
  const Value x = tape.input("x", f32, {});
  Network network = tape.seal();
  const Network moved = std::move(network);
  EXPECT_EQ(moved.size(), 1u);
  const std::string gone = "the network was moved from";
  EXPECT_EQ(message_of<UsageError>([&] { network.size(); }), gone);
  EXPECT_EQ(message_of<UsageError>([&] { network.describe(); }), gone);
  EXPECT_EQ(message_of<UsageError>([&] { network.inputs(); }), gone);
  EXPECT_EQ(message_of<UsageError>([&] { network.parameters(); }), gone);
  expect_messages<UsageError>({
      {__LINE__, [&] { network.type(x); }, gone},
      {__LINE__, [&] { Tape(std::move(network)); }, "Tape(Network&&): " + gone},
  });
}

TEST(Misuse, OfAFeed) {
  Tape tape;
  const Value x = tape.input("x", f32, {2});
  const Value y = tape.input("y", f32, {2});
  const Value z = tanh(x);
  const Network network = tape.seal();
  const Tensor two({2}, {1.0f, 2.0f});
  const auto message = [&]<class E>(E*, std::vector<Feed> feeds) {
    return message_of<E>([&] { network.evaluate(z, feeds, {"user.cpp", 9}); });
  };
  UsageError* usage = nullptr;
  ShapeError* shape = nullptr;
  DTypeError* dtype = nullptr;
  EXPECT_THAT(message(usage, {}),
              StartsWith("user.cpp:9: evaluate: input \"x\", misuse_test.cpp"));
  EXPECT_THAT(message(usage, {}), EndsWith("(f32[2]) is not fed"));
  EXPECT_THAT(message(usage, {{x, two}, {x, two}}), EndsWith("is fed twice"));
  EXPECT_THAT(message(usage, {{x, two}, {y, two}}),
              EndsWith("a feed names %1 (\"y\"), which is no input that this "
                       "plan reads"));
  EXPECT_THAT(message(usage, {{x, two}, {z, two}}),
              EndsWith("a feed names %2, which is no input that this plan "
                       "reads"));
  EXPECT_THAT(message(shape, {{x, Tensor::scalar(1.0f)}}),
              EndsWith("is f32[2], but is fed f32[]"));
  EXPECT_THAT(message(dtype, {{x, Tensor({2}, {1.0, 2.0})}}),
              EndsWith("is f32[2], but is fed f64[2]"));
}

TEST(Misuse, OfAParameterWithoutAPayload) {
  Tape tape;
  const Value w = tape.parameter("w", f32, {2});
  const Value y = tanh(w);
  const Network network = tape.seal();
  const int line = __LINE__ + 1;
  const auto wrong = [&] { network.evaluate(y); };
  EXPECT_THAT(message_of<UsageError>(wrong),
              StartsWith(at_line(__FILE__, line) +
                         "evaluate: parameter \"w\", misuse_test.cpp:"));
}

}  // namespace
}  // namespace topos

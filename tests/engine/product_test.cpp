// Products and what follows them in their group, at the edges of tiles.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/random.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

Tensor values(std::uint64_t seed, const Shape& shape, DType dtype = f32) {
  return cast(Random(seed).tensor(shape, -1, 1), dtype);
}

/// Every result on both engines, at 1, 2 and 7 threads.
void expect_the_interpreters_bits(const Network& network, const Plan& plan,
                                  const std::vector<Feed>& feeds,
                                  const std::vector<Value>& results) {
  Session reference = interpreter::open(network);
  const Run expected = reference.step(plan, Feeds(feeds));
  for (const int threads : {1, 2, 7}) {
    SCOPED_TRACE(testing::Message() << threads << " threads");
    Session session = native::open(network, {.threads = threads});
    const Run found = session.step(plan, Feeds(feeds));
    for (const Value& result : results) {
      EXPECT_TRUE(bits_equal(found.of(result), expected.of(result)));
    }
  }
}

struct Dimensions {
  std::int64_t batch, m, k, n;
};

/// A product alone, with elementwise neighbours, and under a row formula.
void check(const Dimensions& d, bool left_transposed, bool right_transposed,
           DType dtype = f32) {
  SCOPED_TRACE(testing::Message()
               << d.batch << " x " << d.m << " x " << d.k << " x " << d.n
               << ", transposed " << left_transposed << right_transposed);
  const auto shape = [&](std::int64_t rows, std::int64_t columns,
                         bool transposed) {
    if (transposed) std::swap(rows, columns);
    return d.batch > 1 ? Shape{d.batch, rows, columns} : Shape{rows, columns};
  };
  const Tensor left = values(1, shape(d.m, d.k, left_transposed), dtype);
  const Tensor right = values(2, shape(d.k, d.n, right_transposed), dtype);
  const Tensor bias = values(3, {d.n}, dtype);
  const Tensor residual = values(4, shape(d.m, d.n, false), dtype);
  const Tensor scale = values(5, shape(d.m, 1, false), dtype);
  Tape tape;
  const Value a = tape.input("a", dtype, left.shape());
  const Value b = tape.input("b", dtype, right.shape());
  const Value c = tape.input("c", dtype, bias.shape());
  const Value r = tape.input("r", dtype, residual.shape());
  const Value s = tape.input("s", dtype, scale.shape());
  const Value y = matmul(left_transposed ? transpose(a) : a,
                         right_transposed ? transpose(b) : b);
  const Value z = relu(y + c) * tanh(s) + r;
  const Value rows = softmax(y * 0.5);
  const Network network = tape.seal();
  const std::vector<Feed> feeds{{a, left}, {b, right}};
  const std::vector<Feed> all{
      {a, left}, {b, right}, {c, bias}, {r, residual}, {s, scale}};
  expect_the_interpreters_bits(network, network.lower(Entry().result(y)), feeds,
                               {y});
  expect_the_interpreters_bits(network, network.lower(Entry().result(z)), all,
                               {z});
  expect_the_interpreters_bits(
      network, network.lower(Entry().result(y).result(z)), all, {y, z});
  expect_the_interpreters_bits(network, network.lower(Entry().result(rows)),
                               feeds, {rows});
}

TEST(Product, AtEachHeight) {
  for (std::int64_t m = 1; m <= 19; ++m)
    check({1, m, 7, 70}, false, m % 2 != 0);
  for (const std::int64_t m : {95, 96, 97, 200}) {
    check({1, m, 9, 130}, false, false);
  }
}

TEST(Product, AtEachWidth) {
  for (const std::int64_t n : {1, 2, 15, 63, 64, 65, 383, 384, 385, 1000}) {
    check({1, 3, 5, n}, false, false);
    check({1, 40, 5, n}, false, n % 2 == 0);
  }
}

TEST(Product, AtEachBlock) {
  for (const std::int64_t k : {1, 511, 512, 513, 1025}) {
    check({1, 2, k, 70}, false, false);
    check({1, 20, k, 70}, true, true);
  }
}

TEST(Product, OfManyTiles) {
  check({1, 210, 515, 450}, false, false);
  check({1, 210, 70, 900}, true, true);
  check({1, 110, 64, 300}, false, true, f64);
}

// The last tile of each has one column: an element a row is not one for all.
TEST(Product, WithAnElementARowBesideOneColumn) {
  for (const std::int64_t n : {129, 257}) {
    const Tensor left = values(1, {130, 20});
    const Tensor right = values(2, {20, n});
    const Tensor each = values(3, {130, 1});
    Tape tape;
    const Value a = tape.input("a", f32, left.shape());
    const Value b = tape.input("b", f32, right.shape());
    const Value p = tape.input("p", f32, each.shape());
    const Value y = matmul(a, b);
    const std::vector<Value> results{tanh(y - p), exp(y * 0.1 - exp(p)),
                                     tanh(p) * y, relu(y + p) * p};
    const Network network = tape.seal();
    Entry entry;
    for (const Value& result : results) entry.result(result);
    const std::vector<Feed> feeds{{a, left}, {b, right}, {p, each}};
    expect_the_interpreters_bits(network, network.lower(entry), feeds, results);
    for (const Value& result : results) {
      expect_the_interpreters_bits(
          network, network.lower(Entry().result(result)), feeds, {result});
    }
  }
}

TEST(Product, OfBatches) {
  check({12, 8, 16, 8}, false, true);
  check({3, 100, 64, 130}, false, false);
  check({3, 5, 64, 600}, false, false);
  check({2, 70, 20, 200}, true, true, f64);
}

// Few rows read the right operand where it lies, or packed if it stays; rows
// that lie pages apart are another case.
TEST(Product, OfWeightsFedAndKept) {
  for (const std::int64_t m : {1, 4, 5, 8, 16, 24, 25, 30, 96, 97}) {
    for (const std::int64_t n : {70, 1024}) {
      SCOPED_TRACE(testing::Message() << m << " x 40 x " << n);
      const Tensor weights = values(2, {40, n});
      const Tensor left = values(1, {m, 40});
      Tape tape;
      const Value x = tape.input("x", f32, left.shape());
      const Value fed = tape.input("fed", f32, weights.shape());
      const Value kept = tape.parameter("kept", weights);
      const std::vector<Value> results{matmul(x, fed), relu(matmul(x, kept)),
                                       softmax(matmul(x, kept)),
                                       softmax(matmul(x, fed))};
      const Network network = tape.seal();
      Entry entry;
      for (const Value& result : results) entry.result(result);
      expect_the_interpreters_bits(network, network.lower(entry),
                                   {{x, left}, {fed, weights}}, results);
    }
  }
}

/// A product by weights of 16 bits that are widened, fed or kept, where the
/// cast is recorded and where it is not.
void check_narrow(std::int64_t m, std::int64_t k, std::int64_t n, DType dtype,
                  bool transposed) {
  SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << ", "
                                  << name(dtype) << ", " << transposed);
  const Tensor weights =
      values(2, transposed ? Shape{n, k} : Shape{k, n}, dtype);
  const Tensor left = values(1, {m, k});
  Tape tape;
  const Value x = tape.input("x", f32, left.shape());
  const Value fed = tape.input("fed", dtype, weights.shape());
  const Value kept = tape.parameter("kept", weights);
  const auto turned = [&](Value w) { return transposed ? transpose(w) : w; };
  const std::vector<Value> results{
      matmul(x, cast(turned(fed), f32)), matmul(x, turned(cast(kept, f32))),
      relu(matmul(cast(x, dtype), turned(kept))) + 1,
      // 16 bits do not hold this number.
      matmul(x, pad(turned(cast(kept, f32)), {0, 1}, {0, 0}, 0.1))};
  const Network network = tape.seal();
  Entry entry;
  for (const Value& result : results) entry.result(result);
  expect_the_interpreters_bits(network, network.lower(entry),
                               {{x, left}, {fed, weights}}, results);
}

TEST(Product, OfNarrowWeights) {
  for (const DType dtype : {bf16, f16}) {
    for (const bool transposed : {false, true}) {
      for (const std::int64_t m : {1, 2, 4, 5, 17, 100}) {
        check_narrow(m, 40, 70, dtype, transposed);
      }
      check_narrow(3, 1030, 300, dtype, transposed);
      check_narrow(130, 515, 130, dtype, transposed);
    }
  }
}

// Where the CPU's dot product of bf16 pays, other bits; else the same.
TEST(Product, OfFastNumericsIsInsideTheEnvelope) {
  for (const std::int64_t m : {1, 7, 100}) {
    for (const std::int64_t k : {1, 33, 700}) {
      SCOPED_TRACE(testing::Message() << m << " x " << k);
      Tape tape;
      const Value x = tape.input("x", bf16, {m, k});
      const Value w = tape.parameter("w", values(2, {k, 130}, bf16));
      const Value v = tape.parameter("v", values(3, {90, k}, bf16));
      const Value y = matmul(x, w);
      const Value z = matmul(cast(x, f32), transpose(cast(v, f32)));
      const Value rows = softmax(z);
      const Network network = tape.seal();
      const Plan plan = network.lower(
          Entry().result(y).result(z).result(rows).numerics(Numerics::fast));
      const std::vector<Feed> feeds{{x, values(1, {m, k}, bf16)}};
      const auto expected =
          envelopes(network, plan, network.parameters(), Feeds(feeds));
      Session session = native::open(network);
      const auto run = session.step(plan, Feeds(feeds));
      std::size_t i = 0;
      for (const Value& result : {y, z, rows}) {
        const Difference found = compare(expected[i++], run.of(result));
        EXPECT_TRUE(found.inside) << found.text();
      }
    }
  }
}

/// What becomes of a parameter that products keep packed: the results of one
/// story on an engine.
std::vector<Tensor> story_of_a_parameter(Engine engine) {
  Tape tape;
  const Value w = tape.parameter("w", values(1, {40, 200}));
  const Value x = tape.input("x", f32, {30, 40});
  const Value y = matmul(x, w);
  const Value wide = matmul(transpose(y), x);
  const Value back = relu(matmul(y, transpose(w)));
  const Value next = w * 0.5 + 1;
  const Network network = tape.seal();
  const Plan forward = network.lower(Entry().result(y).result(back));
  const Plan other = network.lower(Entry().result(y).result(wide));
  const Plan train = network.lower(Entry().result(y).carry(w, next));
  const Tensor batch = values(2, {30, 40});
  std::vector<Tensor> results;
  const auto look = [&](Session& session) {
    for (int i = 0; i < 2; ++i) {
      const auto run = session.step(forward, {{x, batch}});
      results.push_back(run.of(y));
      results.push_back(run.of(back));
      results.push_back(session.step(other, {{x, batch}}).of(y));
    }
  };
  Session session = engine.open(network);
  look(session);
  session.set(w, values(3, {40, 200}));
  look(session);
  session.step(train, {{x, batch}});
  look(session);
  Session fork = session.fork();
  fork.step(train, {{x, batch}});
  look(fork);
  look(session);
  fork.set(w, values(4, {40, 200}));
  look(session);
  look(fork);
  session.reset();
  look(session);
  return results;
}

TEST(Product, OfAKeptOperandSeesEveryChange) {
  const auto expected = story_of_a_parameter(interpreter::engine());
  const auto found = story_of_a_parameter(native::engine());
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(bits_equal(found[i], expected[i])) << "look " << i;
  }
}

}  // namespace
}  // namespace topos::test

// Operations that run on their own: by a kernel in every layout and dtype, with
// the interpreter's bits on any number of threads.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/builds.h"
#include "engine/random_elements.h"
#include "support/random.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

/// Builds results from inputs; `fed` are their elements.
struct Program {
  Tape tape;
  std::vector<Value> inputs;
  std::vector<Tensor> fed;
  std::vector<Value> results;
  Random random{20};

  Value input(const Type& type, bool wild, std::int64_t bound = 0) {
    inputs.push_back(tape.input("x" + std::to_string(inputs.size()), type.dtype,
                                type.shape));
    fed.push_back(random_elements(type, random, wild, bound));
    return inputs.back();
  }

  void expect_native_bits() {
    const Network network = tape.seal();
    Entry entry;
    for (const Value& value : results) entry.result(value);
    const Plan plan = network.lower(entry);
    std::vector<Feed> feeds;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      feeds.emplace_back(inputs[i], fed[i]);
    }
    Session plain = interpreter::open(network);
    const Run expected = plain.step(plan, feeds);
    for (const int threads : {1, 2, 7}) {
      Session session =
          native::open(network, SessionOptions{.threads = threads});
      EXPECT_EQ(session.report(plan).reference_nodes, 0u)
          << session.describe(plan);
      const Run run = session.step(plan, feeds);
      for (std::size_t i = 0; i < results.size(); ++i) {
        EXPECT_TRUE(bits_equal(run.of(results[i]), expected.of(results[i])))
            << "result " << i << " of " << threads << " threads\n"
            << session.describe(plan);
      }
    }
  }
};

std::vector<Axes> axes_of(int rank) {
  std::vector<Axes> result;
  for (int bits = 1; bits < 1 << rank; ++bits) {
    Axes axes;
    for (int axis = 0; axis < rank; ++axis) {
      if (bits >> axis & 1) axes.push_back(static_cast<std::int8_t>(axis));
    }
    result.push_back(axes);
  }
  return result;
}

/// All reductions and row formulas of x, over all its axes.
void add_formulas(Program& program, const Value& x) {
  const Type type = x.type();
  const int rank = type.shape.rank();
  auto& to = program.results;
  for (const Axes& axes : axes_of(rank)) {
    to.push_back(sum(x, axes));
    to.push_back(reduce_max(x, axes));
    to.push_back(reduce_min(x, axes));
    if (!is_floating(type.dtype)) continue;
    to.push_back(mean(x, axes));
    to.push_back(center(x, axes));
  }
  for (int axis = 0; axis < rank; ++axis) {
    to.push_back(argmax(x, axis));
    if (!is_floating(type.dtype)) continue;
    to.push_back(softmax(x, axis));
    to.push_back(log_softmax(x, axis));
    to.push_back(logsumexp(x, axis));
  }
}

TEST(Singles, ReduceAnyAxes) {
  for (const DType dtype : {f32, f64, i32, i64}) {
    for (const Shape& shape :
         {Shape{5}, Shape{3, 40}, Shape{40, 3}, Shape{3, 5, 17},
          Shape{2, 3, 4, 18}, Shape{1, 7, 1}}) {
      for (const bool wild : {false, true}) {
        SCOPED_TRACE(shape.text());
        Program program;
        const Value x = program.input({dtype, shape}, wild);
        add_formulas(program, x);
        Axes reversed;
        for (int i = shape.rank(); i-- > 0;) {
          reversed.push_back(static_cast<std::int8_t>(i));
        }
        add_formulas(program, permute(x, reversed));
        add_formulas(program, reverse(x, reversed));
        program.expect_native_bits();
      }
    }
  }
}

/// Enough for several threads, on both sides of blocks of 4096.
TEST(Singles, ReduceWhatThreadsShare) {
  const std::int64_t many = 200000 / slowness;
  for (const Shape& shape :
       {Shape{many + 3}, Shape{4096 * (many / 4096)}, Shape{2, many},
        Shape{many / 100, 150}, Shape{7, many / 100, 11}}) {
    SCOPED_TRACE(shape.text());
    Program program;
    const Value x = program.input({f32, shape}, false);
    for (const Axes& axes : axes_of(shape.rank())) {
      program.results.push_back(sum(x, axes));
      program.results.push_back(mean(cast(x, f64), axes));
      program.results.push_back(center(x, axes));
      program.results.push_back(reduce_max(x, axes));
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
      program.results.push_back(softmax(x, axis));
      program.results.push_back(argmax(x, axis));
    }
    program.expect_native_bits();
  }
}

TEST(Singles, MoveElements) {
  for (const DType dtype : {f32, f64, i32, i64, boolean}) {
    for (const Shape& shape :
         {Shape{2, 3, 4}, Shape{1, 20, 33}, Shape{9, 64, 200 / slowness}}) {
      SCOPED_TRACE(shape.text());
      Program program;
      const Value x = program.input({dtype, shape}, true);
      const Value y = program.input({dtype, shape}, true);
      auto& to = program.results;
      const std::int64_t count = shape.element_count();
      for (const Axes& axes :
           {Axes{0, 2, 1}, Axes{2, 1, 0}, Axes{1, 0, 2}, Axes{2, 0, 1}}) {
        const Value p = permute(x, axes);
        to.push_back(reshape(p, {count}));
        to.push_back(pad(p, {1, 0, 2}, {0, 3, 1}));
        to.push_back(concat({p, permute(y, axes), p}, 1));
      }
      to.push_back(pad(x, {0, 0, 0}, {0, 0, 0}));
      if (is_floating(dtype)) {
        to.push_back(pad(x, {0, 0, 5}, {0, 0, 0}, -0.5));
      }
      to.push_back(reshape(reverse(narrow(x, 2, 1, shape[2] - 2), {0, 2}),
                           {shape[1], shape[0] * (shape[2] - 2)}));
      if (dtype != boolean) {
        to.push_back(iota(program.tape, {dtype, {70, 80}}, 0));
        to.push_back(iota(program.tape, {dtype, {70, 80}}, 1));
      }
      program.expect_native_bits();
    }
  }
}

TEST(Singles, ReduceNothing) {
  Program program;
  const Value x = program.input({f32, {0, 3}}, false);
  const Value i = program.input({i32, {2, 0}}, false);
  program.results = {sum(x, 0), mean(x, 0), logsumexp(x, 0),
                     sum(i, 1), sum(x, 1),  softmax(x, 0)};
  program.expect_native_bits();
}

/// gather(x, index) and its transpose, for an index of that shape.
void add_indexed(Program& program, const Value& x, const Shape& index,
                 DType index_dtype, IndexOptions options) {
  const std::int64_t n = x.type().shape[options.axis];
  const Value at = program.input({index_dtype, index}, false, n);
  const Value slices = gather(x, at, options);
  program.results.push_back(slices);
  const Value updates = program.input(slices.type(), false);
  program.results.push_back(scatter_add(x, at, updates, options));
  program.results.push_back(
      scatter_add(full_like(x, x.type(), 0), at, slices, options));
}

TEST(Singles, GatherAndScatter) {
  for (const DType dtype : {f32, f64, i32, i64}) {
    SCOPED_TRACE(name(dtype));
    Program program;
    const Value table = program.input({dtype, {27, 10}}, true);
    add_indexed(program, table, {64, 3}, i32, {0, 0});
    add_indexed(program, table, {3}, i64, {0, 0});
    add_indexed(program, table, {}, i64, {0, 0});
    add_indexed(program, table, {27}, i32, {1, 1});
    add_indexed(program, table, {27, 40}, i32, {1, 1});
    add_indexed(program, table, {33}, i32, {1, 0});
    add_indexed(program, permute(table, {1, 0}), {50}, i32, {0, 0});
    add_indexed(program, permute(table, {1, 0}), {50}, i32, {1, 0});
    const Value wide = program.input({dtype, {3, 5, 2, 37}}, false);
    add_indexed(program, wide, {3, 90}, i64, {1, 1});
    add_indexed(program, wide, {3, 6, 2}, i64, {2, 1});
    add_indexed(program, permute(wide, {0, 2, 3, 1}), {3, 70}, i64, {2, 1});
    const Value tall = program.input({dtype, {5000, 3}}, false);
    add_indexed(program, tall, {300}, i32, {0, 0});
    const Value one = program.input({dtype, {1, 3}}, false);
    add_indexed(program, one, {40}, i32, {0, 0});
    program.expect_native_bits();
  }
}

TEST(Singles, GatherAndScatterWhatThreadsShare) {
  Program program;
  const Value table = program.input({f32, {300, 96}}, true);
  add_indexed(program, table, {2000 / slowness}, i32, {0, 0});
  const Value rows = program.input({f32, {3000 / slowness, 200}}, true);
  add_indexed(program, rows, {rows.type().shape[0]}, i32, {1, 1});
  const Value columns = program.input({f32, {64, 300}}, true);
  add_indexed(program, columns, {3000 / slowness}, i32, {1, 0});
  program.expect_native_bits();
}

}  // namespace
}  // namespace topos::test

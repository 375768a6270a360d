// What a step costs beyond its arithmetic: plans of many nodes with next to
// nothing to compute, and work for the pool that is none.

#include "kernels/thread_pool.h"
#include "table.h"
#include "topos/topos.h"

namespace topos::bench {

namespace {

/// A step of a plan that applies `next` to 16 numbers again and again.
template <class Next>
void add_nodes(std::vector<Row>& rows, const char* name, const Options& options,
               Next&& next) {
  if (!wanted(options, name)) return;
  Tape tape;
  const Value x = tape.input("x", f32, {16});
  Value y = x;
  for (int i = 0; i < 500; ++i) y = next(y, x);
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  Session session = native::open(network, {.threads = options.threads});
  const Tensor elements = uniform({16}, 1.0, 1);
  Row row{.table = "overheads", .row = name, .threads = options.threads};
  row.rival = "none";
  measure(
      row,
      [&] {
        session.step(plan, {{x, elements}});
      },
      nullptr);
  rows.push_back(row);
}

void add_empty_job(std::vector<Row>& rows, const Options& options) {
  const char* name = "an empty job, hot";
  if (!wanted(options, name)) return;
  Row row{.table = "overheads", .row = name, .threads = options.threads};
  row.rival = "none";
  auto& pool = kernels::ThreadPool::instance();
  measure(
      row,
      [&] {
        pool.parallel_for(
            options.threads, [](int) {}, options.threads);
      },
      nullptr);
  rows.push_back(row);
}

}  // namespace

std::vector<Row> overheads_table(const Options& options) {
  std::vector<Row> rows;
  add_nodes(rows, "1000 nodes, a step", options, [](Value y, const Value& x) {
    const Value product = y * x;
    return product + x;
  });
  add_nodes(rows, "500 sums, a step", options,
            [](Value y, const Value& x) { return sum(y, {0}, true) + x; });
  add_empty_job(rows, options);
  return rows;
}

}  // namespace topos::bench

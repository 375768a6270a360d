// A vector by 500 MB of weights in f32, against reading as many bytes.

#include <fmt/format.h>

#include <optional>

#include "read_speed.h"
#include "table.h"
#include "topos/topos.h"

namespace topos::bench {

namespace {

constexpr std::int64_t k = 4096;
constexpr std::int64_t n = 30720;

/// \param all         the weights' elements
/// \param transposed  they lie as [n, k]
Row measured(const std::string& name, const Tensor& all, bool transposed,
             const Options& options) {
  Row row{.table = "gemv", .row = name, .threads = options.threads};
  const Tensor x = uniform({1, k}, 1.0, 1);
  const Tensor weights = reshape(all, transposed ? Shape{n, k} : Shape{k, n});
  Tape tape;
  const Value left = tape.input("x", f32, {1, k});
  const Value right = tape.input("weights", f32, weights.shape());
  const Value y = matmul(left, transposed ? transpose(right) : right);
  Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  Session session = native::open(network, {.threads = options.threads});
  std::vector<Feed> feeds{{left, x}, {right, weights}};
  const auto bytes = std::as_bytes(weights.span<float>());
  const std::size_t streams = best_streams(bytes, options.threads);
  std::vector<double> ours;
  std::vector<double> reading;
  session.step(plan, Feeds(feeds));
  for (int round = 0; round < 15; ++round) {
    ours.push_back(time_ms([&] { session.step(plan, Feeds(feeds)); }, 1));
    reading.push_back(read_ms(bytes, options.threads, streams));
  }
  set_ours(row, ours);
  set_rival_if_faster(row, "reading the weights", __VERSION__, reading);
  row.limit_share = row.ratio;
  return row;
}

}  // namespace

std::vector<Row> gemv_table(const Options& options) {
  std::vector<Row> rows;
  std::optional<Tensor> weights;
  for (const bool transposed : {false, true}) {
    const std::string name =
        fmt::format("1x{}x{} f32{}", k, n, transposed ? " b'" : "");
    if (wanted(options, name)) {
      if (!weights) weights = uniform({k, n}, 1.0, 2);
      rows.push_back(measured(name, *weights, transposed, options));
    }
  }
  return rows;
}

}  // namespace topos::bench

// A vector by 500 MB of weights in f32 and bf16, against reading as many bytes.

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "read_speed.h"
#include "table.h"
#include "topos/topos.h"

namespace topos::bench {

namespace {

constexpr std::int64_t k = 4096;
constexpr std::int64_t bytes_of_all = 4 * k * 30720;

/// Weights about as large as a model's, in the type of either size.
Tensor weights_of(const Type& type) {
  std::byte* data = nullptr;
  Tensor weights = Tensor::uninitialized(type, data);
  const std::vector<float> some = uniform({1 << 16}, 1.0, 2).to_vector<float>();
  const std::size_t count = type.size_bytes() / size_bytes(type.dtype);
  for (std::size_t i = 0; i < count; ++i) {
    const float x = some[(i * 7 + i / some.size()) % some.size()];
    if (type.dtype == bf16) {
      reinterpret_cast<BFloat16*>(data)[i] = static_cast<BFloat16>(x);
    } else {
      reinterpret_cast<float*>(data)[i] = x;
    }
  }
  return weights;
}

/// \param transposed  they lie as [n, k]
Row measured(const std::string& name, DType dtype, bool transposed,
             const Options& options) {
  Row row{.table = "gemv", .row = name, .threads = options.threads};
  const std::int64_t n =
      bytes_of_all / k / static_cast<std::int64_t>(size_bytes(dtype));
  const Tensor x = uniform({1, k}, 1.0, 1);
  const Tensor weights =
      weights_of({dtype, transposed ? Shape{n, k} : Shape{k, n}});
  Tape tape;
  const Value left = tape.input("x", f32, {1, k});
  const Value right = tape.input("weights", dtype, weights.shape());
  const Value wide = dtype == f32 ? right : cast(right, f32);
  const Value y = matmul(left, transposed ? transpose(wide) : wide);
  Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  Session session = native::open(network, {.threads = options.threads});
  std::vector<Feed> feeds{{left, x}, {right, weights}};
  const std::span<const std::byte> bytes(
      weights.data(), static_cast<std::size_t>(bytes_of_all));
  const std::size_t streams = best_streams(bytes, options.threads);
  std::vector<double> ours;
  std::vector<double> reading;
  session.step(plan, Feeds(feeds));
  for (int round = 0; round < 15; ++round) {
    await_cores(options.threads);
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
  for (const DType dtype : {f32, bf16}) {
    for (const bool transposed : {false, true}) {
      const std::string name = fmt::format(
          "1x{} 500 MB {}{}", k, topos::name(dtype), transposed ? " b'" : "");
      if (wanted(options, name)) {
        rows.push_back(measured(name, dtype, transposed, options));
      }
    }
  }
  return rows;
}

}  // namespace topos::bench

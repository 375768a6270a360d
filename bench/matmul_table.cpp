// Matrix products in f32 against the best of OpenBLAS and oneDNN, where they
// are installed. Through the public face: a plan of one product. Operands are
// fed; a right operand that is kept is a parameter, which may be packed once.

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "product_rivals.h"
#include "table.h"
#include "topos/topos.h"

namespace topos::bench {

namespace {

const Product products[] = {
    {.name = "64x30x100", .m = 64, .k = 30, .n = 100},
    {.name = "64x100x27", .m = 64, .k = 100, .n = 27},
    {.name = "512x512x512", .m = 512, .k = 512, .n = 512},
    {.name = "1024x1024x1024", .m = 1024, .k = 1024, .n = 1024},
    {.name = "2048x2048x2048", .m = 2048, .k = 2048, .n = 2048},
    {.name = "1024x768x2304", .m = 1024, .k = 768, .n = 2304},
    {.name = "1024x768x768", .m = 1024, .k = 768, .n = 768},
    {.name = "1024x768x3072", .m = 1024, .k = 768, .n = 3072},
    {.name = "1024x3072x768", .m = 1024, .k = 3072, .n = 768},
    {.name = "1024x768x50257", .m = 1024, .k = 768, .n = 50257},
    {.name = "1024x768x50257 b'",
     .m = 1024,
     .k = 768,
     .n = 50257,
     .right_transposed = true},
    {.name = "1024x768x2304 kept",
     .m = 1024,
     .k = 768,
     .n = 2304,
     .kept = true},
    {.name = "64x768x3072 kept", .m = 64, .k = 768, .n = 3072, .kept = true},
    {.name = "64x768x3072", .m = 64, .k = 768, .n = 3072},
    {.name = "768x1024x768 a'",
     .m = 768,
     .k = 1024,
     .n = 768,
     .left_transposed = true},
    {.name = "1024x768x768 b'",
     .m = 1024,
     .k = 768,
     .n = 768,
     .right_transposed = true},
    {.name = "1024x768x768 a'b'",
     .m = 1024,
     .k = 768,
     .n = 768,
     .left_transposed = true,
     .right_transposed = true},
    {.name = "12x 1024x64x1024 b'",
     .m = 1024,
     .k = 64,
     .n = 1024,
     .batch = 12,
     .right_transposed = true},
    {.name = "12x 1024x64x1024", .m = 1024, .k = 64, .n = 1024, .batch = 12},
    {.name = "12x 1024x1024x64", .m = 1024, .k = 1024, .n = 64, .batch = 12},
    {.name = "1x768x3072", .m = 1, .k = 768, .n = 3072},
    {.name = "2x768x3072", .m = 2, .k = 768, .n = 3072},
    {.name = "4x768x3072", .m = 4, .k = 768, .n = 3072},
    {.name = "8x768x3072", .m = 8, .k = 768, .n = 3072},
    {.name = "16x768x3072", .m = 16, .k = 768, .n = 3072},
    {.name = "1x768x3072 b'",
     .m = 1,
     .k = 768,
     .n = 3072,
     .right_transposed = true},
    {.name = "16x768x3072 b'",
     .m = 16,
     .k = 768,
     .n = 3072,
     .right_transposed = true},
};

Shape shape_of(const Product& p, std::int64_t rows, std::int64_t columns,
               bool transposed) {
  if (transposed) std::swap(rows, columns);
  return p.batch > 1 ? Shape{p.batch, rows, columns} : Shape{rows, columns};
}

void expect_equal(std::span<const float> ours, std::span<const float> rival,
                  std::int64_t k, const std::string& name) {
  const double allowed = 1e-6 * static_cast<double>(k);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!(std::abs(ours[i] - rival[i]) <= allowed)) {
      throw std::runtime_error(fmt::format("{} gives {} at {}, and topos {}",
                                           name, rival[i], i, ours[i]));
    }
  }
}

Row measured(const Product& p, const Options& options, double limit) {
  Row row{.table = "matmul", .row = p.name, .threads = options.threads};
  const Tensor a = uniform(shape_of(p, p.m, p.k, p.left_transposed), 1.0, 1);
  const Tensor b = uniform(shape_of(p, p.k, p.n, p.right_transposed), 1.0, 2);
  Tape tape;
  const Value left = tape.input("left", f32, a.shape());
  const Value right =
      p.kept ? tape.parameter("right", b) : tape.input("right", f32, b.shape());
  const Value y = matmul(p.left_transposed ? transpose(left) : left,
                         p.right_transposed ? transpose(right) : right);
  Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  Session session = native::open(network, {.threads = options.threads});
  std::vector<Feed> feeds{{left, a}};
  if (!p.kept) feeds.emplace_back(right, b);
  const auto ours = [&] { return session.step(plan, Feeds(feeds)); };

  std::vector<float> c(static_cast<std::size_t>(p.batch * p.m * p.n));
  const auto rivals =
      product_rivals(p, a.span<float>().data(), b.span<float>().data(),
                     c.data(), options.threads);
  const std::vector<float> result = ours().of(y).to_vector<float>();
  std::vector<std::function<void()>> runs{[&] { ours(); }};
  for (const ProductRival& rival : rivals) {
    rival.run();
    expect_equal(result, c, p.k, rival.name);
    runs.push_back(rival.run);
  }
  const auto times = measure_in_turn(options.threads, runs);
  set_ours(row, times[0]);
  if (rivals.empty()) row.rival = "none is installed";
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    set_rival_if_faster(row, rivals[i].name, rivals[i].version, times[i + 1]);
  }
  const double flops = 2.0 * static_cast<double>(p.batch) *
                       static_cast<double>(p.m) * static_cast<double>(p.k) *
                       static_cast<double>(p.n);
  row.limit_share = flops / (row.ours_ms * 1e6) / limit;
  return row;
}

}  // namespace

std::vector<Row> matmul_table(const Options& options) {
  std::vector<Row> rows;
  double limit = 0;
  for (const Product& product : products) {
    if (!wanted(options, product.name)) continue;
    if (limit == 0) {
      limit = machine_limits(options.threads).gigaflops;
      fmt::print("fma limit: {:.1f} GFLOP/s on {} thread(s)\n", limit,
                 options.threads);
    }
    rows.push_back(measured(product, options, limit));
  }
  return rows;
}

}  // namespace topos::bench

// Matrix products in f32 against OpenBLAS, where it is installed. Through the
// public face: a plan of one product, with its operands fed.

#include <fmt/format.h>

#include "table.h"
#include "topos/topos.h"

#ifdef TOPOS_BENCH_OPENBLAS
#include <cblas.h>
#endif

namespace topos::bench {

namespace {

struct Product {
  const char* name;
  std::int64_t m, k, n;
};

constexpr Product products[] = {
    {"64x30x100", 64, 30, 100},     {"64x100x27", 64, 100, 27},
    {"512x512x512", 512, 512, 512}, {"1024x768x768", 1024, 768, 768},
    {"64x768x3072", 64, 768, 3072},
};

Row measured(const Product& p, const Options& options) {
  Row row{.table = "matmul", .row = p.name, .threads = options.threads};
  Tape tape;
  const Value left = tape.input("left", f32, {p.m, p.k});
  const Value right = tape.input("right", f32, {p.k, p.n});
  const Value y = matmul(left, right);
  Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  Session session = native::open(network, {.threads = options.threads});
  const Tensor a = uniform({p.m, p.k}, 1.0, 1);
  const Tensor b = uniform({p.k, p.n}, 1.0, 2);
  std::vector<Feed> feeds{{left, a}, {right, b}};
  const auto ours = [&] { session.step(plan, Feeds(feeds)); };
#ifdef TOPOS_BENCH_OPENBLAS
  row.rival = "OpenBLAS";
  row.rival_version = openblas_get_config();
  openblas_set_num_threads(options.threads);
  std::vector<float> c(static_cast<std::size_t>(p.m * p.n));
  const auto rival = [&] {
    const auto m = static_cast<blasint>(p.m);
    const auto k = static_cast<blasint>(p.k);
    const auto n = static_cast<blasint>(p.n);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f,
                a.span<float>().data(), k, b.span<float>().data(), n, 0.0f,
                c.data(), n);
  };
  measure(row, ours, rival);
#else
  row.rival = "OpenBLAS is not installed";
  measure(row, ours, nullptr);
#endif
  return row;
}

}  // namespace

std::vector<Row> matmul_table(const Options& options) {
  std::vector<Row> rows;
  for (const Product& product : products) {
    if (wanted(options, product.name)) {
      rows.push_back(measured(product, options));
    }
  }
  return rows;
}

}  // namespace topos::bench

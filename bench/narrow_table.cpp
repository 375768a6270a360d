// Matrix products by weights of 16 bits that stay, with sums in f32: against
// our own by f32 weights, and, with both operands in bf16, against oneDNN.

#include <fmt/format.h>

#include <optional>

#include "product_rivals.h"
#include "table.h"
#include "topos/topos.h"

namespace topos::bench {

namespace {

const Product products[] = {
    {.name = "1024x768x2304", .m = 1024, .k = 768, .n = 2304},
    {.name = "1024x768x768", .m = 1024, .k = 768, .n = 768},
    {.name = "1024x768x3072", .m = 1024, .k = 768, .n = 3072},
    {.name = "1024x3072x768", .m = 1024, .k = 3072, .n = 768},
};

/// A plan of the product in a session.
class Ours {
 public:
  Ours(const Product& p, DType left, DType right, Numerics numerics,
       int threads)
      : a_(cast(uniform({p.m, p.k}, 1.0, 1), left)),
        b_(cast(uniform({p.k, p.n}, 1.0, 2), right)) {
    Tape tape;
    const Value x = tape.input("x", left, a_.shape());
    const Value w = tape.parameter("w", b_);
    const auto wide = [](Value v) { return cast(v, f32); };
    y_ = matmul(wide(x), wide(w));
    x_ = x;
    const Network network = tape.seal();
    plan_ = network.lower(Entry().result(*y_).numerics(numerics));
    session_ = native::open(network, {.threads = threads});
  }

  void run() { session_->step(*plan_, {{*x_, a_}}); }
  const Tensor& left() const { return a_; }
  const Tensor& right() const { return b_; }

 private:
  Tensor a_;
  Tensor b_;
  std::optional<Value> y_;
  std::optional<Symbol> x_;
  std::optional<Plan> plan_;
  std::optional<Session> session_;
};

class Table {
 public:
  explicit Table(const Options& options) : options_(options) {
    limit_ = machine_limits(options.threads).gigaflops;
    fmt::print("fma limit: {:.1f} GFLOP/s on {} thread(s)\n", limit_,
               options.threads);
  }

  /// Weights of 16 bits, a left operand of f32.
  void add_weights(const Product& p, DType dtype) {
    const std::string name = fmt::format("{} {} w", p.name, topos::name(dtype));
    if (!wanted(options_, name)) return;
    Ours ours(p, f32, dtype, Numerics::exact, options_.threads);
    Ours wide(p, f32, f32, Numerics::exact, options_.threads);
    add(p, name, "exact", ours,
        {{"topos, f32 weights", TOPOS_VERSION, [&] { wide.run(); }}});
  }

  /// Both operands of bf16.
  void add_bf16(const Product& p, Numerics numerics) {
    const std::string name = fmt::format("{} bf16", p.name);
    if (!wanted(options_, name)) return;
    Ours ours(p, bf16, bf16, numerics, options_.threads);
    std::vector<float> c(static_cast<std::size_t>(p.m * p.n));
    add(p, name, numerics == Numerics::fast ? "fast" : "exact", ours,
        product_rivals(p, ours.left().span<BFloat16>().data(),
                       ours.right().span<BFloat16>().data(), c.data(),
                       options_.threads));
  }

  std::vector<Row> rows;

 private:
  void add(const Product& p, const std::string& name, const char* numerics,
           Ours& ours, const std::vector<ProductRival>& rivals) {
    Row row{.table = "narrow",
            .row = name,
            .threads = options_.threads,
            .numerics = numerics};
    std::vector<std::function<void()>> runs{[&] { ours.run(); }};
    for (const ProductRival& rival : rivals) runs.push_back(rival.run);
    const auto times = measure_in_turn(options_.threads, runs);
    set_ours(row, times[0]);
    if (rivals.empty()) row.rival = "none is installed";
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      set_rival_if_faster(row, rivals[i].name, rivals[i].version, times[i + 1]);
    }
    const double flops = 2.0 * static_cast<double>(p.m) *
                         static_cast<double>(p.k) * static_cast<double>(p.n);
    row.limit_share = flops / (row.ours_ms * 1e6) / limit_;
    rows.push_back(row);
  }

  Options options_;
  double limit_ = 0;
};

}  // namespace

std::vector<Row> narrow_table(const Options& options) {
  Table table(options);
  for (const Product& product : products) {
    table.add_weights(product, bf16);
    table.add_weights(product, f16);
    table.add_bf16(product, Numerics::exact);
    table.add_bf16(product, Numerics::fast);
  }
  return table.rows;
}

}  // namespace topos::bench

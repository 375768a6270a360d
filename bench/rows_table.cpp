// Formulas over rows, short and long.

#include <fmt/format.h>

#include "one_input.h"

namespace topos::bench {

std::vector<Row> rows_table(const Options& options) {
  std::vector<Row> rows;
  const auto add = [&](const char* formula, const Shape& shape, auto record) {
    const std::string name =
        fmt::format("{} {}x{}", formula, shape[0], shape[1]);
    if (!wanted(options, name)) return;
    const auto measured = against_python(
        "rows", one_input(name, shape, options, record), options);
    rows.insert(rows.end(), measured.begin(), measured.end());
  };
  for (const Shape& shape : {Shape{4096, 1024}, Shape{64, 50257}}) {
    add("softmax", shape, [](Value x) { return softmax(x); });
    add("layer_norm", shape, [&](Value x) {
      const Type row = {f32, {shape[1]}};
      return layer_norm(x, full_like(x, row, 1), full_like(x, row, 0));
    });
  }
  return rows;
}

}  // namespace topos::bench

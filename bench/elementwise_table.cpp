// Elementwise work on 2^24 elements, which no cache holds: as fast as memory.

#include "one_input.h"

namespace topos::bench {

std::vector<Row> elementwise_table(const Options& options) {
  const Shape shape = {1 << 24};
  std::vector<Row> rows;
  const auto add = [&](const char* name, auto record) {
    if (!wanted(options, name)) return;
    const auto measured = against_python(
        "elementwise", one_input(name, shape, options, record), options);
    rows.insert(rows.end(), measured.begin(), measured.end());
  };
  // Eight operations, as rivals.py has them.
  add("chain", [](Value x) {
    const Value y = sqrt(abs(x * 1.5 + 0.25)) * 0.5 - 1.0;
    return -maximum(y, -0.5);
  });
  add("gelu", [](Value x) { return gelu(x); });
  return rows;
}

}  // namespace topos::bench

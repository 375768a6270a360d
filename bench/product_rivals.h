#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "topos/half.h"

/// \file
/// The libraries that matrix products are compared with.

namespace topos::bench {

/// [m, k] x [k, n], `batch` times, in f32.
struct Product {
  std::string name;
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t batch = 1;
  bool left_transposed = false;   // it lies as [k, m]
  bool right_transposed = false;  // it lies as [n, k]
  /// The right operand stays from call to call: whoever can may pack it once.
  bool kept = false;
};

struct ProductRival {
  std::string name;
  std::string version;
  std::function<void()> run;
};

/// Each that is installed, in each of its ways that may be its best. They read
/// the operands and write `result` when they run.
std::vector<ProductRival> product_rivals(const Product& product,
                                         const float* left, const float* right,
                                         float* result, int threads);

/// oneDNN with both operands in bf16, if it is installed; the result is in f32.
std::vector<ProductRival> product_rivals(const Product& product,
                                         const BFloat16* left,
                                         const BFloat16* right, float* result,
                                         int threads);

/// OpenBLAS reads which kernels to take, and OpenMP how many threads, when they
/// are loaded: this names the best that this CPU runs, whatever the environment
/// said, and starts the program again if it said something else.
void set_rivals_environment(char** argv, int threads);

}  // namespace topos::bench

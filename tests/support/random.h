#pragma once

#include <cstdint>
#include <vector>

#include "topos/tensor.h"

namespace topos::test {

/// Random numbers for tests, the same on every machine: splitmix64
/// [Steele, Lea & Flood 2014]. The seed is fixed; print it on failure.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// In [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// In [low, high).
  double between(double low, double high) {
    return low + (high - low) * unit();
  }
  /// In [0, n); 0 where n is not positive.
  std::int64_t below(std::int64_t n) {
    return n <= 0 ? 0
                  : static_cast<std::int64_t>(bits() %
                                              static_cast<std::uint64_t>(n));
  }

  /// f64 elements in [low, high).
  Tensor tensor(const Shape& shape, double low, double high) {
    std::vector<double> elements;
    for (std::int64_t i = 0; i < shape.element_count(); ++i) {
      elements.push_back(between(low, high));
    }
    return Tensor(shape, elements);
  }

 private:
  std::uint64_t state_;
};

}  // namespace topos::test

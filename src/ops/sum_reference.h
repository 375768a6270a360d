// The definition of a sum, bit by bit: the lines that the interpreter runs and
// that every kernel is tested against.

#pragma once

#include <concepts>
#include <cstddef>

namespace topos::ops {

/// The extent over which the lanes of a sum run, and how many there are.
inline constexpr std::size_t sum_block = 4096;
inline constexpr std::size_t sum_lanes = 16;

/// The one tree in which the 16 lanes of a block meet:
/// (0+8, 1+9, ...), then (0+4, ...), (0+2, ...), 0+1.
inline double sum_of_lanes(const double* lanes) {
  double tree[sum_lanes];
  for (std::size_t i = 0; i < sum_lanes; ++i) tree[i] = lanes[i];
  for (std::size_t half = sum_lanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) tree[i] += tree[i + half];
  }
  return tree[0];
}

/// A sum in double precision, fed in the order of the reduced index.
///
/// The index is cut into blocks of 4096. Within a block element i goes to lane
/// i mod 16, each lane one ascending chain from +0, and the lanes meet in one
/// tree. The blocks' sums are added in ascending order, and the first one
/// starts the total. Without elements, +0.
class SumAccumulator {
 public:
  void add(double x) {
    lanes_[position_ % sum_lanes] += x;
    if (++position_ == sum_block) close_block();
  }

  /// The sum of all that was added so far, not rounded to the operand's dtype.
  double total() const {
    if (position_ == 0) return total_;
    const double block = sum_of_lanes(lanes_);
    return has_total_ ? total_ + block : block;
  }

 private:
  void close_block() {
    total_ = total();
    has_total_ = true;
    position_ = 0;
    for (double& lane : lanes_) lane = 0;
  }

  double lanes_[sum_lanes] = {};
  std::size_t position_ = 0;  // within the open block
  double total_ = 0;          // of the closed blocks
  bool has_total_ = false;
};

/// The sum of x[0], x[stride], ..., x[(n - 1) stride].
template <std::floating_point T>
double sum_reference(const T* x, std::size_t n, std::ptrdiff_t stride = 1) {
  SumAccumulator sum;
  for (std::size_t i = 0; i < n; ++i) {
    sum.add(static_cast<double>(x[static_cast<std::ptrdiff_t>(i) * stride]));
  }
  return sum.total();
}

}  // namespace topos::ops

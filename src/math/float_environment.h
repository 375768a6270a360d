// The arithmetic that every result is defined in: round to nearest even,
// subnormals kept, no exception trapped.

#pragma once

#include <cstdint>

namespace topos::math {

/// For as long as it lives, this thread computes in the defined environment;
/// then the caller's modes return. Libraries built with -ffast-math change them
/// when they load. A few nanoseconds when nothing differs.
class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::uint64_t saved_;      // MXCSR, FPCR, or the rounding mode
  std::uint16_t saved_x87_;  // the x87 control word
};

}  // namespace topos::math

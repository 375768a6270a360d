#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "topos/tensor.h"

/// \file
/// Tensors written and read as text: what the rows of operations are made of,
/// and what a failed test prints.
///
///     f32[2, 2]{1 -0 nan 0x1p-3}   boolean[2]{0 1}   i32[]{7}   f64[0]{}

namespace topos {

/// How GoogleTest prints a tensor: floats exactly, in hexadecimal.
void PrintTo(const Tensor& tensor, std::ostream* out);
void PrintTo(const Type& type, std::ostream* out);

namespace test {

/// The tensors of `text`, with spaces between. Decimal floats are rounded once,
/// to the dtype.
/// \throws std::invalid_argument  it is not a list of tensors
std::vector<Tensor> tensors(std::string_view text);

/// The one tensor of `text`.
Tensor tensor(std::string_view text);

/// As `tensors`, but a `-` stands for none: such tensors are f32 scalars with a
/// false in `present`.
struct OptionalTensors {
  std::vector<Tensor> tensors;
  std::vector<bool> present;
};
OptionalTensors optional_tensors(std::string_view text);

/// The types of `text`: `f32[2] i32[]`, or those of its tensors.
/// \throws std::invalid_argument  it is not a list of types or tensors
std::vector<Type> types(std::string_view text);

/// Whether all types in `text` have elements behind them (an empty list has).
bool has_elements(std::string_view text);

/// Whether `text` is a list of types or tensors at all, and not an error's
/// clause.
bool is_types(std::string_view text);

/// Type and all elements as text that `tensor` reads back to the same bits.
std::string text(const Tensor& tensor);

/// The distance of two floating tensors of one type in units in the last
/// place, the greatest over the elements: 0 for equal bits (or both NaN), the
/// greatest integer where only one is NaN or the types differ.
std::int64_t ulps_between(const Tensor& left, const Tensor& right);

/// The tensor has the type and the bits of `expected`, any NaN being any NaN.
MATCHER_P(HasBitsOf, expected, "has the bits of " + text(expected)) {
  if (bits_equal(arg, expected)) return true;
  if (is_floating(expected.dtype()) && arg.type() == expected.type()) {
    *result_listener << ulps_between(arg, expected) << " ulp apart";
  }
  return false;
}

/// The tensor has the type of `expected` and is within `ulps` of it.
MATCHER_P2(IsWithinUlps, expected, ulps,
           "is within " + std::to_string(ulps) + " ulp of " + text(expected)) {
  if (bits_equal(arg, expected)) return true;
  if (!is_floating(expected.dtype())) return false;
  const std::int64_t distance = ulps_between(arg, expected);
  *result_listener << distance << " ulp apart";
  return distance <= ulps;
}

/// The tensor has the type of `expected`, and every element is within
/// `tolerance` of it, relative to the greater of 1 and the expected magnitude;
/// infinities and NaN have to be the same.
MATCHER_P2(IsNear, expected, tolerance,
           "is within " + std::to_string(tolerance) + " of " + text(expected)) {
  if (arg.type() != expected.type()) return false;
  const Tensor left = arg.contiguous();
  const Tensor right = expected.contiguous();
  for (std::int64_t i = 0; i < left.element_count(); ++i) {
    const auto at = [&](const Tensor& x) {
      return x.reshaped({x.element_count()}).narrowed(0, i, 1).item();
    };
    const double x = at(left);
    const double y = at(right);
    const bool same = x == y || (x != x && y != y);
    if (!same && !(std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y)))) {
      *result_listener << "element " << i << " is " << x << ", expected " << y;
      return false;
    }
  }
  return true;
}

}  // namespace test
}  // namespace topos

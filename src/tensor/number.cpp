#include "topos/number.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "topos/error.h"

namespace topos {

std::string Number::text() const {
  switch (kind_) {
    case Kind::truth:
      return integer_ != 0 ? "true" : "false";
    case Kind::integer:
      return fmt::format("{}", integer_);
    case Kind::natural:
      return fmt::format("{}", static_cast<std::uint64_t>(integer_));
    case Kind::real:
      return fmt::format("{}", real_);
  }
  return "?";
}

namespace {

[[noreturn]] void refuse(const Number& number, DType dtype) {
  throw DTypeError(
      fmt::format("{} cannot hold the number {}", name(dtype), number.text()));
}

}  // namespace

template <Element T>
T Number::as() const {
  if constexpr (std::same_as<T, bool>) {
    if (kind_ != Kind::truth) refuse(*this, boolean);
    return integer_ != 0;
  } else {
    if (kind_ == Kind::truth) refuse(*this, dtype_of<T>);
    if constexpr (!std::integral<T>) {
      if (kind_ == Kind::real) return static_cast<T>(real_);
      if (kind_ == Kind::natural) {
        return static_cast<T>(static_cast<std::uint64_t>(integer_));
      }
      return static_cast<T>(integer_);
    } else {
      std::int64_t integer = integer_;
      if (kind_ == Kind::real) {
        // -2^63 <= real < 2^63: then the conversion is defined.
        if (!(real_ >= -0x1p63 && real_ < 0x1p63) ||
            std::trunc(real_) != real_) {
          refuse(*this, dtype_of<T>);
        }
        integer = static_cast<std::int64_t>(real_);
      } else if (kind_ == Kind::natural && integer_ < 0) {
        refuse(*this, dtype_of<T>);
      }
      if (integer < std::numeric_limits<T>::min() ||
          integer > std::numeric_limits<T>::max()) {
        refuse(*this, dtype_of<T>);
      }
      return static_cast<T>(integer);
    }
  }
}

template float Number::as<float>() const;
template double Number::as<double>() const;
template BFloat16 Number::as<BFloat16>() const;
template Float16 Number::as<Float16>() const;
template std::int32_t Number::as<std::int32_t>() const;
template std::int64_t Number::as<std::int64_t>() const;
template bool Number::as<bool>() const;

}  // namespace topos

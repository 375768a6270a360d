#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "topos/half.h"

namespace topos {

/// The type of a tensor's elements. One tape may mix them; conversions are
/// explicit (`cast`).
///
///   f32, f64   IEEE 754 binary32 and binary64
///   bf16, f16  of 16 bits (half.h); every operation computes in f32 or f64 and
///              rounds its result once
///   i32, i64   two's complement; arithmetic wraps
///   boolean    one byte, 0 or 1
enum class DType : std::uint8_t { f32, f64, bf16, f16, i32, i64, boolean };

inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f16 = DType::f16;
inline constexpr DType i32 = DType::i32;
inline constexpr DType i64 = DType::i64;
inline constexpr DType boolean = DType::boolean;

/// How many there are; tables over the types are checked against it.
inline constexpr std::size_t dtype_count = 7;

/// `f32`, `i64`, `boolean`.
std::string_view name(DType dtype) noexcept;

/// Bytes of one element.
std::size_t size_bytes(DType dtype) noexcept;

bool is_floating(DType dtype) noexcept;
/// bf16 or f16.
bool is_half(DType dtype) noexcept;
bool is_integer(DType dtype) noexcept;

/// The C++ types that store elements, one for each DType.
template <class T>
concept Element = std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, BFloat16> || std::same_as<T, Float16> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, bool>;

namespace detail {
template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of<Float16> {
  static constexpr DType value = DType::f16;
};
template <>
struct dtype_of<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_of<bool> {
  static constexpr DType value = DType::boolean;
};
}  // namespace detail

/// The DType that stores elements of the C++ type T.
template <Element T>
inline constexpr DType dtype_of = detail::dtype_of<T>::value;

}  // namespace topos

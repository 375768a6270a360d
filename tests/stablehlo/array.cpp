#include "stablehlo/array.h"

#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

namespace topos::stablehlo_text {
namespace {

std::size_t bytes_of(const TensorType& type) {
  return static_cast<std::size_t>(type.count()) * size_bytes(type.element);
}

}  // namespace

// `new` aligns to the greatest fundamental type, which a shared array of bytes
// made in one piece would not.
Array::Array(const TensorType& type)
    : type_(type), count_(type.count()), data_(new std::byte[bytes_of(type)]) {}

Array Array::from(const Tensor& tensor) {
  Array result(from_topos(tensor.type()));
  const Tensor packed = tensor.contiguous();
  std::memcpy(result.data(), packed.data(), bytes_of(result.type_));
  return result;
}

Tensor Array::to_tensor() const {
  std::byte* to = nullptr;
  Tensor result = Tensor::uninitialized(to_topos(type_, {}), to);
  std::memcpy(to, data(), bytes_of(type_));
  return result;
}

Array Array::viewed(const TensorType& type) const {
  Array result = *this;
  result.type_ = type;
  result.count_ = type.count();
  return result;
}

Array Array::copied() const {
  Array result(type_);
  std::memcpy(result.data(), data(), bytes_of(type_));
  return result;
}

std::int64_t Array::integer(std::int64_t at) const {
  return visit_element(type_.element, [&]<class T>() -> std::int64_t {
    if constexpr (std::same_as<T, std::uint64_t>) {
      // What no signed integer holds is beyond every axis all the same.
      constexpr auto most = std::numeric_limits<std::int64_t>::max();
      const T x = as<T>()[at];
      return x > static_cast<T>(most) ? most : static_cast<std::int64_t>(x);
    } else if constexpr (std::is_integral_v<T>) {
      return as<T>()[at];
    } else {
      throw InternalError("an index that is no integer");
    }
  });
}

}  // namespace topos::stablehlo_text

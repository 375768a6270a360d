#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "stablehlo/module_error.h"
#include "topos/shape.h"

namespace topos::stablehlo_text {

/// The element types of StableHLO that are read. In f16 and bf16 each operation
/// computes in f32 and rounds.
enum class ElementType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i1,
  i8,
  i32,
  i64,
  ui8,
  ui32,
  ui64
};

/// `f32`, `ui8`.
std::string_view name(ElementType element);
std::optional<ElementType> find_element_type(std::string_view name);

/// Bits of a value; an i1 is kept in a byte all the same.
int bit_width(ElementType element);
std::size_t size_bytes(ElementType element);
bool is_floating(ElementType element);
/// i1 is no integer here.
bool is_integer(ElementType element);
bool is_unsigned(ElementType element);

/// `tensor<2x3xf32>`.
struct TensorType {
  ElementType element = ElementType::f32;
  Shape shape;

  bool operator==(const TensorType&) const = default;

  std::string text() const;
  std::int64_t count() const { return shape.element_count(); }
  bool is_scalar() const { return shape.rank() == 0; }
  TensorType with(ElementType other) const { return {other, shape}; }
};

/// The type written as `tensor<INSIDE>`.
/// \throws ModuleError  it is none, has more than eight axes, or is too large
TensorType parse_tensor_type(std::string_view inside, Location at);

/// The topos type of the same elements.
/// \throws ModuleError  topos has none
Type to_topos(const TensorType& type, Location at);
TensorType from_topos(const Type& type);

/// Calls `f.template operator()<T>()` with the C++ type of `element`.
template <class F>
decltype(auto) visit_element(ElementType element, F&& f) {
  switch (element) {
    case ElementType::f64:
      return f.template operator()<double>();
    case ElementType::f32:
      return f.template operator()<float>();
    case ElementType::i1:
      return f.template operator()<bool>();
    case ElementType::i8:
      return f.template operator()<std::int8_t>();
    case ElementType::i32:
      return f.template operator()<std::int32_t>();
    case ElementType::i64:
      return f.template operator()<std::int64_t>();
    case ElementType::ui8:
      return f.template operator()<std::uint8_t>();
    case ElementType::ui32:
      return f.template operator()<std::uint32_t>();
    case ElementType::ui64:
      return f.template operator()<std::uint64_t>();
    case ElementType::f16:
      return f.template operator()<Float16>();
    case ElementType::bf16:
      return f.template operator()<BFloat16>();
  }
  throw InternalError("an unknown element type");
}

/// What an operation on T computes in.
template <class T>
using Computed = std::conditional_t<sizeof(T) == 2, float, T>;

}  // namespace topos::stablehlo_text

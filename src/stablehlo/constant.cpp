// Elements as text that is read back to the same bits.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "stablehlo/writer.h"
#include "tensor/layout.h"
#include "tensor/visit.h"

namespace topos::stablehlo {

std::string_view text_of(DType dtype) {
  return dtype == boolean ? "i1" : name(dtype);
}

std::string text_of(const Type& type) {
  std::string result = "tensor<";
  for (std::int64_t extent : type.shape) result += fmt::format("{}x", extent);
  return result.append(text_of(type.dtype)) + ">";
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F || c == '"' || c == '\\') {
      result += fmt::format("\\{:02X}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

namespace {

template <class T>
std::string element_text(T x) {
  if constexpr (std::same_as<T, bool>) {
    return x ? "true" : "false";
  } else if constexpr (std::integral<T>) {
    return fmt::format("{}", x);
  } else {
    using Bits = std::conditional_t<
        sizeof(T) == 2, std::uint16_t,
        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
    using Number = std::conditional_t<sizeof(T) == 2, float, T>;
    const Number number = x;
    std::string text = fmt::format("{}", number);
    // MLIR reads every decimal as f64 and rounds that to the type: twice.
    const bool survives =
        std::isfinite(number) &&
        static_cast<T>(std::strtod(text.c_str(), nullptr)) == x;
    if (!survives) {
      return fmt::format("0x{:0{}X}", std::bit_cast<Bits>(x), 2 * sizeof(T));
    }
    // Its grammar wants a point in each: 1e-05 is none, 1.0e-05 is.
    if (text.find('.') == text.npos) {
      const std::size_t end = text.find('e');
      text.insert(end == text.npos ? text.size() : end, ".0");
    }
    return text;
  }
}

/// The elements of one axis and of those within it, in brackets.
template <class T>
void append(std::string& text, const T*& at, const Shape& shape, int axis) {
  if (axis == shape.rank()) {
    text += element_text(*at++);
    return;
  }
  text += '[';
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) text += ", ";
    append(text, at, shape, axis + 1);
  }
  text += ']';
}

}  // namespace

std::string dense_text(const Tensor& elements) {
  if (elements.element_count() == 0) return "dense<>";
  const Tensor plain = elements.contiguous();
  std::string result = "dense<";
  visit_dtype(plain.dtype(), [&]<class T>() {
    const T* at = reinterpret_cast<const T*>(plain.data());
    append(result, at, plain.shape(), 0);
  });
  return result + ">";
}

// ---- Patterns -------------------------------------------------------------

bool is_uniform(const Tensor& x) {
  const std::size_t size = size_bytes(x.dtype());
  const auto count = static_cast<std::size_t>(x.element_count());
  for (std::size_t i = 1; i < count; ++i) {
    if (!std::equal(x.data(), x.data() + size, x.data() + i * size)) {
      return false;
    }
  }
  return count > 0;
}

std::optional<int> counting_axis(const Tensor& x) {
  if (x.dtype() == boolean || x.element_count() < 2) return std::nullopt;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t inner =
        x.element_count() /
        (x.shape().leading(axis).element_count() * x.shape()[axis]);
    const bool counts = visit_dtype(x.dtype(), [&]<class T>() {
      const std::span<const T> elements = x.span<T>();
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i) / inner % x.shape()[axis];
        if (elements[i] != static_cast<T>(at)) return false;
        if constexpr (!std::integral<T>) {
          if (std::signbit(elements[i])) return false;
        }
      }
      return true;
    });
    if (counts && x.shape()[axis] > 1) return axis;
  }
  return std::nullopt;
}

bool is_patterned(const Tensor& elements) {
  const Tensor plain = elements.contiguous();
  return is_uniform(plain) || counting_axis(plain);
}

}  // namespace topos::stablehlo

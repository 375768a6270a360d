#include "stablehlo/tensor_type.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace topos::stablehlo_text {
namespace {

struct Row {
  std::string_view name;
  int bits;
  std::optional<DType> topos;
};

// In the order of ElementType.
constexpr std::array rows = {
    Row{"f64", 64, DType::f64},   Row{"f32", 32, DType::f32},
    Row{"f16", 16, DType::f16},   Row{"bf16", 16, DType::bf16},
    Row{"i1", 1, DType::boolean}, Row{"i8", 8, std::nullopt},
    Row{"i32", 32, DType::i32},   Row{"i64", 64, DType::i64},
    Row{"ui8", 8, std::nullopt},  Row{"ui32", 32, std::nullopt},
    Row{"ui64", 64, std::nullopt}};

static_assert(rows.size() == static_cast<std::size_t>(ElementType::ui64) + 1);

const Row& row(ElementType element) {
  return rows[static_cast<std::size_t>(element)];
}

// Far beyond any test, and small enough that sizes in bytes cannot overflow.
constexpr std::int64_t greatest_count = std::int64_t{1} << 40;

}  // namespace

std::string_view name(ElementType element) { return row(element).name; }

std::optional<ElementType> find_element_type(std::string_view name) {
  const auto at = std::ranges::find(rows, name, &Row::name);
  if (at == rows.end()) return std::nullopt;
  return static_cast<ElementType>(at - rows.begin());
}

int bit_width(ElementType element) { return row(element).bits; }

std::size_t size_bytes(ElementType element) {
  return static_cast<std::size_t>(std::max(8, row(element).bits)) / 8;
}

bool is_floating(ElementType element) { return element <= ElementType::bf16; }

bool is_integer(ElementType element) { return element > ElementType::i1; }

bool is_unsigned(ElementType element) { return element >= ElementType::ui8; }

std::string TensorType::text() const {
  std::string result = "tensor<";
  for (const std::int64_t extent : shape) {
    result += std::to_string(extent) + "x";
  }
  return result.append(name(element)) + ">";
}

TensorType parse_tensor_type(std::string_view inside, Location at) {
  TensorType type;
  std::string_view left = inside;
  while (!left.empty() && left[0] >= '0' && left[0] <= '9') {
    std::int64_t extent = 0;
    const char* const last = left.data() + left.size();
    const auto [end, error] = std::from_chars(left.data(), last, extent);
    if (error != std::errc() || end == last || *end != 'x') break;
    if (type.shape.rank() == max_rank) {
      fail(at, "more than " + std::to_string(max_rank) + " axes");
    }
    type.shape.push_back(extent);
    left.remove_prefix(static_cast<std::size_t>(end + 1 - left.data()));
  }
  const auto element = find_element_type(left);
  if (!element) {
    fail(at, "tensor<" + std::string(inside) + "> is no type that is read");
  }
  type.element = *element;

  std::int64_t count = 1;
  for (const std::int64_t extent : type.shape) {
    // An extent of 0 hides no overflow of the others.
    const std::int64_t factor = std::max<std::int64_t>(extent, 1);
    if (factor > greatest_count / count) {
      fail(at, "tensor<" + std::string(inside) + "> is too large");
    }
    count *= factor;
  }
  return type;
}

Type to_topos(const TensorType& type, Location at) {
  const auto& dtype = row(type.element).topos;
  if (!dtype) fail(at, type.text() + " is no type of topos");
  return {*dtype, type.shape};
}

TensorType from_topos(const Type& type) {
  const auto at =
      std::ranges::find(rows, std::optional(type.dtype), &Row::topos);
  if (at == rows.end()) {
    throw ModuleError(type.text() + " is no type of the evaluator");
  }
  return {static_cast<ElementType>(at - rows.begin()), type.shape};
}

}  // namespace topos::stablehlo_text

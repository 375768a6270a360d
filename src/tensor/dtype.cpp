#include "topos/dtype.h"

#include "tensor/visit.h"

namespace topos {

std::string_view name(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::boolean:
      return "boolean";
  }
  return "unknown";
}

std::size_t size_bytes(DType dtype) noexcept {
  return visit_dtype(dtype, []<class T>() { return sizeof(T); });
}

bool is_floating(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::f64 || is_half(dtype);
}

bool is_half(DType dtype) noexcept {
  return dtype == DType::bf16 || dtype == DType::f16;
}

bool is_integer(DType dtype) noexcept {
  return dtype == DType::i32 || dtype == DType::i64;
}

}  // namespace topos

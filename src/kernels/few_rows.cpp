// Products of few rows, compiled once per instruction set.
//
// b is read once, in a few long streams. Lanes are columns, and each repeats
// the scalar loop of the reference.

#include "kernels/few_rows.h"

#include <algorithm>
#include <type_traits>

#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/few_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/simd-inl.h"
#include "kernels/streamed_rows-inl.h"
#include "kernels/turned_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::ptrdiff_t;
using std::size_t;

#if TOPOS_VECTOR_FMA

template <class T, class S>
void multiply(const T* a, MatrixStrides a_strides, const S* b,
              MatrixStrides b_strides, T* c, ptrdiff_t c_row, MatmulShape shape,
              T* scratch) {
  if (b_strides.column == 1 && shape.m <= streamed_rows) {
    multiply_rows_of_b(a, a_strides, b, b_strides.row, c, c_row, shape,
                       scratch);
  } else {
    multiply_columns_of_b(a, a_strides, b, b_strides.column, c, c_row, shape,
                          scratch);
  }
}

#endif  // TOPOS_VECTOR_FMA

// Without a fused multiply-add of vectors: the definition itself.
template <class T, class S>
void multiply_by_definition(const T* a, MatrixStrides a_strides, const S* b,
                            MatrixStrides b_strides, T* c, ptrdiff_t c_row,
                            MatmulShape shape, [[maybe_unused]] T* scratch) {
  if constexpr (std::is_same_v<T, S>) {
    ops::matmul_reference(a, a_strides, b, b_strides, c, {c_row, 1}, shape.m,
                          shape.n, shape.k);
  } else {
    // A column at a time, widened: a block of it, then the blocks' sums.
    for (size_t j = 0; j < shape.n; ++j) {
      const S* column = b + static_cast<ptrdiff_t>(j) * b_strides.column;
      for (size_t k = 0; k < shape.k; k += ops::matmul_block) {
        const size_t depth = std::min(ops::matmul_block, shape.k - k);
        for (size_t i = 0; i < depth; ++i) {
          scratch[i] = column[static_cast<ptrdiff_t>(k + i) * b_strides.row];
        }
        for (size_t row = 0; row < shape.m; ++row) {
          const auto i = static_cast<ptrdiff_t>(row);
          const T sum = ops::dot_reference(
              a + i * a_strides.row +
                  static_cast<ptrdiff_t>(k) * a_strides.column,
              a_strides.column, scratch, 1, depth);
          T& element = c[i * c_row + static_cast<ptrdiff_t>(j)];
          element = k > 0 ? element + sum : sum;
        }
      }
    }
  }
}

// Not templates: HWY_EXPORT wants plain functions.
void few_rows_f32(const float* a, MatrixStrides a_strides, const float* b,
                  MatrixStrides b_strides, float* c, ptrdiff_t c_row,
                  MatmulShape shape, void* scratch) {
#if TOPOS_VECTOR_FMA
  multiply(a, a_strides, b, b_strides, c, c_row, shape,
           static_cast<float*>(scratch));
#else
  multiply_by_definition(a, a_strides, b, b_strides, c, c_row, shape,
                         static_cast<float*>(scratch));
#endif
}

void few_rows_bf16(const float* a, MatrixStrides a_strides, const BFloat16* b,
                   MatrixStrides b_strides, float* c, ptrdiff_t c_row,
                   MatmulShape shape, void* scratch) {
#if TOPOS_VECTOR_FMA
  multiply(a, a_strides, b, b_strides, c, c_row, shape,
           static_cast<float*>(scratch));
#else
  multiply_by_definition(a, a_strides, b, b_strides, c, c_row, shape,
                         static_cast<float*>(scratch));
#endif
}

void few_rows_f16(const float* a, MatrixStrides a_strides, const Float16* b,
                  MatrixStrides b_strides, float* c, ptrdiff_t c_row,
                  MatmulShape shape, void* scratch) {
#if TOPOS_VECTOR_FMA
  multiply(a, a_strides, b, b_strides, c, c_row, shape,
           static_cast<float*>(scratch));
#else
  multiply_by_definition(a, a_strides, b, b_strides, c, c_row, shape,
                         static_cast<float*>(scratch));
#endif
}

void few_rows_f64(const double* a, MatrixStrides a_strides, const double* b,
                  MatrixStrides b_strides, double* c, ptrdiff_t c_row,
                  MatmulShape shape, void* scratch) {
#if HWY_NATIVE_FMA
  multiply(a, a_strides, b, b_strides, c, c_row, shape,
           static_cast<double*>(scratch));
#else
  multiply_by_definition(a, a_strides, b, b_strides, c, c_row, shape,
                         static_cast<double*>(scratch));
#endif
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(few_rows_f32);
HWY_EXPORT(few_rows_bf16);
HWY_EXPORT(few_rows_f16);
HWY_EXPORT(few_rows_f64);

namespace {

// No terms: +0 everywhere.
template <class T>
void clear(T* c, std::ptrdiff_t c_row, MatmulShape shape) {
  for (std::size_t row = 0; row < shape.m; ++row) {
    T* to = c + static_cast<std::ptrdiff_t>(row) * c_row;
    std::fill(to, to + shape.n, T{0});
  }
}

}  // namespace

void multiply_few_rows(const float* a, MatrixStrides a_strides, const float* b,
                       MatrixStrides b_strides, float* c, std::ptrdiff_t c_row,
                       MatmulShape shape, void* scratch) {
  if (shape.k == 0) return clear(c, c_row, shape);
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(few_rows_f32)
  (a, a_strides, b, b_strides, c, c_row, shape, scratch);
}

void multiply_few_rows(const float* a, MatrixStrides a_strides,
                       const BFloat16* b, MatrixStrides b_strides, float* c,
                       std::ptrdiff_t c_row, MatmulShape shape, void* scratch) {
  if (shape.k == 0) return clear(c, c_row, shape);
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(few_rows_bf16)
  (a, a_strides, b, b_strides, c, c_row, shape, scratch);
}

void multiply_few_rows(const float* a, MatrixStrides a_strides,
                       const Float16* b, MatrixStrides b_strides, float* c,
                       std::ptrdiff_t c_row, MatmulShape shape, void* scratch) {
  if (shape.k == 0) return clear(c, c_row, shape);
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(few_rows_f16)
  (a, a_strides, b, b_strides, c, c_row, shape, scratch);
}

void multiply_few_rows(const double* a, MatrixStrides a_strides,
                       const double* b, MatrixStrides b_strides, double* c,
                       std::ptrdiff_t c_row, MatmulShape shape, void* scratch) {
  if (shape.k == 0) return clear(c, c_row, shape);
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(few_rows_f64)
  (a, a_strides, b, b_strides, c, c_row, shape, scratch);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

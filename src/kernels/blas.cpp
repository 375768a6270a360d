#include "kernels/blas.h"

#include <algorithm>
#include <string>

#include "kernels/targets.h"
#include "topos/error.h"

#ifdef TOPOS_CBLAS
#include <cblas.h>
#endif

namespace topos::kernels {

bool blas_pays() {
#ifdef TOPOS_CBLAS
  const std::string target = current_target();
  return !target.starts_with("AVX") && target != "NEON";
#else
  return false;
#endif
}

bool blas_takes(MatrixStrides strides, std::size_t rows, std::size_t columns) {
  constexpr std::size_t most = std::size_t{1}
                               << 30;  // its integers have 32 bits
  if (rows > most || columns > most) return false;
  const auto fits = [](std::ptrdiff_t one, std::ptrdiff_t apart,
                       std::size_t extent) {
    return one == 1 && apart >= static_cast<std::ptrdiff_t>(extent) &&
           apart <= static_cast<std::ptrdiff_t>(most);
  };
  return fits(strides.column, strides.row, columns) ||
         fits(strides.row, strides.column, rows);
}

#ifdef TOPOS_CBLAS

namespace {

/// A matrix as CBLAS has it.
struct Described {
  CBLAS_TRANSPOSE order;
  blasint leading;
};

Described described(MatrixStrides strides) {
  if (strides.column == 1 && strides.row > 1) {
    return {CblasNoTrans, static_cast<blasint>(strides.row)};
  }
  return {strides.row == 1 && strides.column > 1 ? CblasTrans : CblasNoTrans,
          static_cast<blasint>(std::max(strides.row, strides.column))};
}

}  // namespace

template <std::floating_point T>
void blas_multiply(const T* a, MatrixStrides a_strides, const T* b,
                   MatrixStrides b_strides, T* c, std::ptrdiff_t c_row,
                   MatmulShape shape) {
  static const bool one_thread = (openblas_set_num_threads(1), true);
  static_cast<void>(one_thread);
  const Described left = described(a_strides);
  const Described right = described(b_strides);
  const auto m = static_cast<blasint>(shape.m);
  const auto n = static_cast<blasint>(shape.n);
  const auto k = static_cast<blasint>(shape.k);
  if constexpr (std::same_as<T, float>) {
    cblas_sgemm(CblasRowMajor, left.order, right.order, m, n, k, 1, a,
                left.leading, b, right.leading, 0, c,
                static_cast<blasint>(c_row));
  } else {
    cblas_dgemm(CblasRowMajor, left.order, right.order, m, n, k, 1, a,
                left.leading, b, right.leading, 0, c,
                static_cast<blasint>(c_row));
  }
}

#else

template <std::floating_point T>
void blas_multiply(const T*, MatrixStrides, const T*, MatrixStrides, T*,
                   std::ptrdiff_t, MatmulShape) {
  throw InternalError("topos was built without a CBLAS");
}

#endif

template void blas_multiply(const float*, MatrixStrides, const float*,
                            MatrixStrides, float*, std::ptrdiff_t, MatmulShape);
template void blas_multiply(const double*, MatrixStrides, const double*,
                            MatrixStrides, double*, std::ptrdiff_t,
                            MatmulShape);

}  // namespace topos::kernels

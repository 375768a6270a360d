// Formulas over rows, with exactly the bits of their definitions in ops/, on
// every target. x has `columns` elements a row, without gaps; y as many, or
// one. Where y has as many it may be x.
//
// The templates exist for the types that their concepts name: f32 and f64, or
// these, i32 and i64.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace topos::kernels {

/// The sum in 16 lanes of double precision, rounded once.
template <std::floating_point T>
void sum_of_rows(const T* x, T* y, std::size_t rows, std::size_t columns);

/// The same sum divided by `columns`, rounded once.
template <std::floating_point T>
void mean_of_rows(const T* x, T* y, std::size_t rows, std::size_t columns);

/// x minus the mean that was not rounded, rounded once.
template <std::floating_point T>
void center_rows(const T* x, T* y, std::size_t rows, std::size_t columns);

template <std::floating_point T>
void softmax_rows(const T* x, T* y, std::size_t rows, std::size_t columns);
template <std::floating_point T>
void log_softmax_rows(const T* x, T* y, std::size_t rows, std::size_t columns);
template <std::floating_point T>
void logsumexp_of_rows(const T* x, T* y, std::size_t rows, std::size_t columns);

/// maximum or minimum of IEEE 754-2019 over a row, which is not empty.
template <class T>
void max_of_rows(const T* x, T* y, std::size_t rows, std::size_t columns);
template <class T>
void min_of_rows(const T* x, T* y, std::size_t rows, std::size_t columns);

/// The position of the first NaN of a row, else of the first of its greatest
/// elements. The row is not empty.
template <class T>
void argmax_of_rows(const T* x, std::int32_t* y, std::size_t rows,
                    std::size_t columns);

}  // namespace topos::kernels

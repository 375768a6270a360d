// Elementary functions of f32, with the bits of src/math: correctly rounded.
//
// The method is free where the result is not. Here: 8 doubles at a time (or as
// many as a vector has) get within 2^-42 of the value by a short polynomial,
// and the lanes that this leaves between two floats, one of 100,000, are
// handed to the scalar function (elementary-inl.h). Where tables of 32 floats
// are cheap, sums of two floats come first for some functions, and doubles for
// the vectors that they leave open.

#pragma once

#include <cstddef>

namespace topos::kernels {

/// y[i] = f(x[i]) for i < n; y may be x. A NaN gives some NaN.
void exp(const float* x, float* y, std::size_t n);
void expm1(const float* x, float* y, std::size_t n);
void ln(const float* x, float* y, std::size_t n);
void log1p(const float* x, float* y, std::size_t n);
void tanh(const float* x, float* y, std::size_t n);
void logistic(const float* x, float* y, std::size_t n);
void erf(const float* x, float* y, std::size_t n);
void rsqrt(const float* x, float* y, std::size_t n);
void sin(const float* x, float* y, std::size_t n);
void cos(const float* x, float* y, std::size_t n);

}  // namespace topos::kernels

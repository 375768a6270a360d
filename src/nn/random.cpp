#include <topos/error.h>
#include <topos/functions.h>
#include <topos/random.h>

#include <cmath>
#include <string>
#include <string_view>

namespace topos {

namespace {

void expect_floating(std::string_view initializer, DType dtype) {
  if (!is_floating(dtype)) {
    throw DTypeError(std::string(initializer) + ": " +
                     std::string(name(dtype)) + " is not a floating type");
  }
}

/// Storage for f64 samples, to be filled in row-major order.
struct Samples {
  explicit Samples(const Shape& shape)
      : tensor(Tensor::uninitialized({f64, shape}, bytes)),
        elements(reinterpret_cast<double*>(bytes)) {}

  std::byte* bytes = nullptr;
  Tensor tensor;
  double* elements;
};

/// The weight of a layer from its fan-in and fan-out; a bias is zeros.
template <class Weight>
Tensor layer_initializer(std::string_view initializer, const Shape& shape,
                         DType dtype, Weight&& weight) {
  expect_floating(initializer, dtype);
  if (shape.rank() == 1) return Tensor::zeros({dtype, shape});
  if (shape.rank() != 2) {
    throw ShapeError(std::string(initializer) + ": " + shape.text() +
                     " is neither a weight [in, out] nor a bias [out]");
  }
  return weight(static_cast<double>(shape[0]), static_cast<double>(shape[1]));
}

}  // namespace

Tensor uniform(const Shape& shape, double scale, SplitMix& random,
               DType dtype) {
  expect_floating("uniform", dtype);
  const Samples u(shape);
  for (std::int64_t i = 0; i < u.tensor.element_count(); ++i) {
    u.elements[i] = random.unit();
  }
  return cast((2.0 * u.tensor - 1.0) * scale, dtype);
}

Tensor uniform(const Shape& shape, double scale, std::uint64_t seed,
               DType dtype) {
  SplitMix random(seed);
  return uniform(shape, scale, random, dtype);
}

Tensor normal(const Shape& shape, double deviation, SplitMix& random,
              DType dtype) {
  constexpr double two_pi = 6.283185307179586;
  expect_floating("normal", dtype);
  const Samples u1(shape);
  const Samples u2(shape);
  for (std::int64_t i = 0; i < u1.tensor.element_count(); ++i) {
    u1.elements[i] = random.unit();
    u2.elements[i] = random.unit();
  }
  const Tensor radius = sqrt(-2.0 * ln(1.0 - u1.tensor));
  return cast((radius * cos(two_pi * u2.tensor)) * deviation, dtype);
}

Tensor normal(const Shape& shape, double deviation, std::uint64_t seed,
              DType dtype) {
  SplitMix random(seed);
  return normal(shape, deviation, random, dtype);
}

Tensor xavier(const Shape& shape, SplitMix& random, DType dtype) {
  return layer_initializer("xavier", shape, dtype, [&](double in, double out) {
    return uniform(shape, std::sqrt(6.0 / (in + out)), random, dtype);
  });
}

Tensor kaiming(const Shape& shape, SplitMix& random, DType dtype) {
  return layer_initializer("kaiming", shape, dtype, [&](double in, double) {
    return normal(shape, std::sqrt(2.0 / in), random, dtype);
  });
}

}  // namespace topos

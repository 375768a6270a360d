#include <algorithm>

#include "engine/generator.h"

namespace topos::test {

DType Generator::dtype() {
  static constexpr DType some[] = {f32, f32, f32, f32,  f32, f64,
                                   f64, i32, i64, bf16, f16, boolean};
  return some[below(12)];
}

DType Generator::real() {
  static constexpr DType some[] = {f32, f32, f32,  f32, f32,
                                   f64, f64, bf16, f16};
  return some[below(9)];
}

std::int64_t Generator::extent() {
  static constexpr std::int64_t some[] = {0, 1, 1, 1, 1, 2, 2, 2, 3,  3,  3,
                                          4, 4, 5, 5, 6, 7, 8, 9, 16, 17, 33};
  if (!chance(0.3)) return some[5 + below(11)];
  return some[below(22)];
}

Shape Generator::shape() {
  static constexpr int ranks[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, 4};
  Shape result;
  for (int rank = ranks[below(10)]; rank > 0; --rank) {
    result.push_back(extent());
  }
  if (options_.greatest > 2000 && result.rank() > 0 && chance(0.6)) {
    static constexpr std::int64_t large[] = {65,   257,  512,  1025, 2047,
                                             2048, 2049, 4096, 4097, 9000};
    result[below(result.rank())] = large[below(10)];
  }
  while (result.element_count() > options_.greatest) {
    std::int64_t& most = *std::max_element(result.begin(), result.end());
    most = (most + 1) / 2;
  }
  return result;
}

Type Generator::type() { return {dtype(), shape()}; }

Value Generator::push(Value value) {
  const Type type = value.type();
  if (type.shape.element_count() <= options_.greatest) {
    pool_.push_back({value, type});
  }
  return value;
}

std::string Generator::fresh_name(const char* kind) {
  return kind + std::to_string(names_++);
}

Value Generator::leaf(const Type& type) {
  switch (below(8)) {
    case 0:
    case 1:
    case 2: {
      const Value value = tape_.parameter(
          fresh_name("parameter"),
          restrided(random_elements(type, random_, wild_), random_));
      leaves_.push_back({value, type});
      return push(value);
    }
    case 3:
      if (type.dtype != boolean && type.shape.rank() > 0) {
        return push(iota(tape_, type, below(type.shape.rank())));
      }
      [[fallthrough]];
    case 4:
      return push(tape_.constant(
          restrided(random_elements(type, random_, wild_), random_)));
    default: {
      const Value value =
          tape_.input(fresh_name("input"), type.dtype, type.shape);
      leaves_.push_back({value, type});
      inputs_.push_back({value, type, 0});
      return push(value);
    }
  }
}

Value Generator::as(Value x, const Type& from, DType to) {
  return from.dtype == to ? x : push(cast(x, to));
}

Value Generator::value_of(const Type& type) {
  const std::int64_t count = type.shape.element_count();
  if (chance(0.7)) {
    if (const auto same = pick([&](const Type& t) { return t == type; })) {
      return same->value;
    }
  }
  if (chance(0.6)) {
    if (const auto same = pick(
            [&](const Type& t) { return t.shape.element_count() == count; })) {
      const Value x = as(same->value, same->type, type.dtype);
      return same->type.shape == type.shape ? x : push(reshape(x, type.shape));
    }
  }
  if (chance(0.6)) {
    if (const auto small = pick(
            [&](const Type& t) { return stretches(t.shape, type.shape); })) {
      return push(
          broadcast(as(small->value, small->type, type.dtype), type.shape));
    }
  }
  return leaf(type);
}

bool Generator::stretches(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i) {
    if (from[-i] != 1 && from[-i] != to[-i]) return false;
  }
  return true;
}

Generator::Known Generator::floating(int least_rank) {
  return some(
      [&](const Type& t) {
        return is_floating(t.dtype) && t.shape.rank() >= least_rank;
      },
      [&] {
        Shape s = shape();
        while (s.rank() < least_rank) s.push_back(2);
        return Type{real(), s};
      });
}

Generator::Known Generator::arithmetic() {
  return some([](const Type& t) { return t.dtype != boolean; },
              [&] {
                return Type{f32, shape()};
              });
}

Generator::Known Generator::any(int least_rank) {
  return some([&](const Type& t) { return t.shape.rank() >= least_rank; },
              [&] {
                Shape s = shape();
                while (s.rank() < least_rank) s.push_back(2);
                return Type{dtype(), s};
              });
}

Operand Generator::number(DType dtype) {
  if (dtype == boolean) return below(2) == 1;
  if (!is_floating(dtype)) {
    static constexpr int some[] = {0, 1, -1, 2, 3, -7};
    return some[below(6)];
  }
  static constexpr double some[] = {0.0, -0.0, 1.0,  -1.0, 2.0, 0.5,
                                    4.0, -2.0, 0.25, 3.0,  0.1, 1e-3};
  return some[below(12)];
}

Operand Generator::partner(const Known& x, DType dtype, bool stretching) {
  if (chance(0.25)) return number(dtype);
  if (dtype == x.type.dtype && chance(0.08)) return x.value;
  if (const auto found = pick([&](const Type& t) {
        return t.dtype == dtype &&
               (stretches(t.shape, x.type.shape) ||
                (stretching && stretches(x.type.shape, t.shape)));
      });
      found && chance(0.8)) {
    return found->value;
  }
  Type type{dtype, x.type.shape};
  for (std::int64_t& extent : type.shape) {
    if (chance(0.25)) extent = 1;
  }
  return value_of(type);
}

Axes Generator::some_axes(const Shape& shape, bool not_empty) {
  Axes axes;
  if (chance(0.45) && shape.rank() > 0) {
    axes.push_back(static_cast<std::int8_t>(shape.rank() - 1));
  } else {
    for (int i = 0; i < shape.rank(); ++i) {
      if (chance(0.5)) axes.push_back(static_cast<std::int8_t>(i));
    }
  }
  if (not_empty) {
    Axes result;
    for (auto axis : axes) {
      if (shape[axis] > 0) result.push_back(axis);
    }
    return result;
  }
  return axes;
}

bool Generator::have_elements(const Shape& shape, const Axes& axes) {
  for (int i = 0; i < shape.rank(); ++i) {
    const bool named =
        axes.empty() || axes.contains(static_cast<std::int8_t>(i));
    if (named && shape[i] == 0) return false;
  }
  return true;
}

}  // namespace topos::test

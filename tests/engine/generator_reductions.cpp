#include "engine/generator.h"

namespace topos::test {

void Generator::product() {
  static constexpr std::int64_t depths[] = {0,  1,  2,  3,   5,   8,   9,
                                            16, 17, 33, 511, 512, 513, 600};
  Known left = floating(2);
  if (chance(0.3)) {
    std::int64_t k = depths[below(14)];
    if (options_.greatest < 600 && k > options_.greatest) k = 600;
    const Type type{real(), {1 + below(4), k}};
    const Value value = leaf(type);
    left = {value, type};
  }
  const Shape& shape = left.type.shape;
  const std::int64_t k = shape[-1];
  const bool flipped = chance(0.3);
  Shape right = chance(0.5) ? Shape{} : shape.leading(-2);
  const std::int64_t n = chance(0.1) ? 1 + below(40) : below(6);
  right.push_back(flipped ? n : k);
  right.push_back(flipped ? k : n);
  if (right.element_count() > 40000) return;
  const Value a = left.value;
  Value b;
  // A transpose of something that is there, for products of gradients.
  if (const auto found = pick([&](const Type& t) {
        return t.dtype == left.type.dtype && t.shape.rank() == 2 &&
               t.shape[0] == k;
      });
      found && chance(0.5)) {
    b = found->value;
  } else {
    b = value_of({left.type.dtype, right});
    if (flipped) b = push(transpose(b));
  }
  record([=] { return matmul(a, b); });
}

void Generator::reduce() {
  const bool keep = chance(0.4);
  switch (below(6)) {
    case 0:
    case 1: {
      const Known x = arithmetic();
      const Axes axes = some_axes(x.type.shape, false);
      return record([=] { return sum(x.value, axes, keep); });
    }
    case 2: {
      const Known x = floating();
      const Axes axes = some_axes(x.type.shape, false);
      return record([=] { return mean(x.value, axes, keep); });
    }
    case 3:
    case 4: {
      const Known x = arithmetic();
      const Axes axes = some_axes(x.type.shape, true);
      if (!have_elements(x.type.shape, axes)) return;
      if (chance(0.5)) {
        return record([=] { return reduce_max(x.value, axes, keep); });
      }
      return record([=] { return reduce_min(x.value, axes, keep); });
    }
    default: {
      const Known x = arithmetic();
      if (x.type.shape.rank() == 0) return;
      const int axis = below(x.type.shape.rank());
      if (x.type.shape[axis] == 0) return;
      return record([=] { return argmax(x.value, axis, keep); });
    }
  }
}

void Generator::rows() {
  const Known x = floating(1);
  const int rank = x.type.shape.rank();
  const int axis = chance(0.7) ? rank - 1 : below(rank);
  switch (below(4)) {
    case 0:
      return record([=] { return softmax(x.value, axis); });
    case 1:
      return record([=] { return log_softmax(x.value, axis); });
    case 2: {
      const bool keep = chance(0.5);
      return record([=] { return logsumexp(x.value, axis, keep); });
    }
    default: {
      const Axes axes = some_axes(x.type.shape, false);
      return record([=] { return center(x.value, axes); });
    }
  }
}

}  // namespace topos::test

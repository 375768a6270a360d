#include <algorithm>

#include "engine/generator.h"

namespace topos::test {

void Generator::view() {
  const Known x = any(chance(0.8) ? 1 : 0);
  const Shape& shape = x.type.shape;
  const int rank = shape.rank();
  const Value v = x.value;
  switch (below(9)) {
    case 0: {  // new leading axes and stretched ones
      Shape to;
      if (rank < 4 && chance(0.6)) to.push_back(1 + below(3));
      for (std::int64_t extent : shape) {
        to.push_back(extent == 1 && chance(0.7) ? 1 + below(4) : extent);
      }
      return record([=] { return broadcast(v, to); });
    }
    case 1: {  // an axis anywhere
      if (rank >= 4) return;
      const int at = below(rank + 1);
      Shape to;
      Axes axes;
      for (int i = 0; i <= rank; ++i) {
        if (i == at) to.push_back(1 + below(3));
        if (i < rank) {
          axes.push_back(static_cast<std::int8_t>(i < at ? i : i + 1));
          to.push_back(shape[i]);
        }
      }
      return record([=] { return broadcast(v, to, axes); });
    }
    case 2: {
      const Shape to = reshaped(shape);
      return record([=] { return reshape(v, to); });
    }
    case 3: {
      Axes axes;
      for (int i = 0; i < rank; ++i) {
        axes.push_back(static_cast<std::int8_t>(i));
      }
      for (int i = rank - 1; i > 0; --i) {
        std::swap(axes[i], axes[below(i + 1)]);
      }
      return record([=] { return permute(v, axes); });
    }
    case 4:
      if (rank < 2) return;
      return record([=] { return transpose(v); });
    case 5: {
      if (rank == 0) return;
      const int axis = below(rank);
      const std::int64_t start = random_.below(shape[axis] + 1);
      const std::int64_t count = random_.below(shape[axis] - start + 1);
      return record([=] { return narrow(v, axis, start, count); });
    }
    case 6: {
      const Axes axes = some_axes(shape, false);
      return record([=] { return reverse(v, axes); });
    }
    case 7:
      return record([=] { return stop_gradient(v); });
    default: {
      Shape low;
      Shape high;
      for (int i = 0; i < rank; ++i) {
        low.push_back(below(3));
        high.push_back(below(3));
      }
      const Number value = x.type.dtype == boolean ? Number(0)
                           : is_floating(x.type.dtype) && chance(0.5)
                               ? Number(-0.0)
                               : Number(below(3));
      return record([=] { return pad(v, low, high, value); });
    }
  }
}

Shape Generator::reshaped(const Shape& from) {
  std::int64_t left = from.element_count();
  Shape to;
  if (left == 0) {
    to = from;
    to.push_back(1 + below(3));
    return to.rank() > 4 ? Shape{0, 2} : to;
  }
  for (int i = 0; i < 3 && left > 1; ++i) {
    for (std::int64_t factor : {2, 3, 4, 5, 7}) {
      if (left % factor == 0 && chance(0.4)) {
        to.push_back(factor);
        left /= factor;
        break;
      }
    }
    if (chance(0.2)) to.push_back(1);
  }
  if (left > 1 || chance(0.3)) to.push_back(left);
  return to.rank() > 5 ? Shape{from.element_count()} : to;
}

void Generator::join() {
  const Known x = any(1);
  const int axis = below(x.type.shape.rank());
  std::vector<Value> parts{x.value};
  for (int i = below(3); i > 0; --i) {
    const auto found = pick([&](const Type& t) {
      return t.dtype == x.type.dtype && t.shape.rank() == x.type.shape.rank() &&
             t.shape.with(axis, 0) == x.type.shape.with(axis, 0);
    });
    Type type = x.type;
    type.shape[axis] = below(4);
    parts.push_back(found && chance(0.8) ? found->value : value_of(type));
  }
  record([=] { return concat(parts, axis); });
}

}  // namespace topos::test

#include "engine/generator.h"

namespace topos::test {

Value Generator::index(const Shape& shape, std::int64_t n) {
  const DType dtype = chance(0.6) ? i32 : i64;
  if (shape.element_count() == 0) return value_of({dtype, shape});
  if (chance(0.4)) {
    const Value fed = tape_.input(fresh_name("index"), dtype, shape);
    inputs_.push_back({fed, {dtype, shape}, n});
    push(fed);
    return fed;
  }
  if (chance(0.3)) {
    return push(
        tape_.constant(random_elements({dtype, shape}, random_, false, n)));
  }
  // Computed, in range by construction: maximum of NaN is NaN, whose cast
  // is 0.
  const Known x = some(
      [&](const Type& t) { return t.dtype != boolean && t.shape == shape; },
      [&] {
        return Type{dtype, shape};
      });
  const Value low = maximum(x.value, 0);
  const Value in_range = push(minimum(low, n - 1));
  return x.type.dtype == dtype ? in_range : push(cast(in_range, dtype));
}

std::optional<std::pair<Value, IndexOptions>> Generator::index_into(
    const Type& x) {
  const int rank = x.shape.rank();
  IndexOptions at;
  at.axis = below(rank);
  at.batch = chance(0.4) ? below(at.axis + 1) : 0;
  const std::int64_t n = x.shape[at.axis];
  Shape shape;
  for (int i = 0; i < at.batch; ++i) shape.push_back(x.shape[i]);
  for (int i = below(3); i > 0 && shape.rank() < 4; --i) {
    shape.push_back(n == 0 ? 0 : 1 + below(5));
  }
  if (n == 0 && shape.element_count() > 0) return std::nullopt;
  if (rank - 1 + shape.rank() - at.batch > 6) return std::nullopt;
  return std::pair{index(shape, n), at};
}

void Generator::gathered() {
  const Known x = any(1);
  const auto at = index_into(x.type);
  if (!at) return;
  const auto [value, options] = *at;
  record([=, i = value, o = options] { return gather(x.value, i, o); });
}

void Generator::scattered() {
  const Known x = some(
      [](const Type& t) { return t.dtype != boolean && t.shape.rank() > 0; },
      [&] {
        return Type{real(), {1 + below(5), 1 + below(4)}};
      });
  const auto at = index_into(x.type);
  if (!at) return;
  const auto [i, options] = *at;
  const Type slices{x.type.dtype, gather(x.value, i, options).type().shape};
  if (slices.shape.element_count() > 4 * options_.greatest) return;
  const Value updates = value_of(slices);
  record(
      [=, i = i, o = options] { return scatter_add(x.value, i, updates, o); });
}

}  // namespace topos::test

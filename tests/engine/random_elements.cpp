#include "engine/random_elements.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "tensor/visit.h"

namespace topos::test {

namespace {

template <class T>
T element(Random& random, int style, bool wild) {
  if constexpr (std::is_same_v<T, bool>) {
    return random.below(2) == 1;
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    static constexpr T special[] = {Limits::min(), Limits::max(),
                                    Limits::min() + 1, 0, -1};
    if (wild && random.below(6) == 0) return special[random.below(5)];
    return static_cast<T>(random.below(17) - 6);
  } else {
    using Limits = std::numeric_limits<T>;
    static constexpr T special[] = {
        Limits::quiet_NaN(),
        Limits::infinity(),
        static_cast<T>(-Limits::infinity()),
        Limits::denorm_min(),
        static_cast<T>(-Limits::denorm_min()),
        Limits::min(),
        Limits::max(),
        Limits::lowest(),
        T(-0.0),
        T(0.0),
        static_cast<T>(Limits::min() - Limits::denorm_min()),
        static_cast<T>(1 + Limits::epsilon())};
    switch (style) {
      case 0:
        return static_cast<T>(random.between(-2, 2));
      case 1:  // ties and zeros of both signs
        return static_cast<T>(static_cast<float>(random.below(5) - 2) *
                              (random.below(2) == 0 ? -1.0f : 1.0f));
      case 2:
        if (wild && random.below(4) == 0) return special[random.below(12)];
        return static_cast<T>(random.between(-1, 3));
      default: {
        const int range = wild ? Limits::max_exponent : 8;
        return static_cast<T>(
            std::ldexp(random.between(-1, 1),
                       static_cast<int>(random.below(2 * range + 1)) - range));
      }
    }
  }
}

}  // namespace

Tensor restrided(const Tensor& x, Random& random) {
  const int rank = x.rank();
  if (rank == 0) return x;
  if (random.below(2) == 0) {
    Axes some;
    for (int i = 0; i < rank; ++i) {
      if (random.below(2) == 0) some.push_back(static_cast<std::int8_t>(i));
    }
    if (some.empty()) return x;
    return x.reversed(some).contiguous().reversed(some);
  }
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  for (int i = rank - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(random.below(i + 1))]);
  }
  Axes forth;
  Axes back;
  for (int axis : order) forth.push_back(static_cast<std::int8_t>(axis));
  for (int i = 0; i < rank; ++i) {
    const auto at = std::find(order.begin(), order.end(), i) - order.begin();
    back.push_back(static_cast<std::int8_t>(at));
  }
  return x.permuted(forth).contiguous().permuted(back);
}

Tensor random_elements(const Type& type, Random& random, bool wild,
                       std::int64_t bound) {
  const int style = static_cast<int>(random.below(4));
  std::byte* data = nullptr;
  Tensor result = Tensor::uninitialized(type, data);
  visit_dtype(type.dtype, [&]<class T>() {
    T* out = reinterpret_cast<T*>(data);
    for (std::int64_t i = 0; i < type.shape.element_count(); ++i) {
      out[i] = bound > 0 ? static_cast<T>(random.below(bound))
                         : element<T>(random, style, wild);
    }
  });
  return result;
}

}  // namespace topos::test

#include "engine/random_network.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "engine/lowered_plan.h"
#include "engine/random_elements.h"
#include "tensor/visit.h"

namespace topos::test {

namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomNetworkOptions& options)
      : random_(seed * 2 + 1), seed_(seed), options_(options) {
    wild_ = chance(0.4);
  }

  RandomNetwork run() {
    for (int i = 0; i < 3; ++i) leaf(type());
    for (int i = 0; i < options_.calls; ++i) call();
    return finish();
  }

 private:
  struct Known {
    Value value;
    Type type;
  };

  bool chance(double p) { return random_.unit() < p; }
  int below(std::int64_t n) { return static_cast<int>(random_.below(n)); }

  // ---- Types ----

  DType dtype() {
    static constexpr DType some[] = {f32, f32, f32, f32, f32,
                                     f64, f64, i32, i64, boolean};
    return some[below(10)];
  }
  DType real() { return chance(0.7) ? f32 : f64; }

  std::int64_t extent() {
    static constexpr std::int64_t some[] = {0, 1, 1, 1, 1, 2, 2, 2, 3,  3,  3,
                                            4, 4, 5, 5, 6, 7, 8, 9, 16, 17, 33};
    if (!chance(0.3)) return some[5 + below(11)];
    return some[below(22)];
  }

  Shape shape() {
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

  Type type() { return {dtype(), shape()}; }

  // ---- Values ----

  Value push(Value value) {
    const Type type = value.type();
    if (type.shape.element_count() <= options_.greatest) {
      pool_.push_back({value, type});
    }
    return value;
  }

  template <class F>
  std::optional<Known> pick(F&& fits) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (fits(pool_[i].type)) found.push_back(i);
    }
    if (found.empty()) return std::nullopt;
    // Often a late one, so that chains grow; often any, so that they share.
    const auto n = static_cast<std::int64_t>(found.size());
    const std::int64_t last = chance(0.5) ? std::min<std::int64_t>(n, 4) : n;
    return pool_[found[static_cast<std::size_t>(n - 1 - below(last))]];
  }

  std::string fresh_name(const char* kind) {
    return kind + std::to_string(names_++);
  }

  Value leaf(const Type& type) {
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

  Value as(Value x, const Type& from, DType to) {
    return from.dtype == to ? x : push(cast(x, to));
  }

  /// A value of exactly this type, from what is there or new.
  Value value_of(const Type& type) {
    const std::int64_t count = type.shape.element_count();
    if (chance(0.7)) {
      if (const auto same = pick([&](const Type& t) { return t == type; })) {
        return same->value;
      }
    }
    if (chance(0.6)) {
      if (const auto same = pick([&](const Type& t) {
            return t.shape.element_count() == count;
          })) {
        const Value x = as(same->value, same->type, type.dtype);
        return same->type.shape == type.shape ? x
                                              : push(reshape(x, type.shape));
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

  static bool stretches(const Shape& from, const Shape& to) {
    if (from.rank() > to.rank()) return false;
    for (int i = 1; i <= from.rank(); ++i) {
      if (from[-i] != 1 && from[-i] != to[-i]) return false;
    }
    return true;
  }

  template <class F>
  Known some(F&& fits, const std::function<Type()>& otherwise) {
    if (const auto found = pick(fits)) return *found;
    const Type type = otherwise();
    return {value_of(type), type};
  }

  Known floating(int least_rank = 0) {
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
  Known arithmetic() {
    return some([](const Type& t) { return t.dtype != boolean; },
                [&] {
                  return Type{f32, shape()};
                });
  }
  Known any(int least_rank = 0) {
    return some([&](const Type& t) { return t.shape.rank() >= least_rank; },
                [&] {
                  Shape s = shape();
                  while (s.rank() < least_rank) s.push_back(2);
                  return Type{dtype(), s};
                });
  }

  Operand number(DType dtype) {
    if (dtype == boolean) return below(2) == 1;
    if (!is_floating(dtype)) {
      static constexpr int some[] = {0, 1, -1, 2, 3, -7};
      return some[below(6)];
    }
    static constexpr double some[] = {0.0, -0.0, 1.0,  -1.0, 2.0, 0.5,
                                      4.0, -2.0, 0.25, 3.0,  0.1, 1e-3};
    return some[below(12)];
  }

  /// What stands beside `x` in an elementwise operation.
  Operand partner(const Known& x) {
    if (chance(0.25)) return number(x.type.dtype);
    if (chance(0.08)) return x.value;
    if (const auto found = pick([&](const Type& t) {
          return t.dtype == x.type.dtype && (stretches(t.shape, x.type.shape) ||
                                             stretches(x.type.shape, t.shape));
        });
        found && chance(0.8)) {
      return found->value;
    }
    Type type = x.type;
    for (std::int64_t& extent : type.shape) {
      if (chance(0.25)) extent = 1;
    }
    return value_of(type);
  }

  Axes some_axes(const Shape& shape, bool not_empty) {
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

  /// Whether the axes that a reduction names (all, if none) are not empty.
  static bool have_elements(const Shape& shape, const Axes& axes) {
    for (int i = 0; i < shape.rank(); ++i) {
      const bool named =
          axes.empty() || axes.contains(static_cast<std::int8_t>(i));
      if (named && shape[i] == 0) return false;
    }
    return true;
  }

  // ---- Calls ----

  /// Records one call, now and then twice: a common subexpression.
  void record(const std::function<Value()>& f) {
    push(f());
    if (chance(0.06)) push(f());
  }

  void call() {
    switch (below(26)) {
      case 0:
      case 1:
      case 2:
        return unary();
      case 3:
      case 4:
      case 5:
        return binary();
      case 6:
        return compare();
      case 7:
        return logic();
      case 8:
        return choose();
      case 9:
        return convert();
      case 10:
      case 11:
        return product();
      case 12:
      case 13:
        return reduce();
      case 14:
      case 15:
        return rows();
      case 16:
      case 17:
      case 18:
        return view();
      case 19:
        return join();
      case 20:
        return gathered();
      case 21:
        return scattered();
      case 22:
        return composite();
      case 23:
        return derivative();
      case 24:
        return chance(0.8) ? negations() : halves();
      default:
        leaf(type());
    }
  }

  void unary() {
    const Known x = floating();
    const Value v = x.value;
    switch (below(18)) {
      case 0:
        return record([=] { return exp(v); });
      case 1:
        return record([=] { return ln(v); });
      case 2:
        return record([=] { return sqrt(v); });
      case 3:
        return record([=] { return rsqrt(v); });
      case 4:
        return record([=] { return sin(v); });
      case 5:
        return record([=] { return cos(v); });
      case 6:
        return record([=] { return tanh(v); });
      case 7:
        return record([=] { return logistic(v); });
      case 8:
        return record([=] { return erf(v); });
      case 9:
        return record([=] { return relu(v); });
      case 10:
        return record([=] { return stop_gradient(v); });
      case 11:
        return record([=] { return is_finite(v); });
      case 12:
        return record([=] { return pow(v, 2.0); });
      case 13: {
        const Value y = arithmetic().value;
        return record([=] { return abs(y); });
      }
      case 14: {
        const Value y = arithmetic().value;
        return record([=] { return sign(y); });
      }
      case 15: {
        const Value y = arithmetic().value;
        return record([=] { return -y; });
      }
      case 16:
        return record([=] { return gelu(v, GeluForm::tanh); });
      default:
        return record([=] { return gelu(v); });
    }
  }

  void binary() {
    const bool power = chance(0.08);
    const Known x = power ? floating() : arithmetic();
    const Operand other = partner(x);
    const bool swap = chance(0.4);
    const Operand a = swap ? other : Operand(x.value);
    const Operand b = swap ? Operand(x.value) : other;
    if (power) return record([=] { return pow(a, b); });
    switch (below(9)) {
      case 0:
      case 1:
        return record([=] { return a + b; });
      case 2:
        return record([=] { return a - b; });
      case 3:
      case 4:
        return record([=] { return a * b; });
      case 5:
        return record([=] { return a / b; });
      case 6:
        return record([=] { return maximum(a, b); });
      case 7:
        return record([=] { return minimum(a, b); });
      default:
        return record([=] { return masked_product(a, b); });
    }
  }

  /// What the rewrites look for: negations of operands, repeated casts,
  /// numbers that change nothing.
  void negations() {
    const Known x = floating();
    const Operand other = partner(x);
    const Value a = x.value;
    switch (below(7)) {
      case 0:
        return record([=] { return a + -a; });
      case 1: {
        const Value b =
            std::holds_alternative<Value>(other.what) ? push(-other) : push(-a);
        return record([=] { return b + a; });
      }
      case 2:
        return record([=] { return -(-a); });
      case 3:
        return record([=] { return -a * -a; });
      case 4:
        return record([=] { return cast(cast(a, f64), f32); });
      case 5:
        return record([=] { return (a * 1.0 - 0.0) / 8.0; });
      default:
        return record([=] { return -0.0 - a; });
    }
  }

  /// Two parts of one value, as rotary embeddings and gates read them.
  void halves() {
    const Known x = floating(1);
    const int axis = chance(0.7) ? 0 : below(x.type.shape.rank());
    const std::int64_t half = x.type.shape[axis] / 2;
    const std::int64_t second = x.type.shape[axis] - half;
    record([=] {
      const Value a = narrow(x.value, axis, 0, half);
      const Value b = narrow(x.value, axis, second, half);
      return a * logistic(b) - b;
    });
  }

  void compare() {
    const int which = below(6);
    const Known x = which < 2 ? any() : arithmetic();
    const Value a = x.value;
    const Operand b = partner(x);
    switch (which) {
      case 0:
        return record([=] { return equal(a, b); });
      case 1:
        return record([=] { return not_equal(a, b); });
      case 2:
        return record([=] { return less(a, b); });
      case 3:
        return record([=] { return less_equal(a, b); });
      case 4:
        return record([=] { return greater(a, b); });
      default:
        return record([=] { return greater_equal(a, b); });
    }
  }

  Known truth() {
    return some([](const Type& t) { return t.dtype == boolean; },
                [&] {
                  return Type{boolean, shape()};
                });
  }

  void logic() {
    const Known x = truth();
    const Value a = x.value;
    const Operand b = partner(x);
    switch (below(3)) {
      case 0:
        return record([=] { return logical_and(a, b); });
      case 1:
        return record([=] { return logical_or(a, b); });
      default:
        return record([=] { return logical_not(a); });
    }
  }

  void choose() {
    const Known x = any();
    Type condition{boolean, x.type.shape};
    for (std::int64_t& extent : condition.shape) {
      if (chance(0.2)) extent = 1;
    }
    const Value c = value_of(condition);
    const Operand other = partner(x);
    const Value a = x.value;
    if (chance(0.5)) return record([=] { return select(c, a, other); });
    return record([=] { return select(c, other, a); });
  }

  void convert() {
    const Value x = any().value;
    const DType to = dtype();
    record([=] { return cast(x, to); });
  }

  void product() {
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

  void reduce() {
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

  void rows() {
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

  void view() {
    const Known x = any(chance(0.8) ? 1 : 0);
    const Shape& shape = x.type.shape;
    const int rank = shape.rank();
    const Value v = x.value;
    switch (below(8)) {
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

  Shape reshaped(const Shape& from) {
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

  void join() {
    const Known x = any(1);
    const int axis = below(x.type.shape.rank());
    std::vector<Value> parts{x.value};
    for (int i = below(3); i > 0; --i) {
      const auto found = pick([&](const Type& t) {
        return t.dtype == x.type.dtype &&
               t.shape.rank() == x.type.shape.rank() &&
               t.shape.with(axis, 0) == x.type.shape.with(axis, 0);
      });
      Type type = x.type;
      type.shape[axis] = below(4);
      parts.push_back(found && chance(0.8) ? found->value : value_of(type));
    }
    record([=] { return concat(parts, axis); });
  }

  /// An index tensor of this shape below n.
  Value index(const Shape& shape, std::int64_t n) {
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

  /// An index and its axes for the tensor x.
  std::optional<std::pair<Value, IndexOptions>> index_into(const Type& x) {
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

  void gathered() {
    const Known x = any(1);
    const auto at = index_into(x.type);
    if (!at) return;
    const auto [value, options] = *at;
    record([=, i = value, o = options] { return gather(x.value, i, o); });
  }

  void scattered() {
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
    record([=, i = i, o = options] {
      return scatter_add(x.value, i, updates, o);
    });
  }

  void composite() {
    switch (below(5)) {
      case 0: {
        const Known x = floating();
        const Axes axes = some_axes(x.type.shape, false);
        const bool keep = chance(0.5);
        return record([=] { return variance(x.value, axes, keep); });
      }
      case 1:
      case 2: {
        const Known x = floating(1);
        const Type row{x.type.dtype, {x.type.shape[-1]}};
        const Value scale = value_of(row);
        const Value shift = value_of(row);
        return record([=] { return layer_norm(x.value, scale, shift); });
      }
      case 3: {
        const Known x = floating(1);
        const Shape rows = x.type.shape.leading(-1);
        if (x.type.shape[-1] == 0) return;
        const Value targets = index(rows, x.type.shape[-1]);
        return record([=] { return cross_entropy(x.value, targets); });
      }
      default: {
        const Known x = floating();
        const Value y = value_of(x.type);
        return record([=] { return mse(x.value, y); });
      }
    }
  }

  void derivative() {
    if (++derivatives_ > 3) return;
    const Known x = floating();
    Value loss = x.value;
    if (x.type.shape.rank() > 0) {
      switch (below(3)) {
        case 0:
          loss = sum(x.value * x.value);
          break;
        case 1:
          loss = mean(x.value);
          break;
        default:
          loss = sum(x.value);
      }
    }
    push(loss);
    std::vector<Value> wrt;
    for (int i = 1 + below(3); i > 0; --i) {
      const auto target =
          pick([](const Type& t) { return is_floating(t.dtype); });
      wrt.push_back(target->value);
    }
    for (const Value gradient : tape_.differentiate(loss, wrt)) push(gradient);
  }

  // ---- What is asked ----

  bool is_index(Value value) const {
    return std::any_of(inputs_.begin(), inputs_.end(), [&](const auto& input) {
      return input.symbol == value.symbol() && input.bound > 0;
    });
  }

  void choose_carries(Entry& entry) {
    const int wanted = below(5);
    std::set<Symbol> taken;
    const auto carry = [&](const Known& input, Value next) {
      if (is_index(input.value) || !taken.insert(input.value).second) return;
      entry.carry(input.value, next);
      carried_.push_back(input.value);
    };
    const std::vector<Known> leaves = leaves_;
    for (int i = 0; i < wanted && !leaves.empty(); ++i) {
      const Known& a = leaves[static_cast<std::size_t>(
          below(static_cast<std::int64_t>(leaves.size())))];
      const Known* b = nullptr;
      for (const Known& other : leaves) {
        if (other.type == a.type && other.value != a.value) b = &other;
      }
      switch (below(6)) {
        case 0:  // swapped
          if (b != nullptr) {
            carry(a, b->value);
            carry(*b, a.value);
            break;
          }
          [[fallthrough]];
        case 1:  // itself
          carry(a, a.value);
          break;
        case 2:  // one next value for two
          if (b != nullptr) {
            const Value next = value_of(a.type);
            carry(a, next);
            carry(*b, next);
            break;
          }
          [[fallthrough]];
        case 3:  // an update in place
          if (is_floating(a.type.dtype)) {
            carry(a, a.value * 0.5 + value_of(a.type));
            break;
          }
          [[fallthrough]];
        case 4:  // a view of itself
          if (a.type.shape.rank() > 0) {
            carry(a, reverse(a.value, 0));
            break;
          }
          [[fallthrough]];
        default:
          carry(a, value_of(a.type));
      }
    }
  }

  RandomNetwork finish() {
    Entry entry;
    choose_carries(entry);
    std::vector<Symbol> results;
    const int wanted = 1 + below(8);
    for (int i = 0; i < wanted; ++i) {
      const auto n = static_cast<std::int64_t>(pool_.size());
      const std::int64_t from =
          chance(0.5) ? n - std::min<std::int64_t>(8, n) : 0;
      const Known& asked =
          pool_[static_cast<std::size_t>(from + random_.below(n - from))];
      entry.result(asked.value);
      results.push_back(asked.value);
    }
    std::vector<std::pair<Symbol, Tensor>> initial;
    for (Symbol symbol : carried_) {
      if (chance(0.6)) {
        initial.emplace_back(
            symbol,
            restrided(random_elements(Value(symbol).type(), random_, wild_),
                      random_));
      }
    }
    // An input that the session holds, though no step carries it.
    std::set<Symbol> held(carried_.begin(), carried_.end());
    if (chance(0.1)) {
      for (const auto& input : inputs_) {
        if (input.bound == 0 && held.insert(input.symbol).second) {
          initial.emplace_back(input.symbol,
                               random_elements(input.type, random_, wild_));
          break;
        }
      }
    }
    Network network = tape_.seal();
    std::vector<RandomNetwork::Fed> fed;
    const Plan plan = network.lower(entry);
    const engines::Program& program = plan.lowered()->recorded;
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      if (program.list.nodes[i].kind != graph::Kind::input) continue;
      const Symbol symbol{program.list.tape, program.origin[i]};
      if (held.count(symbol) != 0) continue;
      for (const auto& input : inputs_) {
        if (input.symbol == symbol) fed.push_back(input);
      }
    }
    return {seed_,
            std::move(network),
            std::move(entry),
            std::move(results),
            std::move(carried_),
            std::move(initial),
            std::move(fed),
            std::move(inputs_),
            wild_};
  }

  Random random_;
  std::uint64_t seed_;
  RandomNetworkOptions options_;
  bool wild_ = false;
  Tape tape_;
  std::vector<Known> pool_;
  std::vector<Known> leaves_;  // that may be carried
  std::vector<RandomNetwork::Fed> inputs_;
  std::vector<Symbol> carried_;
  int names_ = 0;
  int derivatives_ = 0;
};

Feed number_feed(Symbol symbol, const Tensor& x) {
  return visit_dtype(x.dtype(), [&]<class T>() {
    return Feed(symbol, *reinterpret_cast<const T*>(x.data()));
  });
}

Feed span_feed(Symbol symbol, const Tensor& x) {
  return visit_dtype(x.dtype(),
                     [&]<class T>() { return Feed(symbol, x.span<T>()); });
}

}  // namespace

OwnedFeeds RandomNetwork::feeds(int step, const std::vector<Fed>& some) const {
  OwnedFeeds result;
  Random random(seed * 1000003 + static_cast<std::uint64_t>(step));
  result.storage.reserve(some.size());
  for (const Fed& input : some) {
    Random own(random.bits() + input.symbol.node);
    const Tensor x = random_elements(input.type, own, wild, input.bound);
    result.storage.push_back(x);
    switch (own.below(4)) {
      case 0:
        if (input.type.shape.rank() == 0) {
          result.feeds.push_back(number_feed(input.symbol, x));
          break;
        }
        [[fallthrough]];
      case 1:
        result.feeds.emplace_back(input.symbol, restrided(x, own));
        break;
      case 2:
        result.feeds.push_back(span_feed(input.symbol, x));
        break;
      default:
        result.feeds.emplace_back(input.symbol, x);
    }
  }
  // In any order.
  if (step % 2 == 1) {
    result.feeds =
        std::vector<Feed>(result.feeds.rbegin(), result.feeds.rend());
  }
  return result;
}

RandomNetwork random_network(std::uint64_t seed,
                             const RandomNetworkOptions& options) {
  return Generator(seed, options).run();
}

}  // namespace topos::test

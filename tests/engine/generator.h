#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/random_elements.h"
#include "engine/random_network.h"
#include "ops/catalog.h"
#include "support/random.h"

namespace topos::test {

/// Records random calls on a tape, then asks for random results and carries.
/// What it knows to call stands in files by concept: `call` lists them.
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

  // ---- Types and values: generator_values.cpp ----

  DType dtype();
  DType real();
  std::int64_t extent();
  Shape shape();
  Type type();

  Value push(Value value);

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
  std::string fresh_name(const char* kind);
  Value leaf(const Type& type);
  Value as(Value x, const Type& from, DType to);
  /// A value of exactly this type, from what is there or new.
  Value value_of(const Type& type);
  static bool stretches(const Shape& from, const Shape& to);

  template <class F>
  Known some(F&& fits, const std::function<Type()>& otherwise) {
    if (const auto found = pick(fits)) return *found;
    const Type type = otherwise();
    return {value_of(type), type};
  }
  Known floating(int least_rank = 0);
  Known arithmetic();
  Known any(int least_rank = 0);
  Operand number(DType dtype);
  /// What stands beside `x` in an elementwise operation, in some dtype. If it
  /// `stretches`, x may be the one that broadcasts.
  Operand partner(const Known& x, DType dtype, bool stretches);
  Axes some_axes(const Shape& shape, bool not_empty);
  /// Whether the axes that a reduction names (all, if none) are not empty.
  static bool have_elements(const Shape& shape, const Axes& axes);

  // ---- Calls: generator.cpp ----

  /// Records one call, now and then twice: a common subexpression.
  void record(const std::function<Value()>& f);
  void call();

  // ---- Elementwise operations: generator_elementwise.cpp ----

  void elementwise();
  Value apply(const ops::Any& op, std::span<const DType> dtypes,
              std::span<const Operand> operands);
  /// What the rewrites look for: negations of operands, repeated casts,
  /// numbers that change nothing.
  void negations();
  /// Two parts of one value, as rotary embeddings and gates read them.
  void halves();
  void convert();

  // ---- Products and reductions: generator_reductions.cpp ----

  void product();
  void reduce();
  void rows();

  // ---- Views: generator_views.cpp ----

  void view();
  Shape reshaped(const Shape& from);
  void join();

  // ---- Indices: generator_indices.cpp ----

  /// An index tensor of this shape below n.
  Value index(const Shape& shape, std::int64_t n);
  /// An index and its axes for the tensor x.
  std::optional<std::pair<Value, IndexOptions>> index_into(const Type& x);
  void gathered();
  void scattered();

  // ---- Formulas and their derivatives: generator_formulas.cpp ----

  void composite();
  void derivative();

  // ---- What is asked: generator.cpp ----

  bool is_index(Value value) const;
  void choose_carries(Entry& entry);
  RandomNetwork finish();

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

}  // namespace topos::test

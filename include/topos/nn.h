#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topos/functions.h"
#include "topos/network.h"
#include "topos/random.h"
#include "topos/site.h"
#include "topos/tape.h"

/// \file
/// Modules, layers, losses and optimizers, written on the public face alone: a
/// reader's own are written exactly like these.
///
/// A layer declares its parameters on the tape that it is given and then holds
/// nothing but their Values. Calling it records, so one layer may be applied
/// to any number of operands; the parameters are shared. What it records
/// carries the caller's line beside its own, and its errors name the caller's
/// line first.

namespace topos::nn {

// ---- Modules -----------------------------------------------------------

namespace detail {
struct AnyMember {
  template <class Member>
  void operator()(std::string_view, const Member&) const {}
};
}  // namespace detail

/// A module is a struct whose `visit` names its members; nothing is registered
/// behind the user's back:
///
///     struct Mlp {
///       nn::Linear hidden;
///       nn::Linear output;
///
///       Value operator()(Operand x) const {
///         Frame frame(x.site);  // records with the caller's line
///         return output(tanh(hidden(x)));
///       }
///       void visit(auto&& visitor) const {
///         visitor("hidden", hidden);
///         visitor("output", output);
///       }
///     };
///
/// A member is a Value, a module, an optional of either (left out if empty), or
/// a range of either, whose elements are named by their position.
template <class M>
concept Module = requires(const M& module, const detail::AnyMember& visitor) {
  module.visit(visitor);
};

/// `prefix.name`; `name` alone if the prefix is empty.
std::string dotted(std::string_view prefix, std::string_view name);

/// A parameter under its name in a module tree.
struct NamedParameter {
  std::string name;
  Value parameter;

  bool operator==(const NamedParameter&) const = default;
};

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class Member>
void list_parameters(const std::string& name, const Member& member,
                     std::vector<NamedParameter>& list) {
  if constexpr (std::same_as<Member, Value>) {
    list.push_back({name, member});
  } else if constexpr (Module<Member>) {
    member.visit([&](std::string_view inner, const auto& value) {
      list_parameters(dotted(name, inner), value, list);
    });
  } else if constexpr (is_optional<Member>) {
    if (member) list_parameters(name, *member, list);
  } else {
    static_assert(std::ranges::input_range<const Member>,
                  "a member of a module is a Value, a module, or an optional "
                  "or a range of them");
    std::size_t position = 0;
    for (const auto& element : member) {
      list_parameters(dotted(name, std::to_string(position++)), element, list);
    }
  }
}

}  // namespace detail

/// Every parameter of a module tree, in the order of the visits, under its
/// dotted name: `hidden.weight`, `blocks.0.output.bias`. A parameter that two
/// members share is listed under both names.
template <Module M>
std::vector<NamedParameter> parameters(const M& module,
                                       std::string_view prefix = {}) {
  std::vector<NamedParameter> list;
  detail::list_parameters(std::string(prefix), module, list);
  return list;
}

// ---- Layers ------------------------------------------------------------

/// Makes a parameter's initial payload; `xavier` and `kaiming` are such.
using Initializer = std::function<Tensor(const Shape&, SplitMix&, DType)>;

struct LinearOptions {
  bool bias = true;
  DType dtype = f32;
  /// Called for the weight, then for the bias.
  Initializer initializer = xavier;
};

/// The affine map x weight + bias.
///
///   weight  [in, out], named `<name>.weight`
///   bias    [out], named `<name>.bias`; not there without `options.bias`
struct Linear {
  /// Declares the parameters with payloads drawn from `random`.
  ///
  /// \throws UsageError  a name is taken; the tape is sealed
  /// \throws ShapeError  an extent is negative, or the initializer gives
  ///                     another shape
  /// \throws DTypeError  the dtype is not floating
  Linear(Tape& tape, std::string_view name, std::int64_t in, std::int64_t out,
         SplitMix& random, const LinearOptions& options = {},
         Site site = Site::here());

  /// Declares them by type alone, to be filled before a session opens.
  Linear(Tape& tape, std::string_view name, std::int64_t in, std::int64_t out,
         const LinearOptions& options = {}, Site site = Site::here());

  /// \param x  [..., rows, in]
  /// \return   [..., rows, out]: one product of all rows
  ///
  /// Cost: 2 in out flops a row when run.
  /// \throws ShapeError  the rank is below 2, or the last extent is not `in`
  /// \throws DTypeError  the dtype is not the weight's
  /// \see    matmul, for the order of evaluation
  Value operator()(Operand x) const;

  void visit(auto&& visitor) const {
    visitor("weight", weight);
    visitor("bias", bias);
  }

  Value weight;
  std::optional<Value> bias;
};

struct EmbeddingOptions {
  /// Of the normal distribution that the rows are drawn from.
  double deviation = 1.0;
  DType dtype = f32;
};

/// A table of vectors, read by index: one row a token.
///
///   weight  [count, width], named `<name>.weight`
struct Embedding {
  /// Declares the table with normal payloads drawn from `random`.
  ///
  /// \throws UsageError  the name is taken; the tape is sealed
  /// \throws ShapeError  an extent is negative
  /// \throws DTypeError  the dtype is not floating
  Embedding(Tape& tape, std::string_view name, std::int64_t count,
            std::int64_t width, SplitMix& random,
            const EmbeddingOptions& options = {}, Site site = Site::here());

  /// Declares it by type alone, to be filled before a session opens.
  Embedding(Tape& tape, std::string_view name, std::int64_t count,
            std::int64_t width, const EmbeddingOptions& options = {},
            Site site = Site::here());

  /// \param index  [...], i32 or i64, each in [0, count)
  /// \return       [..., width]
  ///
  /// Cost: width copies an index; no one-hot matrix is made.
  /// \throws DTypeError  the index is not an integer
  /// \throws IndexError  when run: an index is out of range
  Value operator()(Operand index) const;

  void visit(auto&& visitor) const { visitor("weight", weight); }

  Value weight;
};

struct AttentionOptions {
  /// No position sees a later one.
  bool causal = false;
  bool bias = true;
  DType dtype = f32;
  /// Called for the weight, then for the bias, of either projection.
  Initializer initializer = xavier;
};

/// Self-attention [Vaswani et al. 2017]. The width is cut into heads of D =
/// width / heads, and in each of them a position is a mean of all positions'
/// values,
///
///     softmax((q / sqrt D) k') v
///
///   query_key_value  a Linear from width to 3 width: all heads' q, then k, v
///   output           a Linear from width to width
struct MultiHeadAttention {
  /// Declares the parameters with payloads drawn from `random`.
  ///
  /// \throws UsageError  a name is taken; the tape is sealed
  /// \throws ShapeError  `heads` is not positive or does not divide the width
  /// \throws DTypeError  the dtype is not floating
  MultiHeadAttention(Tape& tape, std::string_view name, std::int64_t width,
                     std::int64_t heads, SplitMix& random,
                     const AttentionOptions& options = {},
                     Site site = Site::here());

  /// Declares them by type alone, to be filled before a session opens.
  MultiHeadAttention(Tape& tape, std::string_view name, std::int64_t width,
                     std::int64_t heads, const AttentionOptions& options = {},
                     Site site = Site::here());

  /// \param x  [batch, time, width]
  /// \return   of the same type
  ///
  /// Cost: 8 width width + 4 width time flops a position when run. The mask is
  /// a comparison of two iotas and is never stored.
  /// \throws ShapeError  x is shaped otherwise
  /// \throws DTypeError  the dtype is not the weights'
  Value operator()(Operand x) const;

  void visit(auto&& visitor) const {
    visitor("query_key_value", query_key_value);
    visitor("output", output);
  }

  std::int64_t heads;
  bool causal;
  Linear query_key_value;
  Linear output;

 private:
  MultiHeadAttention(std::int64_t heads, bool causal,
                     std::pair<Linear, Linear> projections);
};

// ---- Losses ------------------------------------------------------------

/// The losses are composites among the operations: see `functions.h`.
using topos::cross_entropy;
using topos::mse;

// ---- Optimizers --------------------------------------------------------

/// What one input or parameter holds at the next step.
struct Update {
  Value input;
  Value next;
};

struct SgdOptions {
  /// Heavy-ball momentum [Polyak 1964]; 0: none, and no state.
  double momentum = 0.0;
};

/// Stochastic gradient descent:
///
///     u' = momentum u + g
///     p' = p - rate u'
///
/// and p' = p - rate g without momentum. `record` makes the update part of a
/// compiled step, `step` runs it on the host; they give the same bits.
class Sgd {
 public:
  /// \throws UsageError  the momentum is negative or not finite
  explicit Sgd(SgdOptions options = {}, Site site = Site::here());

  /// Records the update of every parameter, for an entry to carry:
  ///
  ///     const auto gradients = tape.gradients(loss);
  ///     for (auto [input, next] : sgd.record(tape, gradients, rate)) {
  ///       step.carry(input, next);
  ///     }
  ///
  /// With momentum it declares an input `<parameter>.velocity` for each
  /// parameter, whose update comes before the parameter's. As every carried
  /// input it starts as zeros; `Session::state` reads it.
  ///
  /// \param rate  a number or a floating scalar, cast to each parameter's dtype
  /// \throws ShapeError  the rate is no scalar; a gradient is not shaped as its
  ///                     parameter
  /// \throws DTypeError  the rate is not floating; a gradient has another dtype
  ///                     than its parameter
  /// \throws UsageError  a velocity's name is taken
  std::vector<Update> record(Tape& tape, std::span<const Gradient> gradients,
                             Operand rate) const;

  /// The host's form: new parameters, by `Parameters::step`.
  ///
  /// \param gradients  in the order of the parameters
  /// \param rate       a number or a floating scalar, as above
  /// \throws ShapeError, DTypeError  a count or a type differs
  /// \throws UsageError  the velocities are of other parameters
  Parameters step(const Parameters& parameters,
                  std::span<const Tensor> gradients, TensorOperand rate);

  /// The host's velocities in the order of the parameters, to be stored and
  /// resumed from. Empty before the first step and without momentum.
  const std::vector<Tensor>& velocities() const noexcept { return velocities_; }
  void set_velocities(std::vector<Tensor> velocities) {
    velocities_ = std::move(velocities);
  }

 private:
  double momentum_;
  std::vector<Tensor> velocities_;
};

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  /// 0: Adam [Kingma & Ba 2015].
  double decay = 0.01;
  /// Of the count of steps, an input `<name>.steps`.
  std::string name = "adamw";
};

/// Adam with decoupled weight decay [Loshchilov & Hutter 2019]:
///
///     t' = t + 1,  c1 = -expm1(t' ln beta1),  c2 = -expm1(t' ln beta2)
///     m' = beta1 m + (1 - beta1) g
///     v' = beta2 v + (1 - beta2) (g g)
///     p' = p (1 - rate decay)
///          - ((rate / c1) m') / (sqrt(v') rsqrt(c2) + epsilon)
///
/// c1 is 1 - beta1^t', and keeps its relative accuracy at the first steps.
class AdamW {
 public:
  /// \throws UsageError  a beta is not in [0, 1), or epsilon or the decay is
  ///                     negative or not finite
  explicit AdamW(AdamWOptions options = {}, Site site = Site::here());

  /// Records the update of every parameter, for an entry to carry, as
  /// Sgd::record does. The first update is that of the count of steps, an i32
  /// scalar; each parameter's is preceded by those of its two moments, inputs
  /// `<parameter>.first_moment` and `<parameter>.second_moment`. Carried inputs
  /// start as zeros; of a parameter of 16 bits they are f32, in which the
  /// update is computed, too. To decay some parameters only, record them with
  /// an AdamW of another name.
  ///
  /// \param rate  a number or a floating scalar, cast to each parameter's dtype
  /// \throws ShapeError, DTypeError  as Sgd::record
  /// \throws UsageError  there is no gradient; the name of a state is taken
  std::vector<Update> record(Tape& tape, std::span<const Gradient> gradients,
                             Operand rate) const;

 private:
  AdamWOptions options_;
};

}  // namespace topos::nn

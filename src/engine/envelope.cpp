// The interpreter's walk with a bound beside every value, and the arithmetic of
// bounds.

#include "engine/envelope.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/session_state.h"
#include "math/float_environment.h"
#include "ops/call.h"
#include "ops/evaluate.h"
#include "topos/engine.h"
#include "topos/error.h"

namespace topos::engines {

std::vector<double> numbers(const Tensor& x) {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(x.element_count()));
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* from = ops::elements_of<T>(x);
    for_each_position(layout_of(x), [&](std::int64_t i) {
      result.push_back(static_cast<double>(from[i]));
    });
  });
  return result;
}

Tensor settled(const Tensor& bound, const Tensor& value) {
  // The f64 arithmetic of one rule on one element rounds fewer times than this,
  // relative to the bound; sums of more terms have u of f32, or count double.
  constexpr double own_roundings = 1 + 0x1p-40;
  const Format format = format_of(value.dtype());
  const std::vector<double> errors = numbers(bound);
  const std::vector<double> values = numbers(value);
  const bool real = is_floating(value.dtype());
  return filled(value.shape(), [&](std::size_t i) {
    const double error = errors[i] * own_roundings;
    const double size = std::fabs(values[i]);
    if (std::isnan(error)) return undecided;
    if (error > 0 && !(real && size + error <= format.greatest)) {
      return undecided;
    }
    if (!real || !(size - error < format.smallest)) return error;
    return error == 0 ? size : error + format.smallest;
  });
}

double Terms::error(const Format& format, double theirs, double ours) const {
  if (!(error_ < undecided)) return undecided;
  const double total = magnitude_ + error_;
  // Some order may overflow, or meet two infinities.
  if (total >= format.greatest) return undecided;
  if (special_) return 0;
  if (theirs == 0) return error_;
  return error_ +
         (roundings(theirs, format) + roundings(ours, format)) * total +
         count_ * format.smallest;
}

}  // namespace topos::engines

namespace topos {

namespace {

using engines::Program;
using graph::Kind;

Envelope certain(const Tensor& value) {
  const Tensor none = Tensor::zeros({f64, {}}).broadcasted(value.shape());
  // Settled: a subnormal leaf may be flushed by whatever reads it.
  return {value, engines::settled(none, value)};
}

/// Envelopes of all nodes; `leaf(node)` gives the values of parameters and
/// inputs.
template <class F>
std::vector<Envelope> walk(const Program& program, F&& leaf) {
  const graph::Graph& list = program.list;
  std::vector<Envelope> all;
  all.reserve(list.size());
  std::vector<Envelope> operands;
  std::vector<Tensor> values;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    const graph::Node& node = list.nodes[i];
    if (node.kind == Kind::constant) {
      all.push_back(certain(list.payloads.at(i)));
    } else if (node.kind != Kind::operation) {
      all.push_back(certain(leaf(i)));
    } else {
      operands.clear();
      values.clear();
      for (std::uint32_t operand : list.operands(node)) {
        operands.push_back(all[operand]);
        values.push_back(all[operand].value);
      }
      try {
        const Tensor y = ops::evaluate(node.op, node.type, values);
        all.push_back({y, engines::bound_of(node.op, operands, y)});
      } catch (const IndexError& error) {
        throw IndexError(list.origin(i) + ": " + error.message());
      }
    }
  }
  return all;
}

/// Fed elements, copied: a result may be a view of them.
Tensor copy_of(const Type& type, const std::byte* elements) {
  std::byte* data = nullptr;
  const Tensor result = Tensor::uninitialized(type, data);
  std::copy_n(elements, type.size_bytes(), data);
  return result;
}

}  // namespace

std::vector<Envelope> envelopes(const Network& network, const Plan& plan,
                                const Parameters& parameters,
                                std::initializer_list<Feed> feeds, Site site) {
  return envelopes(network, plan, parameters,
                   Feeds(feeds.begin(), feeds.size()), site);
}

std::vector<Envelope> envelopes(const Network& network, const Plan& plan,
                                const Parameters& parameters, Feeds feeds,
                                Site site) {
  try {
    const auto placement =
        interpreter::engine().place(network, parameters, site).state();
    const Program& program = plan.lowered()->recorded;
    if (program.list.tape != placement->tape()) {
      throw UsageError(
          fmt::format("the plan is of tape {}, but the network of tape {}",
                      program.list.tape, placement->tape()));
    }
    engines::FeedTable table(program);
    // No session holds the state of carried inputs: they are fed like others.
    for (auto& input : table.inputs()) input.carried = false;
    table.bind(feeds, [&](std::uint32_t node) {
      return graph::graph_of(network).name_of(node);
    });
    const math::FloatEnvironment environment;
    const auto all = walk(program, [&](std::uint32_t leaf) {
      const std::uint32_t symbol = program.origin[leaf];
      const graph::Node& node = program.list.nodes[leaf];
      if (node.kind == Kind::input) {
        return copy_of(node.type, table.find(symbol)->data);
      }
      const auto found = placement->leaves().find(symbol);
      if (found == placement->leaves().end()) {
        throw UsageError(
            fmt::format("the plan reads {}, which was recorded after the "
                        "network was sealed",
                        program.list.origin(leaf)));
      }
      return found->second.payload;
    });
    std::vector<Envelope> result;
    for (std::uint32_t node : program.results) result.push_back(all[node]);
    for (const Program::Carry& carry : program.carries) {
      result.push_back(all[carry.next]);
    }
    return result;
  } catch (Error& error) {
    error.add_context(ops::where(site) + "envelopes: ");
    throw;
  }
}

Difference compare(const Envelope& envelope, const Tensor& other, Site site) {
  const Type& type = envelope.value.type();
  const auto text = [&] {
    return fmt::format("{}compare: the value is {}, but the other {}",
                       ops::where(site), type.text(), other.type().text());
  };
  if (other.dtype() != type.dtype) throw DTypeError(text());
  if (other.shape() != type.shape) throw ShapeError(text());

  const std::vector<double> expected = engines::numbers(envelope.value);
  const std::vector<double> found = engines::numbers(other);
  const std::vector<double> bounds = engines::numbers(envelope.bound);
  // In the dtype: as f64, great integers that differ may be equal.
  const std::vector<double> same =
      engines::numbers(equal(envelope.value, other));
  Difference result;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (bounds[i] == engines::undecided) {
      ++result.undecided;
      continue;
    }
    const bool both_nan = std::isnan(expected[i]) && std::isnan(found[i]);
    if (both_nan || same[i] != 0) continue;
    double distance = std::fabs(found[i] - expected[i]);
    // One is not finite, and not the same as the other.
    if (!std::isfinite(distance)) distance = engines::undecided;
    const double ratio = std::isfinite(distance) && bounds[i] > 0
                             ? distance / bounds[i]
                             : engines::undecided;
    result.largest = std::fmax(result.largest, distance);
    if (ratio > result.ratio) {
      result.ratio = ratio;
      result.position = static_cast<std::int64_t>(i);
      result.expected = expected[i];
      result.found = found[i];
      result.bound = bounds[i];
    }
  }
  result.inside = result.ratio <= 1;
  return result;
}

std::string Difference::text() const {
  const std::string open =
      undecided == 0 ? "" : fmt::format(", {} undecided", undecided);
  if (ratio == 0) return "equal" + open;
  return fmt::format(
      "{}: {:.9g} and not {:.9g} at {}, {:.3g} of the bound {:.3g}; the "
      "greatest difference is {:.3g}{}",
      inside ? "inside" : "outside", found, expected, position, ratio, bound,
      largest, open);
}

}  // namespace topos

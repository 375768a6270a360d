#pragma once

#include <span>
#include <vector>

#include "graph/recording.h"
#include "ops/composite.h"
#include "topos/functions.h"
#include "topos/tape.h"

/// \file
/// The rows of operations and composites, recorded as they are written: with
/// the attributes of the row and no broadcasting.

namespace topos::test {

template <class Op>
Value record(const Op& op, Tape& tape, std::span<const Value> x) {
  graph::Recording& recording = graph::Recording::of(tape);
  std::vector<Type> types;
  std::vector<std::uint32_t> nodes;
  for (const Value& value : x) {
    types.push_back(value.type());
    nodes.push_back(recording.node(value));
  }
  return recording.value(recording.append(op, op.infer(types), nodes, {}));
}

// A composite is recorded by its public function; a new one is missing here
// until it has its line.
inline Value record(const ops::CrossEntropy&, Tape&, std::span<const Value> x) {
  return cross_entropy(x[0], x[1]);
}
inline Value record(const ops::Gelu& op, Tape&, std::span<const Value> x) {
  return gelu(x[0], op.form);
}
inline Value record(const ops::LayerNorm& op, Tape&, std::span<const Value> x) {
  return layer_norm(x[0], x[1], x[2], op.epsilon);
}
inline Value record(const ops::Mse&, Tape&, std::span<const Value> x) {
  return mse(x[0], x[1]);
}
inline Value record(const ops::RmsNorm& op, Tape&, std::span<const Value> x) {
  return rms_norm(x[0], x[1], op.epsilon);
}
inline Value record(const ops::Silu&, Tape&, std::span<const Value> x) {
  return silu(x[0]);
}
inline Value record(const ops::Variance& op, Tape&, std::span<const Value> x) {
  return variance(x[0], op.axes, op.keep);
}

}  // namespace topos::test

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "stablehlo/dialect.h"
#include "stablehlo/evaluator.h"
#include "stablehlo/walk.h"

/// \file
/// Operations with a region that joins two elements: reduce and all_reduce.

namespace topos::stablehlo_text {

void check_combiner(const Operation& op, const std::vector<TensorType>& types) {
  const Region& body = op.regions[0];
  std::vector<TensorType> scalars;
  for (const TensorType& type : types) scalars.push_back({type.element, {}});
  std::vector<TensorType> arguments = scalars;
  arguments.insert(arguments.end(), scalars.begin(), scalars.end());
  if (body.arguments != arguments) {
    refuse(op, "the region's arguments are not two scalars of each operand");
  }
  if (body.returned_types != scalars) {
    refuse(op, "the region does not return a scalar of each operand");
  }
}

namespace {

using Kind = Attribute::Kind;

// reduce: inputs, then an initial value of each

constexpr std::array reduce_attributes = {
    AttributeRow{"dimensions", "", Kind::integers, true}};

void check_reduce(const Operation& op) {
  if (op.operand_types.size() % 2 != 0) refuse(op, "an odd count of operands");
  const std::size_t count = op.operand_types.size() / 2;
  const Shape& shape = op.operand_types[0].shape;
  const auto& dimensions = op.integers("dimensions");
  check_axes(op, "dimensions", dimensions, shape.rank());
  Shape kept;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!contains(dimensions, i)) kept.push_back(shape[i]);
  }
  std::vector<TensorType> inputs;
  std::vector<TensorType> results;
  for (std::size_t i = 0; i < count; ++i) {
    const TensorType& input = op.operand_types[i];
    const TensorType& initial = op.operand_types[count + i];
    if (input.shape != shape) {
      refuse(op, "operands of " + op.operand_types[0].text() + " and " +
                     input.text());
    }
    if (initial != TensorType{input.element, {}}) {
      refuse(op,
             "an initial value of " + initial.text() + " for " + input.text());
    }
    inputs.push_back(input);
    results.push_back({input.element, kept});
  }
  check_combiner(op, inputs);
  if (count == 1) return check_result(op, results[0]);
  if (op.results != results) {
    refuse(op, "the results are not of the reduced operands' types");
  }
}

// A chain for each result, in row-major order of what is reduced, from the
// initial value on.
Arrays evaluate_reduce(Frame& frame, const Operation& op,
                       std::span<const Array> in) {
  const std::size_t count = in.size() / 2;
  const Shape& shape = in[0].type().shape;
  Arrays out;
  for (std::size_t i = 0; i < count; ++i) {
    Array& result = out.emplace_back(op.results[i]);
    const std::size_t width = size_bytes(result.type().element);
    for (std::int64_t j = 0; j < result.count(); ++j) {
      std::memcpy(result.data() + static_cast<std::size_t>(j) * width,
                  in[count + i].data(), width);
    }
  }
  const Strides kept = row_major_strides(out[0].type().shape);
  Track to;
  int next = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    to.strides.push_back(contains(op.integers("dimensions"), i) ? 0
                                                                : kept[next++]);
  }
  Combiner combine(frame, op.regions[0]);
  std::vector<std::byte*> into(count);
  std::vector<const std::byte*> from(count);
  walk(shape, std::array{row_major(shape), to}, [&](const auto& at) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto width =
          static_cast<std::int64_t>(size_bytes(out[i].type().element));
      from[i] = in[i].data() + at[0] * width;
      into[i] = out[i].data() + at[1] * width;
    }
    combine(into, from);
  });
  return out;
}

// all_reduce, of one replica: everything is there already

constexpr std::array all_reduce_attributes = {
    AttributeRow{"replica_groups", "", Kind::dense, true},
    AttributeRow{"channel_id", "", Kind::integer, false},
    AttributeRow{"channel_handle", "", Kind::record, false},
    AttributeRow{"use_global_device_ids", "", Kind::unit, false}};

void check_all_reduce(const Operation& op) {
  const TensorType& groups = op.get("replica_groups").type;
  if (groups.element != ElementType::i64 || groups.shape.rank() != 2) {
    refuse(op, "replica groups of " + groups.text());
  }
  if (const Attribute* channel = op.find("channel_handle");
      channel != nullptr && channel->text != "stablehlo.channel_handle") {
    refuse(op, "a channel handle #" + channel->text);
  }
  check_combiner(op, {op.operand_types[0]});
  if (op.results != op.operand_types) {
    refuse(op, "the results are not of the types of the operands");
  }
}

Arrays evaluate_all_reduce(Frame&, const Operation&,
                           std::span<const Array> in) {
  return {in.begin(), in.end()};
}

// clang-format off
constexpr std::array rows = {
    OperationRow{"stablehlo.reduce", some, 1, Signature::functional, reduce_attributes, check_reduce, evaluate_reduce},
    OperationRow{"stablehlo.all_reduce", some, 1, Signature::functional, all_reduce_attributes, check_all_reduce, evaluate_all_reduce},
};
// clang-format on

}  // namespace

std::span<const OperationRow> region_rows() { return rows; }

}  // namespace topos::stablehlo_text

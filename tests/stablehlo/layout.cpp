#include <algorithm>
#include <array>
#include <concepts>
#include <string>
#include <type_traits>

#include "stablehlo/dialect.h"
#include "stablehlo/evaluator.h"
#include "stablehlo/walk.h"

/// \file
/// Operations that make elements or put them elsewhere.

namespace topos::stablehlo_text {
namespace {

using Kind = Attribute::Kind;

std::size_t width_of(const Array& array) {
  return size_bytes(array.type().element);
}

// All of the result, read from the operand along `from`.
Arrays read_along(const Operation& op, const Array& in, const Track& from) {
  Array out(op.results[0]);
  copy_elements(out.type().shape, width_of(out), in.data(), from, out.data(),
                row_major(out.type().shape));
  return {out};
}

int axis_of(std::int64_t axis) { return static_cast<int>(axis); }

// constant, iota

constexpr std::array constant_attributes = {
    AttributeRow{"value", "", Kind::dense, true}};

void check_constant(const Operation& op) {
  check_result(op, op.get("value").type);
}

Arrays evaluate_constant(Frame&, const Operation& op, std::span<const Array>) {
  const Array& elements = op.get("value").elements;
  const TensorType& type = op.results[0];
  if (elements.type() == type) return {elements};
  Strides still;
  for (int i = 0; i < type.shape.rank(); ++i) still.push_back(0);
  return read_along(op, elements, {0, still});
}

constexpr std::array iota_attributes = {
    AttributeRow{"iota_dimension", "dim", Kind::integer, true}};

void check_iota(const Operation& op) {
  if (op.results.size() != 1) refuse(op, "it has one result");
  const TensorType& type = op.results[0];
  if (type.element == ElementType::i1) refuse(op, "it does not take i1");
  check_axes(op, "dimensions", {op.get("iota_dimension").integer},
             type.shape.rank());
}

Arrays evaluate_iota(Frame&, const Operation& op, std::span<const Array>) {
  Array out(op.results[0]);
  const Shape& shape = out.type().shape;
  Track along;
  for (int i = 0; i < shape.rank(); ++i) along.strides.push_back(0);
  along.strides[axis_of(op.get("iota_dimension").integer)] = 1;
  visit_element(out.type().element, [&]<class T>() {
    walk(shape, std::array{along, row_major(shape)},
         [&](const auto& at) { out.as<T>()[at[1]] = static_cast<T>(at[0]); });
  });
  return {out};
}

// broadcast_in_dim, reshape, transpose, reverse

constexpr std::array broadcast_attributes = {
    AttributeRow{"broadcast_dimensions", "dims", Kind::integers, true}};

void check_broadcast(const Operation& op) {
  if (op.results.size() != 1) refuse(op, "it has one result");
  const TensorType& from = op.operand_types[0];
  const TensorType& to = op.results[0];
  const auto& axes = op.integers("broadcast_dimensions");
  if (from.element != to.element) refuse(op, from.text() + " to " + to.text());
  check_size(op, "dims", axes, from.shape.rank());
  check_axes(op, "dims", axes, to.shape.rank());
  for (int i = 0; i < from.shape.rank(); ++i) {
    const int axis = axis_of(axes[static_cast<std::size_t>(i)]);
    if (from.shape[i] != 1 && from.shape[i] != to.shape[axis]) {
      refuse(op, "axis " + std::to_string(i) + " of " + from.text() +
                     " to axis " + std::to_string(axis) + " of " + to.text());
    }
  }
}

Arrays evaluate_broadcast(Frame&, const Operation& op,
                          std::span<const Array> in) {
  const Shape& shape = in[0].type().shape;
  const Strides strides = row_major_strides(shape);
  const auto& axes = op.integers("broadcast_dimensions");
  Track from;
  for (int i = 0; i < op.results[0].shape.rank(); ++i) {
    from.strides.push_back(0);
  }
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    from.strides[axis_of(axes[static_cast<std::size_t>(i)])] = strides[i];
  }
  return read_along(op, in[0], from);
}

void check_reshape(const Operation& op) {
  if (op.results.size() != 1) refuse(op, "it has one result");
  const TensorType& from = op.operand_types[0];
  const TensorType& to = op.results[0];
  if (from.element != to.element || from.count() != to.count()) {
    refuse(op, from.text() + " to " + to.text());
  }
}

Arrays evaluate_reshape(Frame&, const Operation& op,
                        std::span<const Array> in) {
  return {in[0].viewed(op.results[0])};
}

constexpr std::array transpose_attributes = {
    AttributeRow{"permutation", "dims", Kind::integers, true}};

void check_transpose(const Operation& op) {
  const TensorType& type = op.operand_types[0];
  const auto& axes = op.integers("permutation");
  check_size(op, "dims", axes, type.shape.rank());
  check_axes(op, "dims", axes, type.shape.rank());
  TensorType result{type.element, {}};
  for (const std::int64_t axis : axes) {
    result.shape.push_back(type.shape[axis_of(axis)]);
  }
  check_result(op, result);
}

Arrays evaluate_transpose(Frame&, const Operation& op,
                          std::span<const Array> in) {
  const Strides strides = row_major_strides(in[0].type().shape);
  Track from;
  for (const std::int64_t axis : op.integers("permutation")) {
    from.strides.push_back(strides[axis_of(axis)]);
  }
  return read_along(op, in[0], from);
}

constexpr std::array reverse_attributes = {
    AttributeRow{"dimensions", "dims", Kind::integers, true}};

void check_reverse(const Operation& op) {
  check_axes(op, "dims", op.integers("dimensions"),
             op.operand_types[0].shape.rank());
  check_result(op, op.operand_types[0]);
}

Arrays evaluate_reverse(Frame&, const Operation& op,
                        std::span<const Array> in) {
  const Shape& shape = in[0].type().shape;
  Track from = row_major(shape);
  for (const std::int64_t dimension : op.integers("dimensions")) {
    const int axis = axis_of(dimension);
    from.start += (shape[axis] - 1) * from.strides[axis];
    from.strides[axis] = -from.strides[axis];
  }
  return read_along(op, in[0], from);
}

// slice, concatenate, pad

constexpr std::array slice_attributes = {
    AttributeRow{"start_indices", "", Kind::integers, true},
    AttributeRow{"limit_indices", "", Kind::integers, true},
    AttributeRow{"strides", "", Kind::integers, true}};

void check_slice(const Operation& op) {
  const TensorType& type = op.operand_types[0];
  const int rank = type.shape.rank();
  const auto& starts = op.integers("start_indices");
  const auto& limits = op.integers("limit_indices");
  const auto& steps = op.integers("strides");
  check_size(op, "starts", starts, rank);
  check_size(op, "limits", limits, rank);
  check_size(op, "strides", steps, rank);
  TensorType result = type;
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (starts[at] < 0 || starts[at] > limits[at] ||
        limits[at] > type.shape[i] || steps[at] < 1) {
      refuse(op, std::to_string(starts[at]) + ":" + std::to_string(limits[at]) +
                     ":" + std::to_string(steps[at]) + " of axis " +
                     std::to_string(i) + " of " + type.text());
    }
    const std::int64_t span = limits[at] - starts[at];
    result.shape[i] = span / steps[at] + (span % steps[at] != 0 ? 1 : 0);
  }
  check_result(op, result);
}

Arrays evaluate_slice(Frame&, const Operation& op, std::span<const Array> in) {
  Track from = row_major(in[0].type().shape);
  const auto& starts = op.integers("start_indices");
  const auto& steps = op.integers("strides");
  for (int i = 0; i < from.strides.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    from.start += starts[at] * from.strides[i];
    from.strides[i] *= steps[at];
  }
  return read_along(op, in[0], from);
}

constexpr std::array concatenate_attributes = {
    AttributeRow{"dimension", "dim", Kind::integer, true}};

void check_concatenate(const Operation& op) {
  const TensorType& first = op.operand_types[0];
  const std::int64_t dimension = op.get("dimension").integer;
  check_axes(op, "dimensions", {dimension}, first.shape.rank());
  const int axis = axis_of(dimension);
  TensorType result = first;
  result.shape[axis] = 0;
  for (const TensorType& type : op.operand_types) {
    if (type.element != first.element ||
        type.shape.rank() != first.shape.rank() ||
        type.shape.with(axis, 0) != first.shape.with(axis, 0)) {
      refuse(op, first.text() + " with " + type.text() + " along axis " +
                     std::to_string(axis));
    }
    result.shape[axis] += type.shape[axis];
  }
  check_result(op, result);
}

Arrays evaluate_concatenate(Frame&, const Operation& op,
                            std::span<const Array> in) {
  Array out(op.results[0]);
  const int axis = axis_of(op.get("dimension").integer);
  Track to = row_major(out.type().shape);
  for (const Array& part : in) {
    const Shape& shape = part.type().shape;
    copy_elements(shape, width_of(out), part.data(), row_major(shape),
                  out.data(), to);
    to.start += shape[axis] * to.strides[axis];
  }
  return {out};
}

constexpr std::array pad_attributes = {
    AttributeRow{"edge_padding_low", "low", Kind::integers, true},
    AttributeRow{"edge_padding_high", "high", Kind::integers, true},
    AttributeRow{"interior_padding", "interior", Kind::integers, true}};

// Small enough that no sum of extents and paddings overflows.
constexpr std::int64_t greatest_padding = std::int64_t{1} << 40;

void check_pad(const Operation& op) {
  const TensorType& type = op.operand_types[0];
  const int rank = type.shape.rank();
  const auto& low = op.integers("edge_padding_low");
  const auto& high = op.integers("edge_padding_high");
  const auto& interior = op.integers("interior_padding");
  check_size(op, "low", low, rank);
  check_size(op, "high", high, rank);
  check_size(op, "interior", interior, rank);
  if (op.operand_types[1] != TensorType{type.element, {}}) {
    refuse(op, "a padding of " + op.operand_types[1].text() + " for " +
                   type.text());
  }
  TensorType result = type;
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t gaps = std::max<std::int64_t>(type.shape[i] - 1, 0);
    const bool in_range = std::min(low[at], high[at]) >= -greatest_padding &&
                          std::max(low[at], high[at]) <= greatest_padding &&
                          interior[at] >= 0 &&
                          interior[at] <= greatest_padding / (gaps + 1);
    if (!in_range) {
      refuse(op, "paddings out of range along axis " + std::to_string(i));
    }
    result.shape[i] = low[at] + type.shape[i] + gaps * interior[at] + high[at];
    if (result.shape[i] < 0) {
      refuse(op, "nothing is left of axis " + std::to_string(i) + " of " +
                     type.text());
    }
  }
  check_result(op, result);
}

Arrays evaluate_pad(Frame&, const Operation& op, std::span<const Array> in) {
  Array out(op.results[0]);
  const Shape& from_shape = in[0].type().shape;
  const Shape& to_shape = out.type().shape;
  const Track all = row_major(to_shape);
  Track still{0, all.strides};
  for (std::int64_t& stride : still.strides) stride = 0;
  copy_elements(to_shape, width_of(out), in[1].data(), still, out.data(), all);

  // Of each axis, the elements that negative edges leave: element i goes to
  // low + i (interior + 1), if that is in [0, extent).
  Track from = row_major(from_shape);
  Track to = all;
  Shape kept = from_shape;
  for (int i = 0; i < from_shape.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t low = op.integers("edge_padding_low")[at];
    const std::int64_t step = op.integers("interior_padding")[at] + 1;
    const std::int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const std::int64_t room = to_shape[i] - low;
    const std::int64_t end =
        std::min(from_shape[i], room <= 0 ? 0 : (room + step - 1) / step);
    kept[i] = std::max<std::int64_t>(end - first, 0);
    from.start += first * from.strides[i];
    to.start += (low + first * step) * to.strides[i];
    to.strides[i] *= step;
  }
  copy_elements(kept, width_of(out), in[0].data(), from, out.data(), to);
  return {out};
}

// dynamic_slice, dynamic_update_slice

constexpr std::array dynamic_slice_attributes = {
    AttributeRow{"slice_sizes", "sizes", Kind::integers, true}};

// One integer scalar for each axis, all of one type, behind `first` operands.
void check_starts(const Operation& op, std::size_t first) {
  const TensorType& type = op.operand_types[0];
  const auto rank = static_cast<std::size_t>(type.shape.rank());
  if (op.operand_types.size() != first + rank) {
    refuse(op, std::to_string(op.operand_types.size() - first) +
                   " start indices for " + type.text());
  }
  for (std::size_t i = first; i < op.operand_types.size(); ++i) {
    const TensorType& start = op.operand_types[i];
    if (!start.is_scalar() || !is_integer(start.element) ||
        start != op.operand_types[first]) {
      refuse(op, "a start index of " + start.text());
    }
  }
}

void check_dynamic_slice(const Operation& op) {
  check_starts(op, 1);
  const TensorType& type = op.operand_types[0];
  const auto& sizes = op.integers("slice_sizes");
  check_size(op, "sizes", sizes, type.shape.rank());
  TensorType result{type.element, {}};
  for (int i = 0; i < type.shape.rank(); ++i) {
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    if (size < 0 || size > type.shape[i]) {
      refuse(op, "sizes " + text(sizes) + " of " + type.text());
    }
    result.shape.push_back(size);
  }
  check_result(op, result);
}

// The track of a window in an array; starts are clamped so that it fits.
Track window(const Shape& shape, const Shape& sizes,
             std::span<const Array> starts) {
  Track track = row_major(shape);
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t start = starts[static_cast<std::size_t>(i)].integer(0);
    track.start += std::clamp<std::int64_t>(start, 0, shape[i] - sizes[i]) *
                   track.strides[i];
  }
  return track;
}

Arrays evaluate_dynamic_slice(Frame&, const Operation& op,
                              std::span<const Array> in) {
  return read_along(
      op, in[0],
      window(in[0].type().shape, op.results[0].shape, in.subspan(1)));
}

void check_dynamic_update_slice(const Operation& op) {
  if (op.operand_types.size() < 2) refuse(op, "no update");
  check_starts(op, 2);
  const TensorType& type = op.operand_types[0];
  const TensorType& update = op.operand_types[1];
  bool fits = update.element == type.element &&
              update.shape.rank() == type.shape.rank();
  for (int i = 0; fits && i < type.shape.rank(); ++i) {
    fits = update.shape[i] <= type.shape[i];
  }
  if (!fits)
    refuse(op, "an update of " + update.text() + " for " + type.text());
  check_result(op, type);
}

Arrays evaluate_dynamic_update_slice(Frame&, const Operation&,
                                     std::span<const Array> in) {
  Array out = in[0].copied();
  const Shape& sizes = in[1].type().shape;
  copy_elements(sizes, width_of(out), in[1].data(), row_major(sizes),
                out.data(), window(out.type().shape, sizes, in.subspan(2)));
  return {out};
}

// clang-format off
constexpr std::array rows = {
    OperationRow{"stablehlo.constant", 0, 0, Signature::result, constant_attributes, check_constant, evaluate_constant},
    OperationRow{"stablehlo.iota", 0, 0, Signature::result, iota_attributes, check_iota, evaluate_iota},
    OperationRow{"stablehlo.broadcast_in_dim", 1, 0, Signature::functional, broadcast_attributes, check_broadcast, evaluate_broadcast},
    OperationRow{"stablehlo.reshape", 1, 0, Signature::functional, {}, check_reshape, evaluate_reshape},
    OperationRow{"stablehlo.transpose", 1, 0, Signature::functional, transpose_attributes, check_transpose, evaluate_transpose},
    OperationRow{"stablehlo.reverse", 1, 0, Signature::uniform, reverse_attributes, check_reverse, evaluate_reverse},
    OperationRow{"stablehlo.slice", 1, 0, Signature::functional, slice_attributes, check_slice, evaluate_slice},
    OperationRow{"stablehlo.concatenate", some, 0, Signature::functional, concatenate_attributes, check_concatenate, evaluate_concatenate},
    OperationRow{"stablehlo.pad", 2, 0, Signature::functional, pad_attributes, check_pad, evaluate_pad},
    OperationRow{"stablehlo.dynamic_slice", some, 0, Signature::functional, dynamic_slice_attributes, check_dynamic_slice, evaluate_dynamic_slice},
    OperationRow{"stablehlo.dynamic_update_slice", some, 0, Signature::functional, {}, check_dynamic_update_slice, evaluate_dynamic_update_slice},
};
// clang-format on

}  // namespace

std::span<const OperationRow> layout_rows() { return rows; }

}  // namespace topos::stablehlo_text

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "stablehlo/dialect.h"
#include "stablehlo/evaluator.h"
#include "stablehlo/walk.h"

/// \file
/// gather and scatter: windows of an array, placed by an array of indices. The
/// two are one mapping read in two directions; what the specification calls
/// result and offset dims of a gather are updates and window dims of a scatter.

namespace topos::stablehlo_text {
namespace {

using Kind = Attribute::Kind;
using Integers = std::vector<std::int64_t>;
using Index = Inline<std::int64_t>;

/// The dimension numbers.
struct Windows {
  const Integers& window_dims;       // of the windows array: inside a window
  const Integers& collapsed;         // of the operand: no axis in a window
  const Integers& operand_batching;  // of the operand: taken from the batch
  const Integers& indices_batching;  // of the indices, one for each of these
  const Integers& index_map;         // component of an index to operand axis
  std::int64_t vector_dim;           // of the indices: where components lie
};

std::int64_t vector_dim_of(const Attribute& numbers) {
  const Attribute* found = numbers.find("index_vector_dim");
  return found == nullptr ? 0 : found->integer;
}

Windows gather_windows(const Operation& op) {
  const Attribute& numbers = op.get("dimension_numbers");
  return {numbers.integers_of("offset_dims"),
          numbers.integers_of("collapsed_slice_dims"),
          numbers.integers_of("operand_batching_dims"),
          numbers.integers_of("start_indices_batching_dims"),
          numbers.integers_of("start_index_map"),
          vector_dim_of(numbers)};
}

Windows scatter_windows(const Operation& op) {
  const Attribute& numbers = op.get("scatter_dimension_numbers");
  return {numbers.integers_of("update_window_dims"),
          numbers.integers_of("inserted_window_dims"),
          numbers.integers_of("input_batching_dims"),
          numbers.integers_of("scatter_indices_batching_dims"),
          numbers.integers_of("scatter_dims_to_operand_dims"),
          vector_dim_of(numbers)};
}

Integers joined(const Integers& left, const Integers& right) {
  Integers all = left;
  all.insert(all.end(), right.begin(), right.end());
  return all;
}

// What gather and scatter have in common [spec: gather C1-C19, scatter C2,
// C7-C22].
void check_windows(const Operation& op, const Windows& windows,
                   const TensorType& operand, const TensorType& indices) {
  const int rank = operand.shape.rank();
  const int indices_rank = indices.shape.rank();
  if (!is_integer(indices.element)) refuse(op, "indices of " + indices.text());
  if (windows.window_dims.size() + windows.collapsed.size() +
          windows.operand_batching.size() !=
      static_cast<std::size_t>(rank)) {
    refuse(op, "window dims " + text(windows.window_dims) + ", collapsed " +
                   text(windows.collapsed) + " and batching " +
                   text(windows.operand_batching) + " of " + operand.text());
  }
  if (windows.vector_dim < 0 || windows.vector_dim > indices_rank) {
    refuse(op, "index_vector_dim " + std::to_string(windows.vector_dim) +
                   " of " + indices.text());
  }
  const std::int64_t components =
      windows.vector_dim < indices_rank
          ? indices.shape[static_cast<int>(windows.vector_dim)]
          : 1;
  if (static_cast<std::int64_t>(windows.index_map.size()) != components) {
    refuse(op, "indices of " + std::to_string(components) +
                   " components for axes " + text(windows.index_map));
  }
  check_ascending(op, "window dims", windows.window_dims);
  check_ascending(op, "collapsed dims", windows.collapsed);
  check_ascending(op, "batching dims", windows.operand_batching);
  check_axes(op, "collapsed and batching dims",
             joined(windows.collapsed, windows.operand_batching), rank);
  check_axes(op, "indexed and batching dims",
             joined(windows.index_map, windows.operand_batching), rank);
  check_axes(op, "batching dims of the indices", windows.indices_batching,
             indices_rank);
  if (contains(windows.indices_batching, windows.vector_dim)) {
    refuse(op, "index_vector_dim is a batching dim");
  }
  check_size(op, "batching dims of the indices", windows.indices_batching,
             static_cast<int>(windows.operand_batching.size()));
  for (std::size_t i = 0; i < windows.operand_batching.size(); ++i) {
    const int axis = static_cast<int>(windows.operand_batching[i]);
    const int other = static_cast<int>(windows.indices_batching[i]);
    if (operand.shape[axis] != indices.shape[other]) {
      refuse(op, "batching dims differ: axis " + std::to_string(axis) + " of " +
                     operand.text() + " and axis " + std::to_string(other) +
                     " of " + indices.text());
    }
  }
}

// The shape of the windows array: that of the indices without the components,
// with the extents of a window put in at the window dims.
Shape shape_of_windows(const Operation& op, const Windows& windows,
                       const Shape& indices, const Index& window) {
  const auto vector = static_cast<int>(windows.vector_dim);
  const int batch_rank = indices.rank() - (vector < indices.rank() ? 1 : 0);
  const int rank = batch_rank + window.size();
  if (rank > max_rank) refuse(op, "too many axes");
  check_axes(op, "window dims", windows.window_dims, rank);
  Shape result;
  int next_index = 0;
  int next_window = 0;
  for (int i = 0; i < rank; ++i) {
    if (contains(windows.window_dims, i)) {
      result.push_back(window[next_window++]);
    } else {
      if (next_index == vector) ++next_index;
      result.push_back(indices[next_index++]);
    }
  }
  return result;
}

/// Where the elements of the windows array lie in the operand.
class Placement {
 public:
  Placement(const Windows& windows, const Array& indices, const Shape& operand)
      : windows_(windows),
        indices_(indices),
        strides_(row_major_strides(indices.type().shape)),
        rank_(operand.rank()) {}

  /// Where the window of `at`, an index of the windows array, begins as its
  /// indices say, on each axis of the operand.
  Index start(const Index& at) const;
  /// What the batch and the place inside the window add to that.
  Index offset(const Index& at) const;

 private:
  // The axis of the indices that axis `dim` of the batch is.
  int indices_axis(int dim) const {
    return dim < windows_.vector_dim ? dim : dim + 1;
  }
  // The axes of `at` that are not in a window, in order.
  Index batch(const Index& at) const {
    Index result;
    for (int i = 0; i < at.size(); ++i) {
      if (!contains(windows_.window_dims, i)) result.push_back(at[i]);
    }
    return result;
  }
  Index zeros() const {
    Index result;
    for (int i = 0; i < rank_; ++i) result.push_back(0);
    return result;
  }

  const Windows& windows_;
  const Array& indices_;
  Strides strides_;
  int rank_;
};

Index Placement::start(const Index& at) const {
  const Index outer = batch(at);
  std::int64_t position = 0;
  for (int i = 0; i < outer.size(); ++i) {
    position += outer[i] * strides_[indices_axis(i)];
  }
  const auto vector = static_cast<int>(windows_.vector_dim);
  const std::int64_t step = vector < strides_.size() ? strides_[vector] : 0;
  Index result = zeros();
  for (const std::int64_t axis : windows_.index_map) {
    result[static_cast<int>(axis)] = indices_.integer(position);
    position += step;
  }
  return result;
}

Index Placement::offset(const Index& at) const {
  const Index outer = batch(at);
  Index result = zeros();
  for (std::size_t i = 0; i < windows_.operand_batching.size(); ++i) {
    const auto axis = windows_.indices_batching[i];
    const auto dim = axis - (axis < windows_.vector_dim ? 0 : 1);
    result[static_cast<int>(windows_.operand_batching[i])] =
        outer[static_cast<int>(dim)];
  }
  std::size_t next = 0;
  for (int axis = 0; axis < rank_; ++axis) {
    if (contains(windows_.collapsed, axis) ||
        contains(windows_.operand_batching, axis)) {
      continue;
    }
    result[axis] = at[static_cast<int>(windows_.window_dims[next++])];
  }
  return result;
}

// Calls `f(index, position)` for all of `shape` in row-major order.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  Index index;
  for (int i = 0; i < shape.rank(); ++i) index.push_back(0);
  const std::int64_t count = shape.element_count();
  for (std::int64_t position = 0; position < count; ++position) {
    f(index, position);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// gather

constexpr std::array<std::string_view, 5> gather_fields = {
    "offset_dims", "collapsed_slice_dims", "operand_batching_dims",
    "start_indices_batching_dims", "start_index_map"};

constexpr std::array gather_attributes = {
    AttributeRow{"dimension_numbers", "", Kind::record, true},
    AttributeRow{"slice_sizes", "", Kind::integers, true},
    AttributeRow{"indices_are_sorted", "", Kind::boolean, false}};

void check_gather(const Operation& op) {
  check_record(op, op.get("dimension_numbers"), "stablehlo.gather",
               gather_fields, "index_vector_dim");
  const Windows windows = gather_windows(op);
  const TensorType& operand = op.operand_types[0];
  const TensorType& indices = op.operand_types[1];
  check_windows(op, windows, operand, indices);
  const auto& sizes = op.integers("slice_sizes");
  check_size(op, "slice_sizes", sizes, operand.shape.rank());
  Index window;
  for (int i = 0; i < operand.shape.rank(); ++i) {
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    const bool dropped =
        contains(windows.collapsed, i) || contains(windows.operand_batching, i);
    if (size < 0 || size > operand.shape[i] || (dropped && size > 1)) {
      refuse(op, "slice_sizes " + text(sizes) + " of " + operand.text());
    }
    if (!dropped) window.push_back(size);
  }
  check_result(op, {operand.element,
                    shape_of_windows(op, windows, indices.shape, window)});
}

Arrays evaluate_gather(Frame&, const Operation& op, std::span<const Array> in) {
  const Windows windows = gather_windows(op);
  const Shape& shape = in[0].type().shape;
  const Strides strides = row_major_strides(shape);
  const Placement placement(windows, in[1], shape);
  const auto& sizes = op.integers("slice_sizes");
  Array out(op.results[0]);
  const std::size_t width = size_bytes(out.type().element);
  for_each_index(out.type().shape, [&](const Index& at, std::int64_t to) {
    const Index start = placement.start(at);
    const Index offset = placement.offset(at);
    std::int64_t from = 0;
    for (int i = 0; i < shape.rank(); ++i) {
      const std::int64_t last = shape[i] - sizes[static_cast<std::size_t>(i)];
      from += (std::clamp<std::int64_t>(start[i], 0, last) + offset[i]) *
              strides[i];
    }
    std::copy_n(in[0].data() + from * static_cast<std::int64_t>(width), width,
                out.data() + to * static_cast<std::int64_t>(width));
  });
  return {out};
}

// scatter: inputs, indices, updates

constexpr std::array<std::string_view, 5> scatter_fields = {
    "update_window_dims", "inserted_window_dims", "input_batching_dims",
    "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"};

constexpr std::array scatter_attributes = {
    AttributeRow{"scatter_dimension_numbers", "", Kind::record, true},
    AttributeRow{"indices_are_sorted", "", Kind::boolean, false},
    AttributeRow{"unique_indices", "", Kind::boolean, false}};

void check_scatter(const Operation& op) {
  if (op.operand_types.size() % 2 == 0) refuse(op, "an even count of operands");
  const std::size_t count = op.operand_types.size() / 2;
  if (count == 0) refuse(op, "no updates");
  check_record(op, op.get("scatter_dimension_numbers"), "stablehlo.scatter",
               scatter_fields, "index_vector_dim");
  const Windows windows = scatter_windows(op);
  const TensorType& operand = op.operand_types[0];
  const TensorType& indices = op.operand_types[count];
  const TensorType& updates = op.operand_types[count + 1];
  check_windows(op, windows, operand, indices);

  // A window may be smaller than the operand, but no larger.
  Index window;
  int next = 0;
  for (int i = 0; i < operand.shape.rank(); ++i) {
    if (contains(windows.collapsed, i) ||
        contains(windows.operand_batching, i)) {
      continue;
    }
    const std::int64_t dim =
        windows.window_dims[static_cast<std::size_t>(next)];
    ++next;
    if (dim < 0 || dim >= updates.shape.rank() ||
        updates.shape[static_cast<int>(dim)] > operand.shape[i]) {
      refuse(op, "updates of " + updates.text() + " for " + operand.text());
    }
    window.push_back(updates.shape[static_cast<int>(dim)]);
  }
  if (updates.shape != shape_of_windows(op, windows, indices.shape, window)) {
    refuse(op, "updates of " + updates.text() + " for indices of " +
                   indices.text());
  }
  for (std::size_t i = 0; i < count; ++i) {
    const TensorType& input = op.operand_types[i];
    const TensorType& update = op.operand_types[count + 1 + i];
    if (input.shape != operand.shape || update.shape != updates.shape ||
        update.element != input.element) {
      refuse(op, "updates of " + update.text() + " for " + input.text());
    }
  }
  check_combiner(
      op, {op.operand_types.begin(),
           op.operand_types.begin() + static_cast<std::ptrdiff_t>(count)});
  if (!std::equal(
          op.results.begin(), op.results.end(), op.operand_types.begin(),
          op.operand_types.begin() + static_cast<std::ptrdiff_t>(count))) {
    refuse(op, "the results are not of the types of the inputs");
  }
}

// Updates in row-major order. Those that fall outside are dropped, element by
// element as in the specification (XLA drops the window that they belong to).
Arrays evaluate_scatter(Frame& frame, const Operation& op,
                        std::span<const Array> in) {
  const std::size_t count = in.size() / 2;
  const Windows windows = scatter_windows(op);
  const Shape& shape = in[0].type().shape;
  const Strides strides = row_major_strides(shape);
  const Placement placement(windows, in[count], shape);
  Combiner combine(frame, op.regions[0]);
  Arrays out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(in[i].copied());

  std::vector<std::byte*> into(count);
  std::vector<const std::byte*> from(count);
  const Shape& updates = in[count + 1].type().shape;
  for_each_index(updates, [&](const Index& at, std::int64_t position) {
    const Index start = placement.start(at);
    const Index offset = placement.offset(at);
    std::int64_t target = 0;
    for (int i = 0; i < shape.rank(); ++i) {
      // Not start + offset, which may overflow.
      if (start[i] < -offset[i] || start[i] >= shape[i] - offset[i]) return;
      target += (start[i] + offset[i]) * strides[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto width =
          static_cast<std::int64_t>(size_bytes(out[i].type().element));
      into[i] = out[i].data() + target * width;
      from[i] = in[count + 1 + i].data() + position * width;
    }
    combine(into, from);
  });
  return out;
}

// clang-format off
constexpr std::array rows = {
    OperationRow{"stablehlo.gather", 2, 0, Signature::functional, gather_attributes, check_gather, evaluate_gather},
    OperationRow{"stablehlo.scatter", some, 1, Signature::functional, scatter_attributes, check_scatter, evaluate_scatter},
};
// clang-format on

}  // namespace

std::span<const OperationRow> window_rows() { return rows; }

}  // namespace topos::stablehlo_text

#include "stablehlo/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tensor/visit.h"
#include "topos/error.h"

namespace topos::stablehlo {

namespace {

std::vector<int> integers(const Axes& axes) {
  return std::vector<int>(axes.begin(), axes.end());
}

/// `[0, 2]`.
std::string list_text(const std::vector<int>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::vector<int> range(int begin, int end) {
  std::vector<int> result;
  for (int i = begin; i < end; ++i) result.push_back(i);
  return result;
}

constexpr std::string_view name_of(Reduction reduction) {
  constexpr std::string_view names[] = {"add", "maximum", "minimum"};
  return names[static_cast<std::size_t>(reduction)];
}

/// What a reduction starts from: it changes no element.
Number neutral(Reduction reduction, DType dtype) {
  if (reduction == Reduction::add) return dtype == boolean ? Number(false) : 0;
  const bool greatest = reduction == Reduction::minimum;
  if (is_floating(dtype)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return greatest ? infinity : -infinity;
  }
  return visit_dtype(dtype, [&]<class T>() -> Number {
    if constexpr (std::integral<T>) {
      using Limits = std::numeric_limits<T>;
      return greatest ? Limits::max() : Limits::lowest();
    }
    throw InternalError("a reduction of an unknown dtype");
  });
}

}  // namespace

// ---- Names and lines ------------------------------------------------------

Value Writer::argument(std::string_view text, const Type& type) {
  // An identifier of MLIR: letters, digits and $._-, not a digit first.
  std::string name;
  for (char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       c == '$' || c == '.' || c == '_' || c == '-';
    name += plain ? c : '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
    name.insert(0, "_");
  }
  std::string unique = name;
  for (int n = 1; !used_names_.insert(unique).second; ++n) {
    unique = fmt::format("{}_{}", name, n);
  }
  const Value value = fresh(type);
  names_[value.name] = "%" + unique;
  return value;
}

std::string Writer::name_of(const Value& value) const {
  const auto given = names_.find(value.name);
  return given != names_.end() ? given->second : fmt::format("%{}", value.name);
}

Value Writer::fresh(const Type& type) { return {next_++, type}; }

std::string Writer::list(std::span<const Value> operands) const {
  std::string result;
  for (const Value& operand : operands) {
    result += (result.empty() ? "" : ", ") + name_of(operand);
  }
  return result;
}

Value Writer::line(const Type& type, std::string_view text) {
  const auto [known, is_new] = written_.try_emplace(std::string(text));
  if (!is_new) return known->second;
  const Value result = known->second = fresh(type);
  body_ += fmt::format("{}%{} = stablehlo.{}\n", indent_, result.name, text);
  ++operations_;
  return result;
}

// ---- Element by element ---------------------------------------------------

Value Writer::elementwise(std::string_view operation,
                          std::initializer_list<Value> operands) {
  const Type& type = operands.begin()->type;
  return line(type, fmt::format("{} {} : {}", operation,
                                list({operands.begin(), operands.size()}),
                                text_of(type)));
}

Value Writer::elementwise(std::string_view operation, const Call& call) {
  return line(call.result,
              fmt::format("{} {} : {}", operation, list(call.operands),
                          text_of(call.result)));
}

Value Writer::compare(std::string_view direction, const Value& a,
                      const Value& b) {
  const Type type{boolean, a.type.shape};
  const std::string_view kind = is_floating(a.type.dtype) ? "FLOAT"
                                : a.type.dtype == boolean ? "UNSIGNED"
                                                          : "SIGNED";
  const std::string operand = text_of(a.type);
  return line(type, fmt::format("compare {}, {}, {}, {} : ({}, {}) -> {}",
                                direction, name_of(a), name_of(b), kind,
                                operand, operand, text_of(type)));
}

Value Writer::select(const Value& condition, const Value& a, const Value& b) {
  return line(a.type, fmt::format("select {}, {}, {} : {}, {}",
                                  name_of(condition), name_of(a), name_of(b),
                                  text_of(condition.type), text_of(a.type)));
}

Value Writer::convert(const Value& x, DType to) {
  const Type type{to, x.type.shape};
  return line(type, fmt::format("convert {} : ({}) -> {}", name_of(x),
                                text_of(x.type), text_of(type)));
}

Value Writer::is_finite(const Value& x) {
  const Type type{boolean, x.type.shape};
  return line(type, fmt::format("is_finite {} : ({}) -> {}", name_of(x),
                                text_of(x.type), text_of(type)));
}

// ---- Constants ------------------------------------------------------------

Value Writer::scalar(DType dtype, Number value) {
  return scalar(dtype == boolean ? Tensor::scalar(value != Number(0) &&
                                                  value != Number(false))
                                 : Tensor::full({dtype, {}}, value));
}

Value Writer::scalar(const Tensor& element) {
  return line(element.type(),
              fmt::format("constant {} : {}", dense_text(element),
                          text_of(element.type())));
}

Value Writer::full(const Type& type, Number value) {
  const Value element = scalar(type.dtype, value);
  if (type.shape.rank() == 0) return element;
  return broadcast(element, type.shape, {});
}

Value Writer::constant(const Tensor& elements) {
  const Tensor plain = elements.contiguous();
  if (is_uniform(plain)) {
    // Not as a Number, which would quiet a NaN.
    const Value element = scalar(
        plain.reshaped({plain.element_count()}).narrowed(0, 0, 1).reshaped({}));
    return plain.rank() == 0 ? element : broadcast(element, plain.shape(), {});
  }
  if (const auto axis = counting_axis(plain)) {
    return iota(plain.type(), *axis);
  }
  return line(plain.type(), fmt::format("constant {} : {}", dense_text(plain),
                                        text_of(plain.type())));
}

Value Writer::iota(const Type& type, int axis) {
  return line(type, fmt::format("iota dim = {} : {}", axis, text_of(type)));
}

// ---- Shapes ---------------------------------------------------------------

Value Writer::broadcast(const Value& x, const Shape& shape, const Axes& axes) {
  const Type type{x.type.dtype, shape};
  return line(type, fmt::format("broadcast_in_dim {}, dims = {} : ({}) -> {}",
                                name_of(x), list_text(integers(axes)),
                                text_of(x.type), text_of(type)));
}

Value Writer::broadcast_back(const Value& reduced, const Shape& shape,
                             const Axes& axes) {
  Axes kept;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!axes.contains(static_cast<std::int8_t>(axis))) {
      kept.push_back(static_cast<std::int8_t>(axis));
    }
  }
  return broadcast(reduced, shape, kept);
}

Value Writer::reshape(const Value& x, const Shape& shape) {
  const Type type{x.type.dtype, shape};
  return line(type, fmt::format("reshape {} : ({}) -> {}", name_of(x),
                                text_of(x.type), text_of(type)));
}

Value Writer::transpose(const Value& x, const Axes& axes) {
  Type type{x.type.dtype, {}};
  for (int axis : axes) type.shape.push_back(x.type.shape[axis]);
  return line(type, fmt::format("transpose {}, dims = {} : ({}) -> {}",
                                name_of(x), list_text(integers(axes)),
                                text_of(x.type), text_of(type)));
}

Value Writer::reverse(const Value& x, const Axes& axes) {
  return line(x.type, fmt::format("reverse {}, dims = {} : {}", name_of(x),
                                  list_text(integers(axes)), text_of(x.type)));
}

Value Writer::slice(const Value& x, int axis, std::int64_t start,
                    std::int64_t count) {
  const Shape& from = x.type.shape;
  const Type type{x.type.dtype, from.with(axis, count)};
  std::string limits;
  for (int i = 0; i < from.rank(); ++i) {
    const std::int64_t first = i == axis ? start : 0;
    limits += fmt::format("{}{}:{}", i == 0 ? "" : ", ", first,
                          first + type.shape[i]);
  }
  return line(type, fmt::format("slice {} [{}] : ({}) -> {}", name_of(x),
                                limits, text_of(x.type), text_of(type)));
}

Value Writer::concatenate(const Call& call, int axis) {
  std::vector<std::string> types;
  for (const Value& operand : call) types.push_back(text_of(operand.type));
  return line(
      call.result,
      fmt::format("concatenate {}, dim = {} : ({}) -> {}", list(call.operands),
                  axis, fmt::join(types, ", "), text_of(call.result)));
}

Value Writer::pad(const Value& x, Number outside, const Shape& low,
                  const Shape& high) {
  Type type = x.type;
  for (int axis = 0; axis < low.rank(); ++axis) {
    type.shape[axis] += low[axis] + high[axis];
  }
  const Value value = scalar(x.type.dtype, outside);
  return line(
      type,
      fmt::format(
          "pad {}, {}, low = [{}], high = [{}], interior = [{}] : "
          "({}, {}) -> {}",
          name_of(x), name_of(value), fmt::join(low, ", "),
          fmt::join(high, ", "),
          fmt::join(std::vector<int>(static_cast<std::size_t>(low.rank()), 0),
                    ", "),
          text_of(x.type), text_of(value.type), text_of(type)));
}

// ---- Contractions ---------------------------------------------------------

Value Writer::dot_general(const Value& a, const Value& b, int batch,
                          int contracted_a, int contracted_b) {
  Type type{a.type.dtype, {}};
  for (int axis = 0; axis < a.type.shape.rank(); ++axis) {
    if (axis != contracted_a) type.shape.push_back(a.type.shape[axis]);
  }
  for (int axis = batch; axis < b.type.shape.rank(); ++axis) {
    if (axis != contracted_b) type.shape.push_back(b.type.shape[axis]);
  }
  std::string batching;
  if (batch > 0) {
    const std::string axes = list_text(range(0, batch));
    batching = fmt::format(", batching_dims = {} x {}", axes, axes);
  }
  return line(
      type,
      fmt::format("dot_general {}, {}{}, contracting_dims = [{}] x [{}], "
                  "precision = [HIGHEST, HIGHEST] : ({}, {}) -> {}",
                  name_of(a), name_of(b), batching, contracted_a, contracted_b,
                  text_of(a.type), text_of(b.type), text_of(type)));
}

Value Writer::reduce(Reduction reduction, const Value& x, const Axes& axes) {
  const std::string key =
      fmt::format("reduce {} {} {}", stablehlo::name_of(reduction), name_of(x),
                  axes.text());
  const auto [known, is_new] = written_.try_emplace(key);
  if (!is_new) return known->second;
  const Type element{x.type.dtype, {}};
  const Value from = scalar(x.type.dtype, neutral(reduction, x.type.dtype));
  const Value a = fresh(element);
  const Value b = fresh(element);
  const Value both = fresh(element);
  const Value result = fresh({x.type.dtype, x.type.shape.without(axes)});
  written_.at(key) = result;
  const std::string scalar_text = text_of(element);
  body_ += fmt::format(
      "    %{} = \"stablehlo.reduce\"({}, {}) ({{\n"
      "    ^bb0(%{}: {}, %{}: {}):\n"
      "      %{} = stablehlo.{} %{}, %{} : {}\n"
      "      \"stablehlo.return\"(%{}) : ({}) -> ()\n"
      "    }}) {{dimensions = array<i64{}{}>}} : ({}, {}) -> {}\n",
      result.name, name_of(x), name_of(from), a.name, scalar_text, b.name,
      scalar_text, both.name, stablehlo::name_of(reduction), a.name, b.name,
      scalar_text, both.name, scalar_text, axes.empty() ? "" : ": ",
      fmt::join(integers(axes), ", "), text_of(x.type), scalar_text,
      text_of(result.type));
  operations_ += 2;
  return result;
}

Value Writer::argmax(const Value& x, int axis) {
  const Type index_type{i32, x.type.shape};
  const Value indices = iota(index_type, axis);
  const Value least_value =
      scalar(x.type.dtype, neutral(Reduction::maximum, x.type.dtype));
  const Value zero = scalar(i32, 0);
  const Type element{x.type.dtype, {}};
  const Type position{i32, {}};
  const Value a = fresh(element);
  const Value i = fresh(position);
  const Value b = fresh(element);
  const Value j = fresh(position);
  const Value both = fresh(position);  // of two results: %n#0 and %n#1
  const std::string e = text_of(element);
  const std::string p = text_of(position);
  const Axes axes = axis;
  const std::string result = fmt::format(
      "{}, {}", text_of(Type{x.type.dtype, x.type.shape.without(axes)}),
      text_of(Type{i32, x.type.shape.without(axes)}));
  body_ += fmt::format(
      "    %{}:2 = \"stablehlo.reduce\"({}, {}, {}, {}) ({{\n"
      "    ^bb0(%{}: {}, %{}: {}, %{}: {}, %{}: {}):\n",
      both.name, name_of(x), name_of(indices), name_of(least_value),
      name_of(zero), a.name, e, i.name, p, b.name, e, j.name, p);
  indent_ = "      ";
  Value first = compare("GT", a, b);
  Value tied = compare("EQ", a, b);
  if (is_floating(x.type.dtype)) {
    // NaN is greater than all but NaN.
    const Value a_nan = compare("NE", a, a);
    const Value b_nan = compare("NE", b, b);
    first = elementwise(
        "or", {first, elementwise("and", {a_nan, compare("EQ", b, b)})});
    tied = elementwise("or", {tied, elementwise("and", {a_nan, b_nan})});
  }
  const Value lower = elementwise("minimum", {i, j});
  const Value best = select(first, a, b);
  const Value where = select(first, i, select(tied, lower, j));
  indent_ = "    ";
  body_ += fmt::format(
      "      \"stablehlo.return\"(%{}, %{}) : ({}, {}) -> ()\n"
      "    }}) {{dimensions = array<i64: {}>}} : ({}, {}, {}, {}) -> ({})\n",
      best.name, where.name, e, p, axis, text_of(x.type), text_of(index_type),
      e, p, result);
  ++operations_;
  const Value index = fresh({i32, x.type.shape.without(axes)});
  names_[index.name] = fmt::format("%{}#1", both.name);
  return index;
}

// ---- Indices --------------------------------------------------------------

namespace {

/// The axes of the slices that come from the indexed tensor: those before and
/// after the indexed one. The rest are the index's.
std::vector<int> slice_axes(const Shape& x, const Shape& index,
                            IndexedAxes at) {
  std::vector<int> result = range(at.batch, at.axis);
  const int rest = index.rank() - at.batch;
  const int rank = x.rank() - 1 + rest;
  for (int axis : range(at.axis + rest, rank)) result.push_back(axis);
  return result;
}

}  // namespace

Value Writer::gather(const Value& x, const Value& index, IndexedAxes at,
                     const Type& result_type) {
  const Shape& from = x.type.shape;
  // One element of the axes that indices name, if there is one.
  std::vector<std::int64_t> sizes(from.begin(), from.end());
  for (int axis : range(0, at.batch)) {
    sizes[static_cast<std::size_t>(axis)] =
        std::min<std::int64_t>(from[axis], 1);
  }
  sizes[static_cast<std::size_t>(at.axis)] =
      std::min<std::int64_t>(from[at.axis], 1);
  const std::string batch = list_text(range(0, at.batch));
  const std::string batching = at.batch == 0
                                   ? ""
                                   : fmt::format(
                                         "operand_batching_dims = {}, "
                                         "start_indices_batching_dims = {}, ",
                                         batch, batch);
  const Value result = fresh(result_type);
  body_ += fmt::format(
      "    %{} = \"stablehlo.gather\"({}, {}) {{dimension_numbers = "
      "#stablehlo.gather<offset_dims = {}, collapsed_slice_dims = [{}], "
      "{}start_index_map = [{}], index_vector_dim = {}>, indices_are_sorted = "
      "false, slice_sizes = array<i64: {}>}} : ({}, {}) -> {}\n",
      result.name, name_of(x), name_of(index),
      list_text(slice_axes(from, index.type.shape, at)), at.axis, batching,
      at.axis, index.type.shape.rank(), fmt::join(sizes, ", "), text_of(x.type),
      text_of(index.type), text_of(result_type));
  ++operations_;
  return result;
}

Value Writer::scatter_add(const Value& base, const Value& index,
                          const Value& updates, IndexedAxes at) {
  const std::string batch = list_text(range(0, at.batch));
  const std::string batching = at.batch == 0
                                   ? ""
                                   : fmt::format(
                                         "input_batching_dims = {}, "
                                         "scatter_indices_batching_dims = {}, ",
                                         batch, batch);
  const Type element{base.type.dtype, {}};
  const Value a = fresh(element);
  const Value b = fresh(element);
  const Value both = fresh(element);
  const Value result = fresh(base.type);
  const std::string e = text_of(element);
  body_ += fmt::format(
      "    %{} = \"stablehlo.scatter\"({}, {}, {}) ({{\n"
      "    ^bb0(%{}: {}, %{}: {}):\n"
      "      %{} = stablehlo.add %{}, %{} : {}\n"
      "      \"stablehlo.return\"(%{}) : ({}) -> ()\n"
      "    }}) {{scatter_dimension_numbers = "
      "#stablehlo.scatter<update_window_dims = {}, inserted_window_dims = "
      "[{}], {}scatter_dims_to_operand_dims = [{}], index_vector_dim = {}>, "
      "indices_are_sorted = false, unique_indices = false}} : ({}, {}, {}) -> "
      "{}\n",
      result.name, name_of(base), name_of(index), name_of(updates), a.name, e,
      b.name, e, both.name, a.name, b.name, e, both.name, e,
      list_text(slice_axes(base.type.shape, index.type.shape, at)), at.axis,
      batching, at.axis, index.type.shape.rank(), text_of(base.type),
      text_of(index.type), text_of(updates.type), text_of(result.type));
  operations_ += 2;
  return result;
}

Value Writer::composite(std::string_view name, std::string_view attributes,
                        std::string_view decomposition,
                        std::span<const Value> operands, const Type& result) {
  std::vector<std::string> types;
  for (const Value& operand : operands) types.push_back(text_of(operand.type));
  return line(result,
              fmt::format("composite \"{}\" {} {{{}decomposition = @{}}} : "
                          "({}) -> {}",
                          name, list(operands), attributes, decomposition,
                          fmt::join(types, ", "), text_of(result)));
}

}  // namespace topos::stablehlo

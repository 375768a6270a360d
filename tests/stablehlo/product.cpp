#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "stablehlo/dialect.h"
#include "stablehlo/evaluator.h"
#include "stablehlo/scalar_functions.h"
#include "stablehlo/walk.h"

/// \file
/// dot_general: both operands are brought into the order of a batch of matrix
/// products, [batch, m, k] and [batch, k, n].

namespace topos::stablehlo_text {
namespace {

using Kind = Attribute::Kind;
using Integers = std::vector<std::int64_t>;

constexpr std::array dot_attributes = {
    AttributeRow{"dot_dimension_numbers", "", Kind::record, true},
    AttributeRow{"precision_config", "precision", Kind::list, false}};

/// The axes of one operand.
struct Side {
  const Shape& shape;
  const Integers& batching;
  const Integers& contracting;
  Integers free;

  Side(const TensorType& type, const Attribute& numbers,
       const std::string& side)
      : shape(type.shape),
        batching(numbers.integers_of(side + "_batching_dimensions")),
        contracting(numbers.integers_of(side + "_contracting_dimensions")) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (!contains(batching, i) && !contains(contracting, i)) {
        free.push_back(i);
      }
    }
  }
};

struct Sides {
  Side left;
  Side right;
};

Sides sides_of(const Operation& op) {
  const Attribute& numbers = op.get("dot_dimension_numbers");
  return {{op.operand_types[0], numbers, "lhs"},
          {op.operand_types[1], numbers, "rhs"}};
}

void check_pairs(const Operation& op, std::string_view what, const Side& left,
                 const Integers& left_axes, const Side& right,
                 const Integers& right_axes) {
  if (left_axes.size() != right_axes.size()) {
    refuse(op, std::string(what) + " " + text(left_axes) + " x " +
                   text(right_axes));
  }
  for (std::size_t i = 0; i < left_axes.size(); ++i) {
    const std::int64_t x = left.shape[static_cast<int>(left_axes[i])];
    const std::int64_t y = right.shape[static_cast<int>(right_axes[i])];
    if (x == y) continue;
    refuse(op, std::string(what) + " " + text(left_axes) + " x " +
                   text(right_axes) + " have extents " + std::to_string(x) +
                   " and " + std::to_string(y));
  }
}

void check_side(const Operation& op, const Side& side) {
  Integers all = side.batching;
  all.insert(all.end(), side.contracting.begin(), side.contracting.end());
  check_axes(op, "batching and contracting dims", all, side.shape.rank());
}

void check_precision(const Operation& op) {
  const Attribute* precision = op.find("precision_config");
  if (precision == nullptr || precision->items.empty()) return;
  if (precision->items.size() != 2) refuse(op, "a precision for each operand");
  for (const Attribute& item : precision->items) {
    if (item.text != "DEFAULT" && item.text != "HIGH" &&
        item.text != "HIGHEST") {
      refuse(op, "no precision is called " + item.text);
    }
  }
}

constexpr std::array<std::string_view, 4> dot_fields = {
    "lhs_batching_dimensions", "rhs_batching_dimensions",
    "lhs_contracting_dimensions", "rhs_contracting_dimensions"};

void check_dot(const Operation& op) {
  check_record(op, op.get("dot_dimension_numbers"), "stablehlo.dot",
               dot_fields);
  const auto [left, right] = sides_of(op);
  check_side(op, left);
  check_side(op, right);
  check_pairs(op, "batching dims", left, left.batching, right, right.batching);
  check_pairs(op, "contracting dims", left, left.contracting, right,
              right.contracting);
  check_precision(op);
  const ElementType element = op.operand_types[0].element;
  if (op.operand_types[1].element != element) {
    refuse(op,
           op.operand_types[0].text() + " with " + op.operand_types[1].text());
  }
  if (left.batching.size() + left.free.size() + right.free.size() > max_rank) {
    refuse(op, "too many axes");
  }
  TensorType result{element, {}};
  for (const std::int64_t axis : left.batching) {
    result.shape.push_back(left.shape[static_cast<int>(axis)]);
  }
  for (const Side* side : {&left, &right}) {
    for (const std::int64_t axis : side->free) {
      result.shape.push_back(side->shape[static_cast<int>(axis)]);
    }
  }
  // StableHLO lets the result be of a wider type; here nobody needs that.
  check_result(op, result);
}

struct Matrices {
  Array elements;
  std::array<std::int64_t, 3> extents = {1, 1, 1};
};

// The operand with its axes in the order of three groups, each flattened.
Matrices arranged(const Array& in,
                  const std::array<const Integers*, 3>& groups) {
  const Shape& shape = in.type().shape;
  const Strides strides = row_major_strides(shape);
  Matrices result;
  Shape order;
  Track from;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const std::int64_t dimension : *groups[group]) {
      const int axis = static_cast<int>(dimension);
      order.push_back(shape[axis]);
      from.strides.push_back(strides[axis]);
      result.extents[group] *= shape[axis];
    }
  }
  result.elements = Array({in.type().element, order});
  copy_elements(order, size_bytes(in.type().element), in.data(), from,
                result.elements.data(), row_major(order));
  return result;
}

// One chain of sums for each element, k ascending from 0, in T itself.
template <class T>
void multiply(const T* a, const T* b, std::int64_t m, std::int64_t k,
              std::int64_t n, T* out) {
  std::fill(out, out + m * n, T{0});
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      using C = Computed<T>;
      const C x = a[i * k + j];
      for (std::int64_t l = 0; l < n; ++l) {
        T& sum = out[i * n + l];
        const C y = b[j * n + l];
        const C product = static_cast<T>(scalar::Multiply::apply(x, y));
        sum = static_cast<T>(scalar::Add::apply(C{sum}, product));
      }
    }
  }
}

Arrays evaluate_dot(Frame&, const Operation& op, std::span<const Array> in) {
  const auto [left, right] = sides_of(op);
  const Matrices a =
      arranged(in[0], {&left.batching, &left.free, &left.contracting});
  const Matrices b =
      arranged(in[1], {&right.batching, &right.contracting, &right.free});
  const std::int64_t m = a.extents[1];
  const std::int64_t k = a.extents[2];
  const std::int64_t n = b.extents[2];
  Array out(op.results[0]);
  visit_element(out.type().element, [&]<class T>() {
    for (std::int64_t batch = 0; batch < a.extents[0]; ++batch) {
      multiply(a.elements.as<T>() + batch * m * k,
               b.elements.as<T>() + batch * k * n, m, k, n,
               out.as<T>() + batch * m * n);
    }
  });
  return {out};
}

constexpr std::array rows = {
    OperationRow{"stablehlo.dot_general", 2, 0, Signature::functional,
                 dot_attributes, check_dot, evaluate_dot},
};

}  // namespace

std::span<const OperationRow> product_rows() { return rows; }

}  // namespace topos::stablehlo_text

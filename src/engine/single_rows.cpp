// Row formulas over any axes. Sums down columns have a way of their own;
// whatever else has no gaps is rows where it lies, and the rest is brought
// together, some rows at a time.

#include <algorithm>
#include <optional>

#include "engine/row_formula.h"
#include "engine/single_kernel.h"
#include "kernels/copy.h"
#include "kernels/sum.h"
#include "tensor/visit.h"

namespace topos::engines {

namespace {

using kernels::StridedCopy;

bool is_any_of(const ops::Any& op, auto... candidate) {
  return (std::holds_alternative<decltype(candidate)>(op) || ...);
}

/// Nanoseconds for an element.
double cost_of(const ops::Any& op) {
  const bool exponential =
      is_any_of(op, ops::Softmax{}, ops::LogSoftmax{}, ops::LogSumExp{});
  return exponential ? 1.0 : 0.1;
}

/// x of a formula: its rows and what each of them holds.
struct Rows {
  explicit Rows(const SingleNode& node, const Axes& axes)
      : x(node.operands[0]), split(ops::split(x.layout, axes)) {
    rows = split.kept.shape.element_count();
    columns = split.reduced.shape.element_count();
    from_bytes = static_cast<std::int64_t>(size_bytes(node.types[0].dtype));
    to_bytes = static_cast<std::int64_t>(size_bytes(node.type.dtype));
  }

  const std::byte* at(const SingleCall& call, std::int64_t position) const {
    return call.base(x) + (x.layout.offset + position) * from_bytes;
  }

  Access x;
  ops::Split split;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t from_bytes;
  std::int64_t to_bytes;
};

/// Rows that lie one after another, as their results do.
class Adjacent final : public SingleKernel {
 public:
  Adjacent(const SingleNode& node, const Rows& rows, RowFunction function,
           bool keeps)
      : rows_(rows),
        id_(node.id),
        function_(function),
        result_bytes_((keeps ? rows.columns : 1) * rows.to_bytes),
        parts_(parts_of(cost_of(node.op) * static_cast<double>(rows.rows) *
                            static_cast<double>(rows.columns),
                        node.threads)) {}

  const char* name() const noexcept override { return "rows"; }

  void run(const SingleCall& call) const override {
    for_each_part(parts_, [&](int part) {
      const std::int64_t begin = rows_.rows * part / parts_;
      const std::int64_t end = rows_.rows * (part + 1) / parts_;
      function_(rows_.at(call, begin * rows_.columns),
                call.addresses[id_] + begin * result_bytes_,
                static_cast<std::size_t>(end - begin),
                static_cast<std::size_t>(rows_.columns));
    });
  }

 private:
  Rows rows_;
  std::uint32_t id_;
  RowFunction function_;
  std::int64_t result_bytes_;
  int parts_;
};

/// Rows brought together in scratch; results that are rows go back from there.
class Gathered final : public SingleKernel {
 public:
  Gathered(const SingleNode& node, const Axes& axes, const Rows& rows,
           RowFunction function, bool keeps)
      : rows_(rows),
        id_(node.id),
        function_(function),
        keeps_(keeps),
        parts_(
            parts_of((0.3 + cost_of(node.op)) * static_cast<double>(rows.rows) *
                         static_cast<double>(rows.columns),
                     node.threads)),
        to_(ops::split(Layout::row_major(node.types[0].shape), axes)) {
    // Rows along the innermost axis that is kept are taken together.
    inner_ = 1;
    if (const int rank = rows_.split.kept.shape.rank(); rank > 0) {
      inner_ = rows_.split.kept.shape[-1];
    }
    together_ = std::clamp<std::int64_t>(piece / rows_.columns, 1, inner_);
    from_full_ = bring(together_);
    from_last_ = bring(inner_ % together_);
    if (keeps_) {
      to_full_ = take_back(together_);
      to_last_ = take_back(inner_ % together_);
    }
  }

  const char* name() const noexcept override { return "gathered rows"; }

  std::size_t scratch_bytes() const noexcept override {
    return static_cast<std::size_t>(parts_) * part_bytes();
  }

  void run(const SingleCall& call) const override {
    for_each_part(parts_, [&](int part) {
      std::byte* const scratch =
          call.scratch + static_cast<std::size_t>(part) * part_bytes();
      const std::int64_t each = (inner_ + together_ - 1) / together_;
      const std::int64_t pieces = rows_.rows / inner_ * each;
      for (std::int64_t i = pieces * part / parts_;
           i < pieces * (part + 1) / parts_; ++i) {
        run_piece(call, scratch, i / each * inner_ + i % each * together_);
      }
    });
  }

 private:
  /// Elements that stay near.
  static constexpr std::int64_t piece = 8192;

  std::size_t row_elements() const {
    return static_cast<std::size_t>(together_ * rows_.columns);
  }
  std::size_t part_bytes() const {
    const std::size_t bytes =
        row_elements() * static_cast<std::size_t>(rows_.from_bytes);
    return (keeps_ ? 2 : 1) * ((bytes + 63) / 64 * 64);
  }

  /// `count` rows of a layout that is split in two.
  static Layout rows_in(const ops::Split& split, std::int64_t count) {
    Layout result{{}, {}, 0};
    // Without a kept axis there is one row, and no room for another axis.
    if (split.kept.shape.rank() > 0) {
      result.shape.push_back(count);
      result.strides.push_back(split.kept.strides[-1]);
    }
    for (int i = 0; i < split.reduced.shape.rank(); ++i) {
      result.shape.push_back(split.reduced.shape[i]);
      result.strides.push_back(split.reduced.strides[i]);
    }
    return result;
  }

  StridedCopy bring(std::int64_t count) const {
    const Layout from = rows_in(rows_.split, count);
    return {from, Layout::row_major(from.shape),
            static_cast<std::size_t>(rows_.from_bytes)};
  }

  StridedCopy take_back(std::int64_t count) const {
    const Layout to = rows_in(to_, count);
    return {Layout::row_major(to.shape), to,
            static_cast<std::size_t>(rows_.to_bytes)};
  }

  void run_piece(const SingleCall& call, std::byte* scratch,
                 std::int64_t first) const {
    const std::int64_t count = std::min(together_, inner_ - first % inner_);
    const bool full = count == together_;
    std::byte* const to = call.addresses[id_];
    (full ? from_full_ : from_last_)
        .run(rows_.at(call, position_of(rows_.split.kept, first)), scratch);
    std::byte* const results =
        keeps_ ? scratch + part_bytes() / 2 : to + first * rows_.to_bytes;
    function_(scratch, results, static_cast<std::size_t>(count),
              static_cast<std::size_t>(rows_.columns));
    if (keeps_) {
      (full ? to_full_ : to_last_)
          .run(results, to + position_of(to_.kept, first) * rows_.to_bytes);
    }
  }

  Rows rows_;
  std::uint32_t id_;
  RowFunction function_;
  bool keeps_;
  int parts_;
  ops::Split to_;
  std::int64_t inner_;
  std::int64_t together_;
  StridedCopy from_full_;
  StridedCopy from_last_;
  StridedCopy to_full_;
  StridedCopy to_last_;
};

/// f64 sums to elements: divided by a count, or as they are.
template <class T>
void store_sums(const double* sums, std::int64_t count,
                std::optional<double> divisor, T* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(divisor ? sums[i] / *divisor : sums[i]);
  }
}

/// The base of sums and means of floats.
class Sums : public SingleKernel {
 protected:
  Sums(const SingleNode& node, const Rows& rows)
      : rows_(rows), id_(node.id), dtype_(node.type.dtype) {
    if (is_any_of(node.op, ops::Mean{})) {
      divisor_ = static_cast<double>(rows.columns);
    }
  }

  template <class F>
  void as_type(F f) const {
    if (dtype_ == f32) {
      f(float{});
    } else {
      f(double{});
    }
  }

  Rows rows_;
  std::uint32_t id_;
  DType dtype_;
  std::optional<double> divisor_;
};

/// Sums down columns that are neighbours.
class Columns final : public Sums {
 public:
  Columns(const SingleNode& node, const Rows& rows)
      : Sums(node, rows),
        kept_(rows.split.kept.collapsed()),
        step_(rows.split.reduced.collapsed().strides[-1]),
        parts_(parts_of(0.12 * static_cast<double>(rows.rows) *
                            static_cast<double>(rows.columns),
                        node.threads)) {}

  /// Whether this is how they lie.
  static bool fits(const Rows& rows) {
    const Layout kept = rows.split.kept.collapsed();
    const Layout reduced = rows.split.reduced.collapsed();
    return kept.shape.rank() > 0 && kept.strides[-1] == 1 &&
           reduced.shape.rank() == 1;
  }

  const char* name() const noexcept override { return "columns"; }

  void run(const SingleCall& call) const override {
    for_each_part(parts_, [&](int part) {
      // Strips of the columns beside each other, those of other axes below.
      const std::int64_t inner = kept_.shape[-1];
      const std::int64_t each = (inner + strip - 1) / strip;
      const std::int64_t strips = rows_.rows / inner * each;
      for (std::int64_t i = strips * part / parts_;
           i < strips * (part + 1) / parts_; ++i) {
        const std::int64_t first = i % each * strip;
        run_strip(call, i / each * inner + first,
                  std::min(strip, inner - first));
      }
    });
  }

 private:
  static constexpr std::int64_t strip = 128;

  void run_strip(const SingleCall& call, std::int64_t first,
                 std::int64_t count) const {
    const std::byte* const from = rows_.at(call, position_of(kept_, first));
    double sums[strip];
    as_type([&]<class T>(T) {
      kernels::sum_columns(reinterpret_cast<const T*>(from), step_,
                           static_cast<std::size_t>(rows_.columns),
                           static_cast<std::size_t>(count), sums);
      store_sums(sums, count, divisor_,
                 reinterpret_cast<T*>(call.addresses[id_]) + first);
    });
  }

  Layout kept_;
  std::int64_t step_;
  int parts_;
};

}  // namespace

std::unique_ptr<SingleKernel> row_kernel(const SingleNode& node) {
  const RowFunction function =
      node.types.empty() ? nullptr : row_function(node.op, node.types[0].dtype);
  if (function == nullptr || node.types[0].shape.element_count() == 0) {
    return nullptr;
  }
  Axes axes;
  bool keeps = false;
  std::visit(
      [&]<class Op>(const Op& op) {
        if constexpr (RowFormula<Op>) {
          axes = formula_axes(op);
          keeps = keeps_row<Op>;
        }
      },
      node.op);
  const Rows rows(node, axes);
  const bool sums = is_floating(node.type.dtype) &&
                    is_any_of(node.op, ops::Sum{}, ops::Mean{});
  bool trailing = true;
  for (int i = 0; i < axes.size(); ++i) {
    trailing &= axes[i] == node.types[0].shape.rank() - axes.size() + i;
  }
  if (trailing && rows.x.layout.is_contiguous()) {
    return std::make_unique<Adjacent>(node, rows, function, keeps);
  }
  if (sums && Columns::fits(rows)) return std::make_unique<Columns>(node, rows);
  return std::make_unique<Gathered>(node, axes, rows, function, keeps);
}

}  // namespace topos::engines

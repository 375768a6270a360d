#include "engine/row_formula.h"
#include "kernels/rows.h"

namespace topos::engines {

namespace {

/// Integers wrap.
template <ops::Integer T>
void integer_sums(const T* x, T* y, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r, x += columns) {
    std::uint64_t total = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      total += static_cast<std::uint64_t>(x[c]);
    }
    y[r] = static_cast<T>(total);
  }
}

/// The kernel of each row formula.
template <class Op, class T>
void all_rows(const std::byte* from, std::byte* to, std::size_t rows,
              std::size_t columns) {
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  if constexpr (std::is_same_v<Op, ops::ArgMax>) {
    kernels::argmax_of_rows(x, reinterpret_cast<std::int32_t*>(to), rows,
                            columns);
  } else if constexpr (std::is_same_v<Op, ops::Sum> && ops::Integer<T>) {
    integer_sums(x, y, rows, columns);
  } else if constexpr (std::is_same_v<Op, ops::Sum>) {
    kernels::sum_of_rows(x, y, rows, columns);
  } else if constexpr (std::is_same_v<Op, ops::Mean>) {
    kernels::mean_of_rows(x, y, rows, columns);
  } else if constexpr (std::is_same_v<Op, ops::Center>) {
    kernels::center_rows(x, y, rows, columns);
  } else if constexpr (std::is_same_v<Op, ops::ReduceMax>) {
    kernels::max_of_rows(x, y, rows, columns);
  } else if constexpr (std::is_same_v<Op, ops::ReduceMin>) {
    kernels::min_of_rows(x, y, rows, columns);
  } else if constexpr (std::is_same_v<Op, ops::Softmax>) {
    kernels::softmax_rows(x, y, rows, columns);
  } else if constexpr (std::is_same_v<Op, ops::LogSoftmax>) {
    kernels::log_softmax_rows(x, y, rows, columns);
  } else {
    static_assert(std::is_same_v<Op, ops::LogSumExp>);
    kernels::logsumexp_of_rows(x, y, rows, columns);
  }
}

/// Whether a formula takes integers too.
template <class Op>
inline constexpr bool takes_integers =
    std::is_same_v<Op, ops::Sum> || std::is_same_v<Op, ops::ReduceMax> ||
    std::is_same_v<Op, ops::ReduceMin> || std::is_same_v<Op, ops::ArgMax>;

}  // namespace

RowFunction row_function(const ops::Any& op, DType dtype) {
  return std::visit(
      [&]<class Op>(const Op&) -> RowFunction {
        if constexpr (RowFormula<Op>) {
          if (dtype == f32) return all_rows<Op, float>;
          if (dtype == f64) return all_rows<Op, double>;
          if constexpr (takes_integers<Op>) {
            if (dtype == i32) return all_rows<Op, std::int32_t>;
            if (dtype == i64) return all_rows<Op, std::int64_t>;
          }
        }
        return nullptr;
      },
      op);
}

}  // namespace topos::engines

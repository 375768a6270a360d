#include "engine/row_formula.h"
#include "kernels/rows.h"

namespace topos::engines {

namespace {

/// The kernel of each row formula.
template <class Op, class T>
void all_rows(const std::byte* from, std::byte* to, std::size_t rows,
              std::size_t columns) {
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  if constexpr (std::is_same_v<Op, ops::Sum>) {
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

}  // namespace

RowFunction row_function(const ops::Any& op, DType dtype) {
  return std::visit(
      [&]<class Op>(const Op&) -> RowFunction {
        if constexpr (RowFormula<Op>) {
          if (dtype == f32) return all_rows<Op, float>;
          if (dtype == f64) return all_rows<Op, double>;
        }
        return nullptr;
      },
      op);
}

}  // namespace topos::engines

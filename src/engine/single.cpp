#include "engine/single.h"

#include <algorithm>
#include <cstring>

#include "kernels/sum.h"
#include "ops/evaluate.h"
#include "ops/indexing.h"
#include "tensor/visit.h"
#include "topos/error.h"

namespace topos::engines {

namespace {

/// The extents of a gather or scatter_add from its operands.
template <class Op>
ops::IndexedExtents extents_of(const Op& op, const std::vector<Type>& types) {
  return {types[0].shape, types[1].shape, op.axis, op.batch};
}

}  // namespace

SingleProgram::SingleProgram(const Program& program, const Grouping& grouping,
                             std::uint32_t node)
    : node_(node),
      op_(program.list.nodes[node].op),
      type_(program.list.nodes[node].type) {
  for (std::uint32_t operand : program.list.operands(node)) {
    operands_.push_back(grouping.accesses[operand]);
    operand_types_.push_back(program.list.nodes[operand].type);
  }
  choose_kernel();
}

void SingleProgram::choose_kernel() {
  const bool view =
      std::visit([]<class Op>(const Op&) { return ops::ViewValue<Op>; }, op_);
  const bool indexed = std::holds_alternative<ops::Gather>(op_) ||
                       std::holds_alternative<ops::ScatterAdd>(op_);
  if (indexed && type_.shape.element_count() == 0) {
    kernel_ = "check_indices";
    run_ = &SingleProgram::check_indices;
  } else if (view || type_.shape.element_count() == 0) {
    kernel_ = "copy";
    run_ = &SingleProgram::copy;
  } else if (std::holds_alternative<ops::Gather>(op_)) {
    kernel_ = "gather";
    run_ = &SingleProgram::gather;
  } else if (const auto* scatter = std::get_if<ops::ScatterAdd>(&op_)) {
    // The contributions of each destination, in order: a stable counting sort.
    const auto at = extents_of(*scatter, operand_types_);
    kernel_ = "scatter_add";
    run_ = &SingleProgram::scatter_add;
    scratch_bytes_ = static_cast<std::size_t>(
        ((at.n + 1) + at.rest + std::min(at.after, std::int64_t{1024})) * 8);
  } else if (const auto* sum = std::get_if<ops::Sum>(&op_)) {
    // Leading axes of elements without gaps: a sum down the columns.
    bool leading = is_floating(type_.dtype) && !sum->axes.empty() &&
                   type_.shape.element_count() > 1;
    for (int i = 0; i < sum->axes.size(); ++i) leading &= sum->axes[i] == i;
    if (leading && operands_[0].layout.is_contiguous()) {
      kernel_ = "sum_columns";
      run_ = &SingleProgram::sum_leading;
      scratch_bytes_ =
          static_cast<std::size_t>(type_.shape.element_count()) * 8;
    }
  }
  if (run_ == nullptr && !operands_.empty() &&
      operands_[0].layout.is_contiguous()) {
    if (const auto rows = rows_of(op_, operand_types_[0])) {
      rows_ = *rows;
      kernel_ = "rows";
      run_ = &SingleProgram::row_formula;
    }
  }
  if (run_ == nullptr) {
    kernel_ = "reference";
    by_reference_ = true;
    run_ = &SingleProgram::reference;
    tensors_.resize(operands_.size());
  }
}

void SingleProgram::run(const Addresses& addresses, std::byte* scratch,
                        IndexFault& fault) const {
  (this->*run_)({addresses, scratch, fault});
}

void SingleProgram::copy(const Call& call) const {
  if (type_.shape.element_count() == 0) return;
  gather_elements(call.addresses[operands_[0].root], operands_[0].layout,
                  size_bytes(type_.dtype), call.addresses[node_]);
}

std::int64_t SingleProgram::index(const Call& call, std::int64_t at,
                                  std::int64_t extent) const {
  const Access& access = operands_[1];
  const std::int64_t position = access.layout.is_contiguous()
                                    ? access.layout.offset + at
                                    : position_of(access.layout, at);
  const std::byte* base = call.addresses[access.root];
  const std::int64_t value =
      operand_types_[1].dtype == i32
          ? reinterpret_cast<const std::int32_t*>(base)[position]
          : reinterpret_cast<const std::int64_t*>(base)[position];
  if (value >= 0 && value < extent) return value;
  // The first one in recording order, as the interpreter finds it.
  if (!call.fault.found || node_ < call.fault.node) {
    call.fault = {true, node_, value, at, extent};
  }
  return value < 0 && extent > 0 ? 0 : extent - 1;
}

void SingleProgram::check_indices(const Call& call) const {
  const auto check = [&](const auto& op) {
    const auto at = extents_of(op, operand_types_);
    for (std::int64_t i = 0; i < at.batch * at.rest; ++i) index(call, i, at.n);
  };
  if (const auto* gather = std::get_if<ops::Gather>(&op_)) check(*gather);
  if (const auto* scatter = std::get_if<ops::ScatterAdd>(&op_)) check(*scatter);
}

void SingleProgram::gather(const Call& call) const {
  const auto at = extents_of(std::get<ops::Gather>(op_), operand_types_);
  const Access& access = operands_[0];
  visit_dtype(type_.dtype, [&]<class T>() {
    const T* from = reinterpret_cast<const T*>(call.addresses[access.root]);
    T* out = reinterpret_cast<T*>(call.addresses[node_]);
    const bool contiguous = access.layout.is_contiguous();
    const auto slice_bytes = static_cast<std::size_t>(at.after) * sizeof(T);
    for (std::int64_t b = 0; b < at.batch; ++b) {
      for (std::int64_t o = 0; o < at.before; ++o) {
        for (std::int64_t r = 0; r < at.rest; ++r) {
          const std::int64_t i = index(call, b * at.rest + r, at.n);
          // Nothing to read: any index is out of range.
          if (i < 0) {
            std::memset(out, 0, slice_bytes);
            out += at.after;
            continue;
          }
          const std::int64_t first =
              ((b * at.before + o) * at.n + i) * at.after;
          if (contiguous) {
            std::memcpy(out, from + access.layout.offset + first, slice_bytes);
            out += at.after;
          } else {
            for (std::int64_t a = 0; a < at.after; ++a) {
              *out++ = from[position_of(access.layout, first + a)];
            }
          }
        }
      }
    }
  });
}

template <class T>
void SingleProgram::scatter_add_as(const Call& call) const {
  using Sum = std::conditional_t<ops::Real<T>, double, std::uint64_t>;
  const auto at = extents_of(std::get<ops::ScatterAdd>(op_), operand_types_);
  const Access& updates = operands_[2];
  T* out = reinterpret_cast<T*>(call.addresses[node_]);
  gather_elements(call.addresses[operands_[0].root], operands_[0].layout,
                  sizeof(T), call.addresses[node_]);
  const T* from = reinterpret_cast<const T*>(call.addresses[updates.root]);
  const bool contiguous = updates.layout.is_contiguous();
  auto* const starts = reinterpret_cast<std::int64_t*>(call.scratch);
  std::int64_t* const order = starts + at.n + 1;
  Sum* const sums = reinterpret_cast<Sum*>(order + at.rest);
  if (at.n == 0) {
    for (std::int64_t i = 0; i < at.batch * at.rest; ++i) index(call, i, 0);
    return;
  }
  for (std::int64_t b = 0; b < at.batch; ++b) {
    // A stable counting sort of this batch's entries by destination.
    std::fill_n(starts, at.n + 1, 0);
    for (std::int64_t r = 0; r < at.rest; ++r) {
      ++starts[index(call, b * at.rest + r, at.n) + 1];
    }
    for (std::int64_t i = 0; i < at.n; ++i) starts[i + 1] += starts[i];
    for (std::int64_t r = 0; r < at.rest; ++r) {
      order[starts[index(call, b * at.rest + r, at.n)]++] = r;
    }
    // starts[i] is now the end of destination i.
    for (std::int64_t o = 0; o < at.before; ++o) {
      for (std::int64_t i = 0; i < at.n; ++i) {
        const std::int64_t begin = i == 0 ? 0 : starts[i - 1];
        const std::int64_t end = starts[i];
        if (begin == end) continue;
        T* const to = out + ((b * at.before + o) * at.n + i) * at.after;
        for (std::int64_t a0 = 0; a0 < at.after; a0 += 1024) {
          const std::int64_t count =
              std::min<std::int64_t>(1024, at.after - a0);
          for (std::int64_t a = 0; a < count; ++a) {
            sums[a] = static_cast<Sum>(to[a0 + a]);
          }
          for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t first =
                ((b * at.before + o) * at.rest + order[k]) * at.after + a0;
            if (contiguous) {
              const T* x = from + updates.layout.offset + first;
              for (std::int64_t a = 0; a < count; ++a) {
                sums[a] += static_cast<Sum>(x[a]);
              }
            } else {
              for (std::int64_t a = 0; a < count; ++a) {
                sums[a] += static_cast<Sum>(
                    from[position_of(updates.layout, first + a)]);
              }
            }
          }
          for (std::int64_t a = 0; a < count; ++a) {
            to[a0 + a] = static_cast<T>(sums[a]);
          }
        }
      }
    }
  }
}

void SingleProgram::scatter_add(const Call& call) const {
  visit_dtype(type_.dtype, [&]<class T>() {
    if constexpr (ops::Arithmetic<T>) scatter_add_as<T>(call);
  });
}

void SingleProgram::sum_leading(const Call& call) const {
  const auto columns = static_cast<std::size_t>(type_.shape.element_count());
  const auto rows =
      static_cast<std::size_t>(operand_types_[0].shape.element_count()) /
      columns;
  auto* const sums = reinterpret_cast<double*>(call.scratch);
  visit_dtype(type_.dtype, [&]<class T>() {
    if constexpr (ops::Real<T>) {
      const T* x =
          reinterpret_cast<const T*>(call.addresses[operands_[0].root]) +
          operands_[0].layout.offset;
      T* out = reinterpret_cast<T*>(call.addresses[node_]);
      kernels::sum_columns(x, static_cast<std::ptrdiff_t>(columns), rows,
                           columns, sums);
      for (std::size_t i = 0; i < columns; ++i) {
        out[i] = static_cast<T>(sums[i]);
      }
    }
  });
}

void SingleProgram::reference(const Call& call) const {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Access& access = operands_[i];
    const auto offset =
        access.layout.offset *
        static_cast<std::int64_t>(size_bytes(operand_types_[i].dtype));
    tensors_[i] = Tensor::borrowed(operand_types_[i], access.layout.strides,
                                   call.addresses[access.root] + offset);
  }
  ops::evaluate_into(op_, tensors_, {type_, call.addresses[node_]});
}

void SingleProgram::row_formula(const Call& call) const {
  const Access& x = operands_[0];
  const auto offset =
      x.layout.offset * static_cast<std::int64_t>(size_bytes(type_.dtype));
  row_function(op_, type_.dtype)(call.addresses[x.root] + offset,
                                 call.addresses[node_],
                                 static_cast<std::size_t>(rows_.rows),
                                 static_cast<std::size_t>(rows_.columns));
}

}  // namespace topos::engines

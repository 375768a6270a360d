// Gather and scatter_add.

#include <algorithm>
#include <cstring>

#include "engine/single_kernel.h"
#include "kernels/copy.h"
#include "kernels/scatter.h"
#include "ops/indexing.h"
#include "tensor/visit.h"

namespace topos::engines {

namespace {

using kernels::ScatterEntry;
using kernels::StridedCopy;

/// The index operand of a node, and the extents of the access.
class Indices {
 public:
  template <class Op>
  Indices(const SingleNode& node, const Op& op)
      : extents(node.types[0].shape, node.types[1].shape, op.axis, op.batch),
        id_(node.id),
        access_(node.operands[1]),
        layout_(access_.layout.collapsed()),
        dtype_(node.types[1].dtype) {}

  std::int64_t count() const { return extents.batch * extents.rest; }

  /// Calls f(position, index) for each, in order. What is out of range is
  /// noted as a fault and clamped: to -1 where there is nothing to name.
  template <class F>
  void for_each(const SingleCall& call, F f) const {
    if (dtype_ == i32) {
      for_each_as<std::int32_t>(call, f);
    } else {
      for_each_as<std::int64_t>(call, f);
    }
  }

  const ops::IndexedExtents extents;

 private:
  template <class I, class F>
  void for_each_as(const SingleCall& call, F f) const {
    const I* const from = reinterpret_cast<const I*>(call.base(access_));
    std::int64_t position = 0;
    for_each_position(layout_, [&](std::int64_t at) {
      const std::int64_t i = from[at];
      const bool inside =
          static_cast<std::uint64_t>(i) < static_cast<std::uint64_t>(extents.n);
      f(position, inside ? i : clamped(call, i, position));
      ++position;
    });
  }

  std::int64_t clamped(const SingleCall& call, std::int64_t index,
                       std::int64_t position) const {
    // The first one in recording order, as the interpreter finds it.
    if (!call.fault.found || id_ < call.fault.node) {
      call.fault = {true, id_, index, position, extents.n};
    }
    return index < 0 && extents.n > 0 ? 0 : extents.n - 1;
  }

  std::uint32_t id_;
  Access access_;
  Layout layout_;
  DType dtype_;
};

class CheckIndices final : public SingleKernel {
 public:
  explicit CheckIndices(Indices indices) : indices_(std::move(indices)) {}

  const char* name() const noexcept override { return "check_indices"; }

  void run(const SingleCall& call) const override {
    indices_.for_each(call, [](std::int64_t, std::int64_t) {});
  }

 private:
  Indices indices_;
};

/// The leading axes of a layout, or the trailing ones from `axis` on.
Layout leading(const Layout& x, int axis) {
  Layout result{{}, {}, x.offset};
  for (int i = 0; i < axis; ++i) {
    result.shape.push_back(x.shape[i]);
    result.strides.push_back(x.strides[i]);
  }
  return result;
}

Layout trailing(const Layout& x, int axis) {
  Layout result{{}, {}, 0};
  for (int i = axis; i < x.shape.rank(); ++i) {
    result.shape.push_back(x.shape[i]);
    result.strides.push_back(x.strides[i]);
  }
  return result;
}

/// memcpy, without a call where it would cost more than the copy.
void copy_slice(const std::byte* from, std::byte* to, std::size_t size) {
  constexpr std::size_t step = 16;
  if (size < step || size > 8 * step) {
    std::memcpy(to, from, size);
    return;
  }
  // The last step may copy bytes for the second time.
  for (std::size_t i = 0; i + step < size; i += step) {
    std::memcpy(to + i, from + i, step);
  }
  std::memcpy(to + size - step, from + size - step, step);
}

class Gather final : public SingleKernel {
 public:
  Gather(const SingleNode& node, const ops::Gather& op, Indices indices)
      : indices_(std::move(indices)),
        id_(node.id),
        from_(node.operands[0]),
        type_(node.type),
        bytes_(static_cast<std::int64_t>(size_bytes(type_.dtype))),
        step_(from_.layout.strides[op.axis]),
        outer_(leading(from_.layout, op.axis).collapsed()),
        inner_(trailing(from_.layout, op.axis + 1)),
        slice_(inner_, Layout::row_major(inner_.shape),
               size_bytes(type_.dtype)),
        parts_(parts_of(0.2 * static_cast<double>(type_.shape.element_count()) +
                            2 * static_cast<double>(indices_.count()),
                        node.threads)) {}

  const char* name() const noexcept override { return "gather"; }

  std::size_t scratch_bytes() const noexcept override {
    return static_cast<std::size_t>(indices_.count()) * sizeof(std::int64_t);
  }

  void run(const SingleCall& call) const override {
    auto* const resolved = reinterpret_cast<std::int64_t*>(call.scratch);
    indices_.for_each(call, [&](std::int64_t position, std::int64_t i) {
      resolved[position] = i * step_;
    });
    if (indices_.extents.n == 0) {  // any index is out of range
      std::memset(call.addresses[id_], 0, type_.size_bytes());
      return;
    }
    for_each_part(parts_, [&](int part) { run_part(call, resolved, part); });
  }

 private:
  void run_part(const SingleCall& call, const std::int64_t* resolved,
                int part) const {
    const ops::IndexedExtents& at = indices_.extents;
    const std::int64_t slices = at.batch * at.before * at.rest;
    const std::int64_t begin = slices * part / parts_;
    const std::int64_t end = slices * (part + 1) / parts_;
    const std::byte* const base = call.base(from_);
    std::byte* out = call.addresses[id_] + begin * at.after * bytes_;
    std::int64_t r = begin % at.rest;
    std::int64_t outer = begin / at.rest;
    for (std::int64_t left = end - begin; left > 0; ++outer, r = 0) {
      const std::int64_t count = std::min(left, at.rest - r);
      const std::byte* const from = base + position_of(outer_, outer) * bytes_;
      const std::int64_t* const named =
          resolved + outer / at.before * at.rest + r;
      if (at.after == 1) {
        copy_elements(from, named, count, out);
      } else if (inner_.is_contiguous()) {
        const auto size = static_cast<std::size_t>(at.after * bytes_);
        for (std::int64_t i = 0; i < count; ++i) {
          copy_slice(from + named[i] * bytes_,
                     out + static_cast<std::size_t>(i) * size, size);
        }
      } else {
        for (std::int64_t i = 0; i < count; ++i) {
          slice_.run(from + named[i] * bytes_, out + i * at.after * bytes_);
        }
      }
      out += count * at.after * bytes_;
      left -= count;
    }
  }

  void copy_elements(const std::byte* from, const std::int64_t* named,
                     std::int64_t count, std::byte* to) const {
    visit_dtype(type_.dtype, [&]<class T>() {
      const T* x = reinterpret_cast<const T*>(from);
      T* y = reinterpret_cast<T*>(to);
      for (std::int64_t i = 0; i < count; ++i) y[i] = x[named[i]];
    });
  }

  Indices indices_;
  std::uint32_t id_;
  Access from_;
  Type type_;
  std::int64_t bytes_;
  std::int64_t step_;
  Layout outer_;  // of the batch and before axes
  Layout inner_;  // of a slice
  StridedCopy slice_;
  int parts_;
};

/// A copy of the base; then the entries, sorted by destination.
class ScatterAdd final : public SingleKernel {
 public:
  ScatterAdd(const SingleNode& node, Indices indices)
      : indices_(std::move(indices)),
        id_(node.id),
        type_(node.type),
        base_(node.operands[0]),
        updates_(node.operands[2]),
        copy_(base_.layout, Layout::row_major(type_.shape),
              size_bytes(type_.dtype)),
        copy_parts_(parts_of(0.2 * static_cast<double>(copy_.element_count()),
                             node.threads)) {
    const auto updates = node.types[2].shape.element_count();
    add_parts_ = parts_of(0.5 * static_cast<double>(updates), node.threads);
    if (!updates_.layout.is_contiguous()) {
      gathered_ =
          StridedCopy(updates_.layout, Layout::row_major(node.types[2].shape),
                      size_bytes(type_.dtype));
    }
  }

  const char* name() const noexcept override { return "scatter_add"; }

  int replaced_operand() const noexcept override { return 0; }

  std::size_t scratch_bytes() const noexcept override {
    const auto entries =
        static_cast<std::size_t>(indices_.count() + indices_.extents.rest);
    return entries * sizeof(ScatterEntry) +
           static_cast<std::size_t>(gathered_.element_count()) *
               size_bytes(type_.dtype);
  }

  void run(const SingleCall& call) const override {
    const ops::IndexedExtents& at = indices_.extents;
    auto* const entries = reinterpret_cast<ScatterEntry*>(call.scratch);
    ScatterEntry* const scratch = entries + indices_.count();
    std::byte* const to = call.addresses[id_];
    if (call.base(base_) != to) {
      for_each_part(copy_parts_, [&](int part) {
        copy_.run(call.base(base_), to, part, copy_parts_);
      });
    }
    indices_.for_each(call, [&](std::int64_t position, std::int64_t i) {
      entries[position] = {i, position % at.rest};
    });
    for (std::int64_t b = 0; b < at.batch; ++b) {
      kernels::sort_entries(entries + b * at.rest, scratch,
                            static_cast<std::size_t>(at.rest), at.n);
    }
    visit_dtype(type_.dtype, [&]<class T>() {
      if constexpr (ops::Arithmetic<T>) {
        const T* updates = reinterpret_cast<const T*>(call.base(updates_)) +
                           updates_.layout.offset;
        if (gathered_.element_count() > 0) {
          auto* const copied = reinterpret_cast<std::byte*>(scratch + at.rest);
          gathered_.run(call.base(updates_), copied);
          updates = reinterpret_cast<const T*>(copied);
        }
        add(entries, updates, reinterpret_cast<T*>(to));
      }
    });
  }

 private:
  template <class T>
  void add(ScatterEntry* entries, const T* updates, T* to) const {
    const ops::IndexedExtents& at = indices_.extents;
    const auto columns = static_cast<std::size_t>(at.after);
    if (at.before == 1) {
      // One list for all of the batch.
      for (std::int64_t b = 1; b < at.batch; ++b) {
        for (std::int64_t r = b * at.rest; r < (b + 1) * at.rest; ++r) {
          entries[r].to += b * at.n;
          entries[r].from += b * at.rest;
        }
      }
      const std::int64_t count = indices_.count();
      // Parts end where the entries of a destination do.
      const auto start_of = [&](int part) {
        std::int64_t i = count * part / add_parts_;
        while (i > 0 && i < count && entries[i].to == entries[i - 1].to) ++i;
        return i;
      };
      for_each_part(add_parts_, [&](int part) {
        const std::int64_t begin = start_of(part);
        kernels::scatter_add_rows(
            to, updates, columns, entries + begin,
            static_cast<std::size_t>(start_of(part + 1) - begin));
      });
      return;
    }
    const std::int64_t blocks = at.batch * at.before;
    for_each_part(add_parts_, [&](int part) {
      for (std::int64_t block = blocks * part / add_parts_;
           block < blocks * (part + 1) / add_parts_; ++block) {
        kernels::scatter_add_rows(to + block * at.n * at.after,
                                  updates + block * at.rest * at.after, columns,
                                  entries + block / at.before * at.rest,
                                  static_cast<std::size_t>(at.rest));
      }
    });
  }

  Indices indices_;
  std::uint32_t id_;
  Type type_;
  Access base_;
  Access updates_;
  StridedCopy copy_;
  StridedCopy gathered_;  // of updates with gaps
  int copy_parts_;
  int add_parts_ = 1;
};

}  // namespace

std::unique_ptr<SingleKernel> indexed_kernel(const SingleNode& node) {
  return std::visit(
      [&]<class Op>(const Op& op) -> std::unique_ptr<SingleKernel> {
        constexpr bool gathers = std::is_same_v<Op, ops::Gather>;
        if constexpr (gathers || std::is_same_v<Op, ops::ScatterAdd>) {
          Indices indices(node, op);
          if (node.type.shape.element_count() == 0) {
            return std::make_unique<CheckIndices>(std::move(indices));
          }
          if constexpr (gathers) {
            return std::make_unique<Gather>(node, op, std::move(indices));
          } else {
            return std::make_unique<ScatterAdd>(node, std::move(indices));
          }
        }
        return nullptr;
      },
      node.op);
}

}  // namespace topos::engines

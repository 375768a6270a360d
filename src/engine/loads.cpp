#include "engine/loads.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/visit.h"

namespace topos::engines {

namespace {

/// Repeats the first `period` elements until there are n: copies double.
template <class T>
void repeat(T* out, std::size_t period, std::size_t n) {
  for (std::size_t done = period; done < n;) {
    const std::size_t count = std::min(done, n - done);
    std::memcpy(out + done, out, count * sizeof(T));
    done += count;
  }
}

}  // namespace

LoadFunction load_function(DType dtype) {
  return visit_dtype(dtype, []<class T>() -> LoadFunction {
    return [](const std::byte* base, const Layout& layout, std::int64_t start,
              std::size_t n, std::byte* to) {
      const T* from = reinterpret_cast<const T*>(base);
      T* out = reinterpret_cast<T*>(to);
      const int rank = layout.shape.rank();
      if (rank == 0) {
        std::fill_n(out, n, from[layout.offset]);
        return;
      }
      std::array<std::int64_t, max_rank> index = {};
      std::int64_t left = start;
      std::int64_t at = layout.offset;
      for (int axis = rank - 1; axis >= 0; --axis) {
        const std::int64_t i = left % layout.shape[axis];
        index[static_cast<std::size_t>(axis)] = i;
        at += i * layout.strides[axis];
        left /= layout.shape[axis];
      }
      const std::int64_t inner = layout.shape[-1];
      const std::int64_t stride = layout.strides[-1];
      const auto total = static_cast<std::int64_t>(n);
      const bool repeats = rank == 2 && layout.strides[0] == 0 && inner < total;
      T* const first = out;
      if (repeats) n = static_cast<std::size_t>(inner);
      std::int64_t inner_index = index[static_cast<std::size_t>(rank - 1)];
      while (n > 0) {
        const auto run = static_cast<std::size_t>(std::min<std::int64_t>(
            inner - inner_index, static_cast<std::int64_t>(n)));
        if (stride == 1) {
          std::memcpy(out, from + at, run * sizeof(T));
        } else if (stride == 0) {
          std::fill_n(out, run, from[at]);
        } else {
          for (std::size_t i = 0; i < run; ++i) {
            out[i] = from[at + static_cast<std::int64_t>(i) * stride];
          }
        }
        out += run;
        n -= run;
        at -= inner_index * stride;  // to the start of this inner axis
        inner_index = 0;
        for (int axis = rank - 2; axis >= 0; --axis) {
          at += layout.strides[axis];
          auto& i = index[static_cast<std::size_t>(axis)];
          if (++i < layout.shape[axis]) break;
          at -= layout.strides[axis] * layout.shape[axis];
          i = 0;
        }
      }
      if (repeats) {
        repeat(first, static_cast<std::size_t>(inner),
               static_cast<std::size_t>(total));
      }
    };
  });
}

ExpandFunction expand_function(DType dtype) {
  return visit_dtype(dtype, []<class T>() -> ExpandFunction {
    return [](const std::byte* x, std::byte* y, std::size_t rows,
              std::size_t columns) {
      const T* in = reinterpret_cast<const T*>(x);
      T* out = reinterpret_cast<T*>(y);
      for (std::size_t row = 0; row < rows; ++row) {
        std::fill_n(out + row * columns, columns, in[row]);
      }
    };
  });
}

}  // namespace topos::engines

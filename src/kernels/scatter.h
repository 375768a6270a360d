// Rows added where an index names, with the bits of ops/scatter_add.h.

#pragma once

#include <cstddef>
#include <cstdint>

namespace topos::kernels {

/// Row `from` of the updates is added to row `to`.
struct ScatterEntry {
  std::int64_t to;
  std::int64_t from;
};

/// Orders entries by `to` and leaves those of one row in their order.
/// \param scratch  as many entries; \param n  above every `to`
void sort_entries(ScatterEntry* entries, ScatterEntry* scratch,
                  std::size_t count, std::int64_t n);

/// To each row that sorted entries name, their updates are added in order, in
/// double precision and rounded once (integers wrap). Rows of both have
/// `columns` elements without gaps.
template <class T>
void scatter_add_rows(T* rows, const T* updates, std::size_t columns,
                      const ScatterEntry* entries, std::size_t count);

}  // namespace topos::kernels

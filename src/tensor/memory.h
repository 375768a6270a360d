#pragma once

#include <cstddef>
#include <memory>

/// \file
/// Memory for elements.

namespace topos {

/// Gives back what `allocate_memory` gave.
class MemoryDeleter {
 public:
  explicit MemoryDeleter(std::size_t bytes = 0) : bytes_(bytes) {}
  void operator()(std::byte* memory) const noexcept;

 private:
  std::size_t bytes_;
};

using Memory = std::unique_ptr<std::byte, MemoryDeleter>;

/// Not initialized, on a cache line's border; large pieces on huge pages, where
/// the system has them: without, a core that streams through memory waits at
/// every 4 KB for the next page's address. Null if there is no memory.
Memory allocate_memory(std::size_t bytes) noexcept;

}  // namespace topos

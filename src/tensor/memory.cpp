#include "tensor/memory.h"

#include <sys/mman.h>

#include <new>

namespace topos {

namespace {

// A cache line, and the widest vector register.
constexpr std::size_t line_bytes = 64;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

std::align_val_t alignment_of(std::size_t bytes) {
  const bool is_large = bytes >= 2 * huge_page_bytes;
  return std::align_val_t{is_large ? huge_page_bytes : line_bytes};
}

}  // namespace

void MemoryDeleter::operator()(std::byte* memory) const noexcept {
  ::operator delete(memory, alignment_of(bytes_));
}

Memory allocate_memory(std::size_t bytes) noexcept {
  const std::align_val_t alignment = alignment_of(bytes);
  void* memory = ::operator new(bytes, alignment, std::nothrow);
#ifdef MADV_HUGEPAGE
  // An advice: where it is not taken, the pages are small.
  if (memory != nullptr && alignment == std::align_val_t{huge_page_bytes}) {
    ::madvise(memory, bytes / huge_page_bytes * huge_page_bytes, MADV_HUGEPAGE);
  }
#endif
  return Memory(static_cast<std::byte*>(memory), MemoryDeleter(bytes));
}

}  // namespace topos

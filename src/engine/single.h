#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/group.h"
#include "engine/single_kernel.h"

namespace topos::engines {

/// An operation that runs on its own, not in tiles: by a kernel where there
/// is one, else by its reference code into place.
class SingleProgram {
 public:
  /// \param threads  that its kernel may divide the result among
  SingleProgram(const Program& program, const Grouping& grouping,
                std::uint32_t node, int threads);

  bool by_reference() const noexcept { return by_reference_; }
  const char* kernel() const noexcept { return kernel_->name(); }
  std::size_t scratch_bytes() const noexcept {
    return kernel_->scratch_bytes();
  }

  /// The node whose place the result may have, if nobody reads it later.
  std::optional<std::uint32_t> replaced() const noexcept { return replaced_; }

  void run(const Addresses& addresses, std::byte* scratch,
           IndexFault& fault) const {
    kernel_->run({addresses, scratch, fault});
  }

 private:
  std::unique_ptr<const SingleKernel> kernel_;
  bool by_reference_ = false;
  std::optional<std::uint32_t> replaced_;
};

}  // namespace topos::engines

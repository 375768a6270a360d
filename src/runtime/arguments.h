#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/device_client.h"

/// \file
/// What clients check because their devices do not, in the same words.

namespace topos::runtime {

/// A buffer that knows what it is and where. `owner` is the client's, for
/// comparison only.
class PlacedBuffer : public Buffer {
 public:
  PlacedBuffer(const void* owner, const Type& type, int device, bool borrowed)
      : owner_(owner), type_(type), device_(device), borrowed_(borrowed) {}

  const void* owner() const noexcept { return owner_; }
  const Type& type() const noexcept { return type_; }
  int device() const noexcept { return device_; }
  /// Over the caller's memory, which stays as it is.
  bool borrowed() const noexcept { return borrowed_; }
  /// Donated, and so without memory.
  bool gone() const noexcept { return gone_; }
  void set_gone() noexcept { gone_ = true; }

 private:
  const void* owner_;
  Type type_;
  int device_;
  bool borrowed_;
  bool gone_ = false;
};

/// \throws UsageError  it does not say of each argument whether it is donated
void check_signature(const Signature& signature);

/// Arguments [device][argument], flat: each is `owner`'s PlacedBuffer of the
/// signature's type, on its device, not yet donated; and what is donated is
/// given once and not borrowed.
///
/// \throws UsageError  one is not
void check_arguments(const Signature& signature, std::size_t devices,
                     const void* owner, std::span<Buffer* const> arguments);

/// A compiler's message with the line of the text that it names. MLIR names a
/// place as `-:LINE:COLUMN:`.
std::string with_line_quoted(const std::string& message, std::string_view text);

}  // namespace topos::runtime

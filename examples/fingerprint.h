#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace examples {

/// FNV-1a in 64 bits [Fowler, Noll & Vo; RFC 9923]: tells whether two runs saw
/// or made the same bytes. Not against forgers.
class Fingerprint {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      state_ = (state_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3u;
    }
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }

  /// Sixteen hexadecimal digits.
  std::string text() const {
    char buffer[17];
    std::snprintf(buffer, sizeof buffer, "%016llx",
                  static_cast<unsigned long long>(state_));
    return buffer;
  }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325u;
};

}  // namespace examples

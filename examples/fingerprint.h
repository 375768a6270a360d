#pragma once

#include <topos/network.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Of words, each with a newline at its end.
inline std::string fingerprint_of(const std::vector<std::string>& words) {
  Fingerprint fingerprint;
  for (const std::string& word : words) {
    fingerprint.add(word);
    fingerprint.add("\n");
  }
  return fingerprint.text();
}

/// Of f32 parameters: their bytes in recording order.
inline std::string fingerprint_of(const topos::Parameters& parameters) {
  Fingerprint fingerprint;
  for (const auto& item : parameters.items()) {
    const topos::Tensor payload = item.payload->contiguous();
    fingerprint.add(std::as_bytes(payload.span<float>()));
  }
  return fingerprint.text();
}

}  // namespace examples

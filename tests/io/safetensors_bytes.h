#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "topos/io.h"

namespace topos {

/// A file of eight bytes that say `length`, and then `rest`.
inline std::string file_of_length(std::uint64_t length, std::string_view rest) {
  std::string result(8, '\0');
  std::memcpy(result.data(), &length, 8);
  return result.append(rest);
}

/// A file with this header and data.
inline std::string file_of(std::string_view header, std::string_view data) {
  return file_of_length(header.size(), header).append(data);
}

inline TensorFile parse(std::string_view file) {
  return parse_safetensors(std::as_bytes(std::span(file)), "file");
}

}  // namespace topos

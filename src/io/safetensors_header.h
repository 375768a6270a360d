#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topos/io.h"

/// \file
/// The header of a safetensors file:
///
///     8 bytes   n, little-endian
///     n bytes   JSON: {"__metadata__": {"k": "v", ...},
///                      "name": {"dtype": "F32", "shape": [2, 3],
///                               "data_offsets": [0, 24]}, ...}
///     the data  tiled by the tensors' ranges, counted from its first byte

namespace topos::io {

/// Bytes of the length n.
inline constexpr std::uint64_t length_bytes = 8;
/// The greatest n; the reference reader's bound.
inline constexpr std::uint64_t greatest_header = 100'000'000;

/// A tensor as the header declares it, at bytes [begin, end) of the data.
struct Declaration {
  std::string name;
  Type type;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::vector<Declaration> tensors;  // in the header's order
  Metadata metadata;
};

/// A name that came from a file, for a message: in quotes, cut if it is long,
/// without control characters.
std::string display_name(std::string_view name);

/// What the first eight bytes of a file say, checked against its size.
/// \throws FileError  `origin`: the file cannot hold such a header
std::uint64_t header_length(const std::string& origin,
                            std::span<const std::byte, length_bytes> length,
                            std::uint64_t file_bytes);

/// Reads and proves a header: when it returns, every range has exactly the
/// bytes of its type, and the ranges tile `data_bytes` without gap or overlap.
/// Its stack and memory do not grow with what the JSON nests.
/// \throws FileError  `origin`: names the byte of the file, or the tensor
Header parse_header(const std::string& origin, std::span<const std::byte> json,
                    std::uint64_t data_bytes);

/// The length and the JSON, padded with spaces to a multiple of 8 bytes.
/// \throws FileError  `origin`: a name cannot be written
std::string header_text(const std::string& origin, const Header& header);

}  // namespace topos::io

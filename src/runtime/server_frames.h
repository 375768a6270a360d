#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "topos/tensor.h"

/// \file
/// What goes between the client and tools/xla_server.py: frames, each a header
/// and a payload of little-endian fields without gaps. A text is its length
/// (u32) and its bytes; a type is the number of its dtype (u8), flags (u8), the
/// rank (u16) and the extents (i64). Numbers of buffers and programs (u64) are
/// the client's to give, so that it need not wait to learn them.
///
///   hello    cpu devices u32, platform...           -> devices u32, texts:
///            Python, jax, jaxlib, platform, program
///   put      buffer, device u32, type, elements...; or the file has them
///   free     buffer
///   compile  program, partitions u32, size of the options u32, donated u32,
///            results u32, arguments that are donated u32..., types of the
///            results, text..., options...           -> is known u8; bytes of
///            arguments, results, aliases, temporaries i64
///   execute  program, first result, arguments...    -> elements of the results
///            flagged `answered`, [device][result]
///   read     buffer                                 -> elements, or the file
///            has them
///   unload   program
///   sync                                            -> nothing
///
/// Put, free and unload are not answered. A tensor that cannot be put is the
/// refusal of each request that uses its buffer.

namespace topos::runtime::server {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::uint32_t frame_magic = 0x53504F54;  // "TOPS"
inline constexpr std::uint16_t protocol_version = 1;

enum class Kind : std::uint8_t {
  hello = 1,
  put,
  free,
  compile,
  execute,
  read,
  unload,
  sync,
  answer = 100,
  refusal = 101,  // the payload is a text for people
};

/// Flags of a type.
inline constexpr std::uint8_t borrowed = 1;  // in put
inline constexpr std::uint8_t answered = 1;  // in compile

struct FrameHeader {
  std::uint32_t magic = frame_magic;
  std::uint16_t protocol = protocol_version;
  Kind kind = Kind::sync;
  /// Whether a file comes with the first byte.
  std::uint8_t files = 0;
  std::uint64_t request = 0;
  /// Of the payload, in bytes.
  std::uint64_t length = 0;
};
static_assert(sizeof(FrameHeader) == 24 &&
              std::has_unique_object_representations_v<FrameHeader>);

/// A request being written.
class Frame {
 public:
  explicit Frame(Kind kind) { header_.kind = kind; }

  Kind kind() const { return header_.kind; }

  template <class T>
  requires std::is_arithmetic_v<T> Frame& operator<<(T field) {
    return append(&field, sizeof field);
  }
  Frame& append(const void* bytes, std::size_t size) {
    payload_.append(static_cast<const char*>(bytes), size);
    return *this;
  }
  Frame& append(std::string_view bytes) {
    return append(bytes.data(), bytes.size());
  }
  Frame& append(const Type& type, std::uint8_t flags);

  /// Appends header and payload to a stream.
  void seal(std::uint64_t request, bool with_file, std::string& stream);

 private:
  FrameHeader header_;
  std::string payload_;
};

/// An answer's payload, field by field.
class Fields {
 public:
  /// What was read is not what was promised.
  struct Malformed {
    std::string why;
  };

  explicit Fields(std::string_view rest) : rest_(rest) {}

  template <class T>
  requires std::is_arithmetic_v<T> T take() {
    T field;
    std::memcpy(&field, take(sizeof field).data(), sizeof field);
    return field;
  }
  std::string_view take(std::size_t size);
  std::string text() { return std::string(take(take<std::uint32_t>())); }
  /// To be called last. \throws Malformed  there is more
  void end() const;

 private:
  std::string_view rest_;
};

}  // namespace topos::runtime::server

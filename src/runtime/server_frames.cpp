#include "runtime/server_frames.h"

#include <fmt/format.h>

#include <array>

namespace topos::runtime::server {
namespace {

/// The numbers of PJRT_Buffer_Type, in the order of DType.
constexpr std::array<std::uint8_t, dtype_count> dtype_codes = {
    11,  // f32
    12,  // f64
    13,  // bf16
    10,  // f16
    4,   // i32
    5,   // i64
    1,   // boolean
};
static_assert(static_cast<std::size_t>(f32) == 0 &&
              static_cast<std::size_t>(f64) == 1 &&
              static_cast<std::size_t>(bf16) == 2 &&
              static_cast<std::size_t>(f16) == 3 &&
              static_cast<std::size_t>(i32) == 4 &&
              static_cast<std::size_t>(i64) == 5 &&
              static_cast<std::size_t>(boolean) == 6);

}  // namespace

Frame& Frame::append(const Type& type, std::uint8_t flags) {
  *this << dtype_codes[static_cast<std::size_t>(type.dtype)] << flags
        << static_cast<std::uint16_t>(type.shape.rank());
  for (const std::int64_t extent : type.shape) *this << extent;
  return *this;
}

void Frame::seal(std::uint64_t request, bool with_file, std::string& stream) {
  header_.request = request;
  header_.files = with_file ? 1 : 0;
  header_.length = payload_.size();
  stream.append(reinterpret_cast<const char*>(&header_), sizeof header_);
  stream += payload_;
}

std::string_view Fields::take(std::size_t size) {
  if (size > rest_.size()) {
    throw Malformed{
        fmt::format("a field of {} bytes where its answer has {} left", size,
                    rest_.size())};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

void Fields::end() const {
  if (rest_.empty()) return;
  throw Malformed{
      fmt::format("an answer with {} bytes too many", rest_.size())};
}

}  // namespace topos::runtime::server

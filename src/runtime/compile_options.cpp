#include "runtime/compile_options.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "topos/error.h"

namespace topos::runtime {
namespace {

// Protocol buffers' wire format: a field is its number and wire type, then a
// varint, eight bytes, or a length with that many bytes.
enum class Wire : std::uint8_t { varint = 0, eight_bytes = 1, bytes = 2 };

void append_varint(std::string& out, std::uint64_t value) {
  constexpr std::uint64_t low = 0x7f;
  while (value > low) {
    out.push_back(static_cast<char>((value & low) | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

void append_tag(std::string& out, unsigned field, Wire wire) {
  append_varint(out, (field << 3U) | static_cast<unsigned>(wire));
}

void append_integer(std::string& out, unsigned field, std::int64_t value) {
  append_tag(out, field, Wire::varint);
  append_varint(out, static_cast<std::uint64_t>(value));
}

void append_double(std::string& out, unsigned field, double value) {
  append_tag(out, field, Wire::eight_bytes);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (unsigned shift = 0; shift < 64; shift += 8) {
    out.push_back(static_cast<char>((bits >> shift) & 0xffU));
  }
}

void append_bytes(std::string& out, unsigned field, const std::string& bytes) {
  append_tag(out, field, Wire::bytes);
  append_varint(out, bytes.size());
  out += bytes;
}

// ExecutableBuildOptionsProto.
std::string build_options(int partitions) {
  std::string out;
  append_integer(out, 4, 1);  // num_replicas
  append_integer(out, 5, partitions);
  if (partitions > 1) {
    append_integer(out, 6, 1);   // use_spmd_partitioning
    append_integer(out, 19, 1);  // use_shardy_partitioner
  }
  return out;
}

// OptionOverrideProto: one field, by the type of the value.
template <class Value>
std::string option_override(const Value& value) {
  std::string out;
  std::visit(
      [&](const auto& held) {
        using T = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          append_bytes(out, 1, held);
        } else if constexpr (std::is_same_v<T, bool>) {
          append_integer(out, 2, held ? 1 : 0);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          append_integer(out, 3, held);
        } else {
          append_double(out, 4, held);
        }
      },
      value);
  return out;
}

}  // namespace

std::string compile_options_proto(const CompileOptions& options, bool on_cpu) {
  if (options.partitions < 1) {
    throw UsageError(
        fmt::format("a program of {} partitions cannot be: one is "
                    "the least",
                    options.partitions));
  }
  auto overrides = options.overrides;
  if (on_cpu) overrides.try_emplace("xla_cpu_enable_fast_min_max", false);

  std::string out;
  append_bytes(out, 3, build_options(options.partitions));
  for (const auto& [name, value] : overrides) {
    std::string entry;
    append_bytes(entry, 1, name);
    append_bytes(entry, 2, option_override(value));
    append_bytes(out, 7, entry);  // env_option_overrides
  }
  return out;
}

}  // namespace topos::runtime

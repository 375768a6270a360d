#pragma once

#include <cstddef>
#include <span>

/// \file
/// How fast this machine reads memory, measured on the very bytes that a
/// product reads.

namespace topos::bench {

/// The milliseconds in which `threads` threads read all of `bytes` once, each
/// its part in so many streams side by side.
double read_ms(std::span<const std::byte> bytes, int threads,
               std::size_t streams);
/// How many streams read fastest.
std::size_t best_streams(std::span<const std::byte> bytes, int threads);

}  // namespace topos::bench

#pragma once

#include <cstddef>
#include <span>

/// \file
/// The limits of this machine, measured: what a share of them means is known
/// only in the run that measured both.

namespace topos::bench {

/// Floating-point operations (two a fused multiply-add) a second, in 10^9, that
/// `threads` threads do in registers, in f32 on the widest vectors.
double fma_gflops(int threads);

/// The milliseconds in which `threads` threads read all of `bytes` once, each
/// its part in so many streams side by side.
double read_ms(std::span<const std::byte> bytes, int threads,
               std::size_t streams);
/// How many streams read fastest.
std::size_t best_streams(std::span<const std::byte> bytes, int threads);

}  // namespace topos::bench

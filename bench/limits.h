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

/// The milliseconds in which `threads` threads read all of `bytes` once, by the
/// number of streams that is fastest.
double read_ms(std::span<const std::byte> bytes, int threads);

}  // namespace topos::bench

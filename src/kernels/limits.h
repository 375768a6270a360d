// What this machine does at most: the yardstick of profiles and benchmarks.

#pragma once

#include <cstddef>

namespace topos::kernels {

/// Fused multiply-adds of f32 on registers alone: runs `rounds` of them and
/// returns how many floating-point operations that was.
double run_multiply_adds(std::size_t rounds);

/// Reads `bytes` from `data` in four streams, which prefetchers like best.
void run_reads(const float* data, std::size_t bytes);

}  // namespace topos::kernels

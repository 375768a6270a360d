// Products of bf16 operands by the instruction that adds two of their products
// to a float: not the bits of ops/matmul_reference.h, so for fast numerics
// only. Its sums are rounded to nearest even, their order is its own, and
// subnormals count as 0 (Intel 64 and IA-32 manual, VDPBF16PS).

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul.h"
#include "topos/half.h"

namespace topos::kernels {

/// Whether this CPU has the instruction and, measured once a process, does at
/// least 1.3 times as many multiply-adds by it as by those of f32: on some CPUs
/// it does half as many. The cap of instruction sets forbids it, too.
bool bf16_dot_pays();

/// Packed as by pack_right, but two rows of b make one of pairs: panels of
/// pair_rows(k) rows of 256 bytes.
constexpr std::size_t pair_rows(std::size_t k) { return k / 2 + k % 2; }
void pack_pairs(std::uint32_t* packed, const BFloat16* b,
                MatrixStrides b_strides, std::size_t k, std::size_t n,
                Range panels);

/// As matmul_packed, of pack_pairs' panels. Only where bf16_dot_pays().
void matmul_pairs(const BFloat16* a, MatrixStrides a_strides,
                  const std::uint32_t* packed, float* c, std::ptrdiff_t c_row,
                  MatmulShape shape, Range rows, Range panels, void* scratch);

}  // namespace topos::kernels

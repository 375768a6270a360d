// Which targets the kernels are built for. Include this before anything of
// Highway's.

#pragma once

// SVE's vectors cannot be held in arrays, which the register tiles need; those
// CPUs run NEON, with the same bits.
#define HWY_DISABLED_TARGETS (HWY_SVE2_128 | HWY_SVE_256 | HWY_SVE2 | HWY_SVE)

// Where no target is left, plain scalars: Highway takes them with GCC 12 in any
// case, and vectors emulated by arrays would be as slow and more code.
#define HWY_BROKEN_EMU128 1

#include "kernels/bf16_dot.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "kernels/limits.h"
#include "kernels/targets.h"
#include "topos/error.h"

#if defined(__x86_64__)
// GCC 12 takes what its own intrinsics leave undefined on purpose for a mistake
// (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif
#define TOPOS_BF16_DOT \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#endif

namespace topos::kernels {

namespace {

constexpr std::size_t width = panel_columns<float>;
constexpr std::size_t most_rows = 6;
/// Pairs of k that one pass takes: a block of a panel is 64 KB.
constexpr std::size_t block_pairs = 256;
/// Rows that are copied at a time.
constexpr std::size_t chunk_rows = 192;
static_assert(chunk_rows % most_rows == 0);
static_assert(chunk_rows * block_pairs * sizeof(std::uint32_t) <=
              matmul_scratch_bytes);

std::uint32_t pair(BFloat16 low, BFloat16 high) {
  return std::uint32_t{low.bits()} | std::uint32_t{high.bits()} << 16;
}

#if defined(__x86_64__)

/// Rows of `depth` of k as pairs, `block_pairs` apart.
void copy_left(const BFloat16* a, MatrixStrides strides, std::size_t rows,
               std::size_t depth, std::uint32_t* to) {
  for (std::size_t r = 0; r < rows; ++r, to += block_pairs) {
    const BFloat16* from = a + static_cast<std::ptrdiff_t>(r) * strides.row;
    if (strides.column == 1) {
      std::memcpy(to, from, depth / 2 * sizeof(std::uint32_t));
    } else {
      for (std::size_t k = 0; k < depth / 2; ++k) {
        const auto at = static_cast<std::ptrdiff_t>(2 * k) * strides.column;
        to[k] = pair(from[at], from[at + strides.column]);
      }
    }
    if (depth % 2 != 0) {
      to[depth / 2] =
          pair(from[static_cast<std::ptrdiff_t>(depth - 1) * strides.column],
               BFloat16());
    }
  }
}

struct Tile {
  const std::uint32_t* a;  // rows of pairs
  const std::uint32_t* b;  // rows of a panel
  float* c;
  std::ptrdiff_t c_row;
  std::size_t pairs;
  std::size_t columns;
  bool add;
};

template <int rows>
TOPOS_BF16_DOT void compute_tile(const Tile& tile) {
  constexpr int vectors = 4;
  constexpr std::size_t lanes = 16;
  __m512 sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  const std::uint32_t* b = tile.b;
  for (std::size_t k = 0; k < tile.pairs; ++k, b += width) {
    __m512i right[vectors];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      right[v] = _mm512_loadu_si512(b + static_cast<std::size_t>(v) * lanes);
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      // Not _mm512_set1_epi32: as bf16, Clang 16 crashes over what that makes.
      const __m512i left =
          _mm512_broadcastd_epi32(_mm_cvtsi32_si128(static_cast<int>(
              tile.a[static_cast<std::size_t>(r) * block_pairs + k])));
#pragma GCC unroll 16
      for (int v = 0; v < vectors; ++v) {
        sum[r][v] =
            _mm512_dpbf16_ps(sum[r][v], reinterpret_cast<__m512bh>(left),
                             reinterpret_cast<__m512bh>(right[v]));
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      const std::size_t first = static_cast<std::size_t>(v) * lanes;
      if (first >= tile.columns) continue;
      const std::size_t count = std::min(tile.columns - first, lanes);
      const auto mask = static_cast<__mmask16>((1u << count) - 1);
      float* const to = tile.c + r * tile.c_row + first;
      __m512 total = sum[r][v];
      if (tile.add) {
        total = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), total);
      }
      _mm512_mask_storeu_ps(to, mask, total);
    }
  }
}

void compute_rows(std::size_t rows, const Tile& tile) {
  switch (rows) {
    case 1:
      return compute_tile<1>(tile);
    case 2:
      return compute_tile<2>(tile);
    case 3:
      return compute_tile<3>(tile);
    case 4:
      return compute_tile<4>(tile);
    case 5:
      return compute_tile<5>(tile);
    default:
      return compute_tile<6>(tile);
  }
}

TOPOS_BF16_DOT double run_dots(std::size_t rounds) {
  constexpr int chains = 12;
  __m512 sum[chains];
#pragma GCC unroll 16
  for (int i = 0; i < chains; ++i) sum[i] = _mm512_set1_ps(1.0f);
  const auto one =
      reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f003f00));  // 0.5, 0.5
  for (std::size_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i)
      sum[i] = _mm512_dpbf16_ps(sum[i], one, one);
  }
#pragma GCC unroll 16
  for (int i = 1; i < chains; ++i) sum[0] = _mm512_add_ps(sum[0], sum[i]);
  volatile float sink = _mm512_cvtss_f32(sum[0]);
  static_cast<void>(sink);
  return 2.0 * 2 * 16 * static_cast<double>(rounds * chains);
}

/// The best rate of a few runs, of 100 us together: units of wide vectors take
/// some tens to wake.
template <class Run>
double rate(Run&& run) {
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double operations = run(10'000);
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    best = std::max(best, operations / time.count());
  }
  return best;
}

bool measure() {
  if (!__builtin_cpu_supports("avx512bf16")) return false;
  return rate(run_dots) >= 1.3 * rate(run_multiply_adds);
}

#endif

}  // namespace

bool bf16_dot_pays() {
#if defined(__x86_64__)
  // Newer Highways have several targets of AVX-512.
  if (!current_target().starts_with("AVX3")) return false;
  static const bool pays = measure();
  return pays;
#else
  return false;
#endif
}

void pack_pairs(std::uint32_t* packed, const BFloat16* b,
                MatrixStrides b_strides, std::size_t k, std::size_t n,
                Range panels) {
  for (std::size_t p = panels.begin; p < panels.end; ++p) {
    const std::size_t columns = std::min(n - p * width, width);
    std::uint32_t* const panel = packed + p * pair_rows(k) * width;
    const BFloat16* from =
        b + static_cast<std::ptrdiff_t>(p * width) * b_strides.column;
    for (std::size_t row = 0; row < pair_rows(k); ++row) {
      const BFloat16* x =
          from + static_cast<std::ptrdiff_t>(2 * row) * b_strides.row;
      const bool is_whole = 2 * row + 1 < k;
      std::uint32_t* const to = panel + row * width;
      if (b_strides.column == 1 && is_whole) {
        const BFloat16* const y = x + b_strides.row;
        for (std::size_t j = 0; j < columns; ++j) to[j] = pair(x[j], y[j]);
      } else {
        for (std::size_t j = 0; j < columns; ++j, x += b_strides.column) {
          to[j] = pair(*x, is_whole ? x[b_strides.row] : BFloat16());
        }
      }
      std::fill(to + columns, to + width, 0u);
    }
  }
}

void matmul_pairs([[maybe_unused]] const BFloat16* a,
                  [[maybe_unused]] MatrixStrides a_strides,
                  [[maybe_unused]] const std::uint32_t* packed,
                  [[maybe_unused]] float* c,
                  [[maybe_unused]] std::ptrdiff_t c_row,
                  [[maybe_unused]] MatmulShape shape,
                  [[maybe_unused]] Range rows, [[maybe_unused]] Range panels,
                  [[maybe_unused]] void* scratch) {
#if defined(__x86_64__)
  auto* const left = static_cast<std::uint32_t*>(scratch);
  for (std::size_t k = 0; k < shape.k; k += 2 * block_pairs) {
    const std::size_t depth = std::min(2 * block_pairs, shape.k - k);
    for (std::size_t first = rows.begin; first < rows.end;
         first += chunk_rows) {
      const std::size_t count = std::min(chunk_rows, rows.end - first);
      copy_left(a + static_cast<std::ptrdiff_t>(first) * a_strides.row +
                    static_cast<std::ptrdiff_t>(k) * a_strides.column,
                a_strides, count, depth, left);
      for (std::size_t p = panels.begin; p < panels.end; ++p) {
        Tile tile{};
        tile.b = packed + (p * pair_rows(shape.k) + k / 2) * width;
        tile.c_row = c_row;
        tile.pairs = pair_rows(depth);
        tile.columns = std::min(shape.n - p * width, width);
        tile.add = k != 0;
        for (std::size_t row = 0; row < count; row += most_rows) {
          tile.a = left + row * block_pairs;
          tile.c = c + static_cast<std::ptrdiff_t>(first + row) * c_row +
                   static_cast<std::ptrdiff_t>(p * width);
          compute_rows(std::min(most_rows, count - row), tile);
        }
      }
    }
  }
#else
  throw InternalError("no dot product of bf16 is compiled for this CPU");
#endif
}

}  // namespace topos::kernels

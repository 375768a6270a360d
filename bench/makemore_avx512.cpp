#include "makemore_avx512.h"

#include <algorithm>
#include <cmath>

#ifdef __AVX512F__

#include <immintrin.h>

namespace topos::bench {

namespace {

/// e^x in f32 within a few ulp, for x below 88: 2^n times a polynomial of the
/// rest [Muller, Elementary Functions, 3rd ed., ch. 4].
__m512 exponential(__m512 x) {
  x = _mm512_max_ps(x, _mm512_set1_ps(-87.0f));
  const __m512 n =
      _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 p = _mm512_set1_ps(1.0f / 720);
  for (const float c : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) {
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
  }
  return _mm512_scalef_ps(p, n);
}

/// 1 - 2 / (e^2x + 1).
__m512 hyperbolic_tangent(__m512 x) {
  x = _mm512_min_ps(x, _mm512_set1_ps(10.0f));
  const __m512 e = exponential(_mm512_add_ps(x, x));
  const __m512 one = _mm512_set1_ps(1.0f);
  return _mm512_sub_ps(
      one, _mm512_div_ps(_mm512_set1_ps(2.0f), _mm512_add_ps(e, one)));
}

/// Sums of products: c [rows, 16 vectors], the left operand at any strides.
template <int rows, int vectors>
struct RegisterTile {
  __m512 sum[rows][vectors];

  void multiply(const float* a, int row, int column, const float* b, int width,
                int depth) {
    for (auto& of_row : sum) {
      for (auto& s : of_row) s = _mm512_setzero_ps();
    }
    for (int k = 0; k < depth; ++k, a += column, b += width) {
      __m512 right[vectors];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) right[v] = _mm512_load_ps(b + 16 * v);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        const __m512 left = _mm512_set1_ps(a[r * row]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
          sum[r][v] = _mm512_fmadd_ps(left, right[v], sum[r][v]);
        }
      }
    }
  }
};

/// All tiles of a product; `store(row, vector, sum)` takes each sum.
template <int rows, int vectors, class Store>
void multiply(int m, const float* a, int row, int column, const float* b,
              int depth, Store&& store) {
  for (int first = 0; first < m; first += rows) {
    // The last tile overlaps the one before.
    const int at = std::min(first, m - rows);
    RegisterTile<rows, vectors> tile;
    tile.multiply(a + at * row, row, column, b, 16 * vectors, depth);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      if (at + r < first) continue;
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) store(at + r, v, tile.sum[r][v]);
    }
  }
}

void transpose(const float* x, int rows, int columns, int stride, float* y,
               int width) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) y[j * width + i] = x[i * stride + j];
  }
}

}  // namespace

bool MakemoreAvx512::available() { return __builtin_cpu_supports("avx512f"); }

MakemoreAvx512::MakemoreAvx512(const MakemoreByHand& initial) {
  const auto copy = [](const std::vector<float>& from, int rows, int columns,
                       float* to, int width) {
    for (int i = 0; i < rows; ++i) {
      std::copy_n(from.data() + i * columns, columns, to + i * width);
    }
  };
  copy(initial.table, Hand::vocabulary, Hand::embedding, table_,
       Hand::embedding);
  copy(initial.hidden_weight, features, Hand::hidden, hidden_weight_, hidden);
  copy(initial.hidden_bias, 1, Hand::hidden, hidden_bias_, hidden);
  copy(initial.output_weight, Hand::hidden, Hand::vocabulary, output_weight_,
       vocabulary);
  copy(initial.output_bias, 1, Hand::vocabulary, output_bias_, vocabulary);
}

float MakemoreAvx512::forward(const std::int32_t* contexts,
                              const std::int32_t* targets) {
  for (int i = 0; i < batch; ++i) {
    for (int j = 0; j < Hand::context; ++j) {
      std::copy_n(table_ + contexts[i * Hand::context + j] * Hand::embedding,
                  Hand::embedding, x_ + i * inputs + j * Hand::embedding);
    }
  }
  multiply<4, 7>(batch, x_, inputs, 1, hidden_weight_, features,
                 [&](int row, int v, __m512 sum) {
                   const __m512 bias = _mm512_load_ps(hidden_bias_ + 16 * v);
                   _mm512_store_ps(
                       h_ + row * hidden + 16 * v,
                       hyperbolic_tangent(_mm512_add_ps(sum, bias)));
                 });
  multiply<12, 2>(batch, h_, hidden, 1, output_weight_, Hand::hidden,
                  [&](int row, int v, __m512 sum) {
                    const __m512 bias = _mm512_load_ps(output_bias_ + 16 * v);
                    _mm512_store_ps(logits_ + row * vocabulary + 16 * v,
                                    _mm512_add_ps(sum, bias));
                  });
  // Scores become their gradient: (softmax - 1 at the target) / batch.
  constexpr __mmask16 second = (1u << (Hand::vocabulary - 16)) - 1;
  const __m512 least = _mm512_set1_ps(-INFINITY);
  float loss = 0;
  for (int i = 0; i < batch; ++i) {
    float* const row = logits_ + i * vocabulary;
    const __m512 a = _mm512_load_ps(row);
    const __m512 b = _mm512_mask_load_ps(least, second, row + 16);
    const float most = _mm512_reduce_max_ps(_mm512_max_ps(a, b));
    const float target = row[targets[i]] - most;
    const __m512 shift = _mm512_set1_ps(most);
    const __m512 e = exponential(_mm512_sub_ps(a, shift));
    const __m512 f =
        _mm512_maskz_mov_ps(second, exponential(_mm512_sub_ps(b, shift)));
    const float sum = _mm512_reduce_add_ps(_mm512_add_ps(e, f));
    loss += std::log(sum) - target;
    const __m512 scale = _mm512_set1_ps(1.0f / (sum * batch));
    _mm512_store_ps(row, _mm512_mul_ps(e, scale));
    _mm512_store_ps(row + 16, _mm512_mul_ps(f, scale));
    row[targets[i]] -= 1.0f / batch;
  }
  return loss / batch;
}

void MakemoreAvx512::backward(const std::int32_t* contexts, float rate) {
  const __m512 step = _mm512_set1_ps(-rate);
  const auto descend = [&](float* parameter, __m512 gradient) {
    _mm512_store_ps(parameter,
                    _mm512_fmadd_ps(step, gradient, _mm512_load_ps(parameter)));
  };
  // Through the output layer before its weights change.
  transpose(output_weight_, Hand::hidden, Hand::vocabulary, vocabulary,
            transposed_output_, hidden);
  multiply<4, 7>(batch, logits_, vocabulary, 1, transposed_output_,
                 Hand::vocabulary, [&](int row, int v, __m512 sum) {
                   const int at = row * hidden + 16 * v;
                   const __m512 h = _mm512_load_ps(h_ + at);
                   const __m512 slope =
                       _mm512_fnmadd_ps(h, h, _mm512_set1_ps(1.0f));
                   _mm512_store_ps(dh_ + at, _mm512_mul_ps(sum, slope));
                 });
  multiply<12, 2>(Hand::hidden, h_, 1, hidden, logits_, batch,
                  [&](int row, int v, __m512 sum) {
                    descend(output_weight_ + row * vocabulary + 16 * v, sum);
                  });
  const auto sum_rows = [&](const float* x, int width, int v) {
    __m512 sum = _mm512_setzero_ps();
    for (int i = 0; i < batch; ++i) {
      sum = _mm512_add_ps(sum, _mm512_load_ps(x + i * width + 16 * v));
    }
    return sum;
  };
  for (int v = 0; v < 2; ++v) {
    descend(output_bias_ + 16 * v, sum_rows(logits_, vocabulary, v));
  }
  for (int v = 0; v < 7; ++v) {
    descend(hidden_bias_ + 16 * v, sum_rows(dh_, hidden, v));
  }
  transpose(hidden_weight_, features, Hand::hidden, hidden, transposed_hidden_,
            inputs);
  multiply<12, 2>(batch, dh_, hidden, 1, transposed_hidden_, Hand::hidden,
                  [&](int row, int v, __m512 sum) {
                    _mm512_store_ps(dx_ + row * inputs + 16 * v, sum);
                  });
  multiply<4, 7>(features, x_, 1, inputs, dh_, batch,
                 [&](int row, int v, __m512 sum) {
                   descend(hidden_weight_ + row * hidden + 16 * v, sum);
                 });
  float gradient[Hand::vocabulary * Hand::embedding] = {};
  for (int i = 0; i < batch; ++i) {
    for (int j = 0; j < features; ++j) {
      const std::int32_t letter =
          contexts[i * Hand::context + j / Hand::embedding];
      gradient[letter * Hand::embedding + j % Hand::embedding] +=
          dx_[i * inputs + j];
    }
  }
  for (int i = 0; i < Hand::vocabulary * Hand::embedding; ++i) {
    table_[i] -= rate * gradient[i];
  }
}

float MakemoreAvx512::step(const std::int32_t* contexts,
                           const std::int32_t* targets, float rate) {
  const float loss = forward(contexts, targets);
  backward(contexts, rate);
  return loss;
}

}  // namespace topos::bench

#else

namespace topos::bench {

bool MakemoreAvx512::available() { return false; }
MakemoreAvx512::MakemoreAvx512(const MakemoreByHand&) {}
float MakemoreAvx512::step(const std::int32_t*, const std::int32_t*, float) {
  return 0;
}

}  // namespace topos::bench

#endif

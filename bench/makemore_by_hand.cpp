#include "makemore_by_hand.h"

#include <algorithm>
#include <cmath>

#include "topos/random.h"

namespace topos::bench {

namespace {

/// c [m, n] = a [m, k] b [k, n] + what c holds.
template <int m, int k, int n>
void multiply(const float* a, const float* b, float* c) {
  for (int i = 0; i < m; ++i) {
    for (int p = 0; p < k; ++p) {
      const float x = a[i * k + p];
      for (int j = 0; j < n; ++j) c[i * n + j] += x * b[p * n + j];
    }
  }
}

/// c [k, n] += a' b, a [m, k], b [m, n].
template <int m, int k, int n>
void multiply_transposed(const float* a, const float* b, float* c) {
  for (int i = 0; i < m; ++i) {
    for (int p = 0; p < k; ++p) {
      const float x = a[i * k + p];
      for (int j = 0; j < n; ++j) c[p * n + j] += x * b[i * n + j];
    }
  }
}

template <int rows, int columns>
void transpose(const float* x, float* y) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) y[j * rows + i] = x[i * columns + j];
  }
}

void descend(std::vector<float>& parameter, const float* gradient, float rate) {
  for (std::size_t i = 0; i < parameter.size(); ++i) {
    parameter[i] -= rate * gradient[i];
  }
}

}  // namespace

MakemoreByHand MakemoreByHand::from(const Network& network) {
  const Parameters parameters = network.parameters();
  const auto elements = [&](const char* name) {
    return parameters.of(name).to_vector<float>();
  };
  return {elements("embedding.weight"), elements("hidden.weight"),
          elements("hidden.bias"), elements("output.weight"),
          elements("output.bias")};
}

MakemoreBatch MakemoreBatch::random() {
  SplitMix random(9);
  const auto letters = [&](std::size_t count) {
    std::vector<std::int32_t> result(count);
    for (auto& letter : result) {
      letter =
          static_cast<std::int32_t>(random.next() % MakemoreByHand::vocabulary);
    }
    return result;
  };
  return {letters(MakemoreByHand::batch * MakemoreByHand::context),
          letters(MakemoreByHand::batch)};
}

float MakemoreByHand::step(const std::int32_t* contexts,
                           const std::int32_t* targets, float rate) {
  static thread_local float x[batch * features];
  static thread_local float h[batch * hidden];
  static thread_local float logits[batch * vocabulary];
  static thread_local float transposed[hidden * features];
  static thread_local float dh[batch * hidden];
  static thread_local float dx[batch * features];
  static thread_local float d_hidden_weight[features * hidden];
  static thread_local float d_output_weight[hidden * vocabulary];
  static thread_local float d_table[vocabulary * embedding];
  float d_hidden_bias[hidden] = {};
  float d_output_bias[vocabulary] = {};

  for (int i = 0; i < batch * context; ++i) {
    std::copy_n(table.data() + contexts[i] * embedding, embedding,
                x + i * embedding);
  }
  for (int i = 0; i < batch; ++i) {
    std::copy_n(hidden_bias.data(), hidden, h + i * hidden);
    std::copy_n(output_bias.data(), vocabulary, logits + i * vocabulary);
  }
  multiply<batch, features, hidden>(x, hidden_weight.data(), h);
  for (float& value : h) value = std::tanh(value);
  multiply<batch, hidden, vocabulary>(h, output_weight.data(), logits);

  float loss = 0;
  for (int i = 0; i < batch; ++i) {
    float* row = logits + i * vocabulary;
    const float most = *std::max_element(row, row + vocabulary);
    const float at_target = row[targets[i]] - most;
    float sum = 0;
    for (int j = 0; j < vocabulary; ++j) {
      row[j] = std::exp(row[j] - most);
      sum += row[j];
    }
    loss -= at_target - std::log(sum);
    for (int j = 0; j < vocabulary; ++j) row[j] /= sum * batch;
    row[targets[i]] -= 1.0f / batch;
    for (int j = 0; j < vocabulary; ++j) d_output_bias[j] += row[j];
  }

  std::fill(std::begin(d_output_weight), std::end(d_output_weight), 0.0f);
  multiply_transposed<batch, hidden, vocabulary>(h, logits, d_output_weight);
  transpose<hidden, vocabulary>(output_weight.data(), transposed);
  std::fill(std::begin(dh), std::end(dh), 0.0f);
  multiply<batch, vocabulary, hidden>(logits, transposed, dh);
  for (int i = 0; i < batch * hidden; ++i) {
    dh[i] *= 1.0f - h[i] * h[i];
    d_hidden_bias[i % hidden] += dh[i];
  }
  std::fill(std::begin(d_hidden_weight), std::end(d_hidden_weight), 0.0f);
  multiply_transposed<batch, features, hidden>(x, dh, d_hidden_weight);
  transpose<features, hidden>(hidden_weight.data(), transposed);
  std::fill(std::begin(dx), std::end(dx), 0.0f);
  multiply<batch, hidden, features>(dh, transposed, dx);
  std::fill(std::begin(d_table), std::end(d_table), 0.0f);
  for (int i = 0; i < batch * context; ++i) {
    for (int j = 0; j < embedding; ++j) {
      d_table[contexts[i] * embedding + j] += dx[i * embedding + j];
    }
  }

  descend(table, d_table, rate);
  descend(hidden_weight, d_hidden_weight, rate);
  descend(hidden_bias, d_hidden_bias, rate);
  descend(output_weight, d_output_weight, rate);
  descend(output_bias, d_output_bias, rate);
  return loss / batch;
}

}  // namespace topos::bench

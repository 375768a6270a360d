#pragma once

#include <cstdint>

#include "makemore_by_hand.h"

namespace topos::bench {

/// The step of MakemoreByHand by AVX-512 intrinsics: register tiles for every
/// product, padded matrices, approximate exponentials (some ulp). What a
/// patient programmer would write for this one model and machine.
class MakemoreAvx512 {
 public:
  /// Whether this build and this CPU have it.
  static bool available();

  explicit MakemoreAvx512(const MakemoreByHand& initial);

  /// The loss before the update.
  float step(const std::int32_t* contexts, const std::int32_t* targets,
             float rate);

 private:
  using Hand = MakemoreByHand;
  static constexpr int batch = Hand::batch;
  static constexpr int features = Hand::features;
  // Widths in whole vectors of 16.
  static constexpr int hidden = 112;
  static constexpr int vocabulary = 32;
  static constexpr int inputs = 32;

  float forward(const std::int32_t* contexts, const std::int32_t* targets);
  void backward(const std::int32_t* contexts, float rate);

  // Padding is 0 and stays so.
  alignas(64) float table_[Hand::vocabulary * Hand::embedding] = {};
  alignas(64) float hidden_weight_[inputs * hidden] = {};
  alignas(64) float hidden_bias_[hidden] = {};
  alignas(64) float output_weight_[hidden * vocabulary] = {};
  alignas(64) float output_bias_[vocabulary] = {};

  alignas(64) float x_[batch * inputs] = {};
  alignas(64) float h_[batch * hidden] = {};
  alignas(64) float logits_[batch * vocabulary] = {};
  alignas(64) float dh_[batch * hidden] = {};
  alignas(64) float dx_[batch * inputs] = {};
  alignas(64) float transposed_output_[Hand::vocabulary * hidden] = {};
  alignas(64) float transposed_hidden_[Hand::hidden * inputs] = {};
};

}  // namespace topos::bench

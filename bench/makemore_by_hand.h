#pragma once

#include <cstdint>
#include <vector>

#include "topos/network.h"

namespace topos::bench {

/// The makemore MLP's training step written by hand for exactly its shapes, as
/// plain loops that the compiler vectorizes: the rival of the recorded step.
/// It computes in f32 throughout and with the C library's functions.
struct MakemoreByHand {
  static constexpr int batch = 64;
  static constexpr int vocabulary = 27;
  static constexpr int context = 3;
  static constexpr int embedding = 10;
  static constexpr int features = context * embedding;
  static constexpr int hidden = 100;

  std::vector<float> table;          // [vocabulary, embedding]
  std::vector<float> hidden_weight;  // [features, hidden]
  std::vector<float> hidden_bias;    // [hidden]
  std::vector<float> output_weight;  // [hidden, vocabulary]
  std::vector<float> output_bias;    // [vocabulary]

  /// With the initial parameters of models/makemore_mlp.h.
  static MakemoreByHand from(const Network& network);

  /// One step of gradient descent; gives the loss before it.
  /// \param contexts  [batch, context]
  /// \param targets   [batch]
  float step(const std::int32_t* contexts, const std::int32_t* targets,
             float rate);
};

/// Random letters.
struct MakemoreBatch {
  static constexpr float rate = 0.01f;

  std::vector<std::int32_t> contexts;  // [batch, context]
  std::vector<std::int32_t> targets;   // [batch]

  static MakemoreBatch random();
};

}  // namespace topos::bench

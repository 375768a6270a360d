#pragma once

#include <topos/topos.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recorded.h"

/// \file
/// A transformer of GPT-2's shape [Radford et al. 2019]: token and position
/// embeddings, pre-norm blocks of causal attention and a gelu network, a last
/// norm, and the token table once more as the head.

namespace models {

/// The smallest GPT-2, but for its batch and time.
struct GptOptions {
  int layers = 12;
  int width = 768;
  int heads = 12;
  int vocabulary = 50257;
  int batch = 4;
  int time = 64;
  /// The head is the token table; otherwise it has a matrix of its own.
  bool is_tied = true;
  /// The step's update is AdamW's instead of gradient descent's.
  bool is_adamw = false;
  /// Of the parameters, so of everything that is computed.
  topos::DType dtype = topos::f32;
  topos::Numerics numerics = topos::Numerics::exact;
  /// What parameters are drawn from; without it they are declared by type
  /// alone, to be filled before a session opens.
  std::optional<std::uint64_t> seed;

  /// Of the same shape, small enough for any test.
  static GptOptions tiny() {
    return {.layers = 2,
            .width = 16,
            .heads = 2,
            .vocabulary = 32,
            .batch = 2,
            .time = 8,
            .is_tied = true,
            .seed = 11};
  }
};

struct LayerNorm {
  topos::Value scale;
  topos::Value shift;

  topos::Value operator()(topos::Operand x) const;

  void visit(auto&& visitor) const {
    visitor("scale", scale);
    visitor("shift", shift);
  }
};

struct GptBlock {
  LayerNorm attention_norm;
  topos::nn::MultiHeadAttention attention;
  LayerNorm network_norm;
  topos::nn::Linear widen;
  topos::nn::Linear narrow;

  /// [B, T, C] to [B, T, C].
  topos::Value operator()(topos::Operand x) const;

  void visit(auto&& visitor) const {
    visitor("attention_norm", attention_norm);
    visitor("attention", attention);
    visitor("network_norm", network_norm);
    visitor("widen", widen);
    visitor("narrow", narrow);
  }
};

struct Gpt {
  topos::nn::Embedding tokens;
  topos::nn::Embedding positions;
  std::vector<GptBlock> blocks;
  LayerNorm last_norm;
  std::optional<topos::nn::Linear> head;

  static Gpt declared(topos::Tape& tape, const GptOptions& options);

  /// Token indices [B, T] to what the head reads, [B, T, C].
  topos::Value features(topos::Operand index) const;
  /// Of features, [..., C] to [..., V].
  topos::Value logits(topos::Operand features) const;
  /// Token indices [B, T] to logits [B, T, V].
  topos::Value operator()(topos::Operand index) const {
    const topos::Frame frame(index.site);
    return logits(features(index));
  }

  void visit(auto&& visitor) const {
    visitor("tokens", tokens);
    visitor("positions", positions);
    visitor("blocks", blocks);
    visitor("last_norm", last_norm);
    visitor("head", head);
  }
};

/// `forward` gives the logits, `last` those of the last position alone, `train`
/// is a step of the optimizer whose rate is fed.
Recorded record_gpt(const GptOptions& options);

}  // namespace models

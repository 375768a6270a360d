#pragma once

#include <topos/topos.h>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// The makemore MLP, a model that predicts the next letter of a name from the
/// three before it: embeddings, one hidden layer [Bengio et al. 2003, "A neural
/// probabilistic language model"; Karpathy's makemore].

namespace models {

/// The sizes and the training that the model is known with.
namespace makemore {

/// `.` and the letters a to z.
inline constexpr int vocabulary = 27;
inline constexpr int context_length = 3;
inline constexpr int embedding_width = 10;
inline constexpr int hidden_width = 100;
inline constexpr int batch = 64;
/// The step from which on the rate is a tenth.
inline constexpr int slow_from = 4000;
inline constexpr char recipe[] =
    "context 3, embedding 10, hidden 100 tanh, batch 64, "
    "sgd 0.1, 0.01 from step 4000";

constexpr double rate_at(int step) { return step < slow_from ? 0.1 : 0.01; }

/// Where the batch of a step begins among that many samples, more than a batch.
constexpr std::size_t batch_start(int step, std::size_t samples) {
  return static_cast<std::size_t>(step) * batch % (samples - batch);
}

}  // namespace makemore

struct MakemoreMlp {
  topos::nn::Embedding embedding;
  topos::nn::Linear hidden;
  topos::nn::Linear output;

  /// Context letters [rows, context_length] to logits [rows, vocabulary].
  topos::Value operator()(topos::Operand contexts) const;

  void visit(auto&& visitor) const {
    visitor("embedding", embedding);
    visitor("hidden", hidden);
    visitor("output", output);
  }
};

/// What the initial parameters are drawn from.
struct MakemoreSeeds {
  std::uint64_t embedding = 8;
  std::uint64_t layers = 7;
};

/// The network with its plans and what goes in and out of them.
struct Makemore {
  topos::Network network;

  // Of both plans below: letters [batch, context_length], the ones after them
  // [batch], and the mean cross-entropy.
  topos::Symbol contexts, targets, loss;

  /// A whole step of gradient descent: gives the loss, carries the parameters.
  topos::Plan train;
  topos::Symbol rate;

  /// The loss and the gradients alone, for an update outside of the program.
  topos::Plan loss_and_gradients;
  /// In the order of the parameters.
  std::vector<topos::Symbol> gradients;

  /// One context [1, context_length] to probabilities [1, vocabulary].
  topos::Plan sample;
  topos::Symbol context, probabilities;

  /// How many nodes each part of the training step took to record.
  struct NodeCounts {
    std::size_t forward = 0;
    std::size_t gradient = 0;
    std::size_t update = 0;
  };
  NodeCounts nodes;
};

Makemore record_makemore(const MakemoreSeeds& seeds = {});

}  // namespace models

#include "makemore_mlp.h"

namespace models {

using namespace topos;
using namespace makemore;

Value MakemoreMlp::operator()(Operand contexts) const {
  const Frame frame(contexts.site);
  const std::int64_t rows = contexts.type().shape[0];
  const Value x =
      reshape(embedding(contexts), {rows, context_length * embedding_width});
  return output(tanh(hidden(x)));
}

Makemore record_makemore(const MakemoreSeeds& seeds) {
  Tape tape;
  SplitMix embedding_random(seeds.embedding);
  SplitMix layer_random(seeds.layers);
  const MakemoreMlp mlp = {
      {tape, "embedding", vocabulary, embedding_width, embedding_random},
      {tape, "hidden", context_length * embedding_width, hidden_width,
       layer_random},
      {tape, "output", hidden_width, vocabulary, layer_random}};

  const Value contexts = tape.input("contexts", i32, {batch, context_length});
  const Value targets = tape.input("targets", i32, {batch});
  const Value rate = tape.input("rate", f32, {});
  Makemore::NodeCounts nodes;

  const Value loss = nn::cross_entropy(mlp(contexts), targets);
  tape.name(loss, "loss");
  nodes.forward = tape.size();
  const auto gradients = tape.gradients(loss);
  nodes.gradient = tape.size() - nodes.forward;
  Entry step;
  step.result(loss);
  for (auto [parameter, next] : nn::Sgd().record(tape, gradients, rate)) {
    step.carry(parameter, next);
  }
  nodes.update = tape.size() - nodes.forward - nodes.gradient;

  Entry differentiated;
  differentiated.result(loss);
  std::vector<Symbol> gradient_symbols;
  for (const auto& [parameter, gradient] : gradients) {
    tape.name(gradient, "gradient of " + tape.name(parameter));
    differentiated.result(gradient);
    gradient_symbols.push_back(gradient);
  }

  const Value context = tape.input("context", i32, {1, context_length});
  const Value probabilities = softmax(mlp(context));
  tape.name(probabilities, "probabilities");

  const Network network = tape.seal();
  return {network,
          contexts,
          targets,
          loss,
          network.lower(step),
          rate,
          network.lower(differentiated),
          gradient_symbols,
          network.lower(Entry().result(probabilities)),
          context,
          probabilities,
          nodes};
}

}  // namespace models

#include "gpt.h"

namespace models {

using namespace topos;

namespace {

/// Normal weights of GPT-2's deviation, no biases.
Tensor small(const Shape& shape, SplitMix& random, DType dtype) {
  return shape.rank() == 1 ? Tensor::zeros({dtype, shape})
                           : normal(shape, 0.02, random, dtype);
}

/// Declares parameters, drawn from the options' seed if there is one.
class Declaration {
 public:
  Declaration(Tape& tape, const GptOptions& options)
      : tape_(tape),
        dtype_(options.dtype),
        is_drawn_(options.seed),
        random_(options.seed.value_or(0)) {}

  nn::Linear linear(const std::string& name, int in, int out,
                    bool bias = true) {
    const nn::LinearOptions options = {
        .bias = bias, .dtype = dtype_, .initializer = small};
    if (is_drawn_) return {tape_, name, in, out, random_, options};
    return {tape_, name, in, out, options};
  }

  nn::Embedding embedding(const std::string& name, int count, int width) {
    const nn::EmbeddingOptions options = {.dtype = dtype_};
    if (is_drawn_) return {tape_, name, count, width, random_, options};
    return {tape_, name, count, width, options};
  }

  nn::MultiHeadAttention attention(const std::string& name,
                                   const GptOptions& gpt) {
    const nn::AttentionOptions options = {
        .causal = true, .dtype = dtype_, .initializer = small};
    if (is_drawn_) {
      return {tape_, name, gpt.width, gpt.heads, random_, options};
    }
    return {tape_, name, gpt.width, gpt.heads, options};
  }

  LayerNorm norm(const std::string& name, int width) {
    return {
        tape_.parameter(name + ".scale", Tensor::full({dtype_, {width}}, 1)),
        tape_.parameter(name + ".shift", Tensor::zeros({dtype_, {width}}))};
  }

  GptBlock block(const std::string& name, const GptOptions& options) {
    const int width = options.width;
    return {norm(name + ".attention_norm", width),
            attention(name + ".attention", options),
            norm(name + ".network_norm", width),
            linear(name + ".widen", width, 4 * width),
            linear(name + ".narrow", 4 * width, width)};
  }

 private:
  Tape& tape_;
  DType dtype_;
  bool is_drawn_;
  SplitMix random_;
};

}  // namespace

Value LayerNorm::operator()(Operand x) const {
  return layer_norm(x, scale, shift);
}

Value GptBlock::operator()(Operand x) const {
  const Frame frame(x.site);
  const Value y = x.value() + attention(attention_norm(x));
  return y + narrow(gelu(widen(network_norm(y)), GeluForm::tanh));
}

Gpt Gpt::declared(Tape& tape, const GptOptions& options) {
  Declaration declaration(tape, options);
  Gpt gpt = {declaration.embedding("tokens", options.vocabulary, options.width),
             declaration.embedding("positions", options.time, options.width),
             {},
             declaration.norm("last_norm", options.width),
             std::nullopt};
  for (int i = 0; i < options.layers; ++i) {
    gpt.blocks.push_back(
        declaration.block("blocks." + std::to_string(i), options));
  }
  if (!options.is_tied) {
    gpt.head = declaration.linear("head", options.width, options.vocabulary,
                                  /*bias=*/false);
  }
  return gpt;
}

Value Gpt::features(Operand index) const {
  const Frame frame(index.site);
  Value x = tokens(index) + positions.weight;
  for (const GptBlock& block : blocks) x = block(x);
  return last_norm(x);
}

Value Gpt::logits(Operand features) const {
  const Frame frame(features.site);
  return head ? (*head)(features) : matmul(features, transpose(tokens.weight));
}

namespace {

std::vector<nn::Update> record_update(Tape& tape, const GptOptions& options,
                                      Value loss, Value rate) {
  const auto gradients = tape.gradients(loss);
  return options.is_adamw ? nn::AdamW().record(tape, gradients, rate)
                          : nn::Sgd().record(tape, gradients, rate);
}

}  // namespace

Recorded record_gpt(const GptOptions& options) {
  Tape tape;
  const Gpt gpt = Gpt::declared(tape, options);
  const Shape shape = {options.batch, options.time};
  const Value index = tape.input("index", i32, shape);
  const Value targets = tape.input("targets", i32, shape);
  const Value rate = tape.input("rate", f32, {});

  const Value features = gpt.features(index);
  const Value logits = gpt.logits(features);
  tape.name(logits, "logits");
  const Value loss = cross_entropy(logits, targets);
  tape.name(loss, "loss");
  const auto entry = [&] { return Entry().numerics(options.numerics); };
  Entry step = entry();
  step.result(loss);
  for (auto [input, next] : record_update(tape, options, loss, rate)) {
    step.carry(input, next);
  }
  const Value last = gpt.logits(narrow(features, 1, options.time - 1, 1));

  SplitMix random(5);
  const Feed index_feed(index,
                        random_tokens(shape, options.vocabulary, random));
  const Feed targets_feed(targets,
                          random_tokens(shape, options.vocabulary, random));
  const Network network = tape.seal();
  return {
      network,
      {{"forward", network.lower(entry().result(logits)), {index_feed}},
       {"train", network.lower(step), {index_feed, targets_feed, {rate, 0.1}}},
       {"last", network.lower(entry().result(last)), {index_feed}}}};
}

}  // namespace models

#include "catalog.h"

#include <algorithm>

#include "first_network.h"
#include "gpt.h"
#include "makemore_mlp.h"
#include "medley.h"

namespace models {

namespace {

using namespace topos;

Recorded makemore_model() {
  const Makemore program = record_makemore();
  SplitMix random(9);
  const Shape rows = {makemore::batch};
  const Feed contexts(program.contexts,
                      random_tokens({makemore::batch, makemore::context_length},
                                    makemore::vocabulary, random));
  const Feed targets(program.targets,
                     random_tokens(rows, makemore::vocabulary, random));
  const Feed context(program.context,
                     random_tokens({1, makemore::context_length},
                                   makemore::vocabulary, random));
  return {program.network,
          {{"forward", program.sample, {context}},
           {"gradients", program.loss_and_gradients, {contexts, targets}},
           {"train",
            program.train,
            {contexts, targets, {program.rate, makemore::rate_at(0)}}}}};
}

}  // namespace

const std::vector<Model>& models() {
  static const std::vector<Model> all = {
      {"first_network", "the exclusive or of two bits, by one hidden layer",
       record_first_network},
      {"makemore_mlp", "the next letter of a name from the three before it",
       makemore_model},
      {"gpt_tiny", "GPT-2's shape with 2 layers of width 16, tied head",
       [] { return record_gpt(GptOptions::tiny()); }},
      {"gpt_tiny_untied", "the same with a head of its own",
       [] {
         GptOptions options = GptOptions::tiny();
         options.is_tied = false;
         return record_gpt(options);
       }},
      {"medley", "a convex problem in f64 with integers, booleans, layout",
       record_medley},
      {"gpt2", "GPT-2's 12 layers of width 768; emitted, not run",
       [] { return record_gpt({}); }, false},
  };
  return all;
}

const Model* find_model(std::string_view name) {
  const auto at = std::ranges::find(models(), name, &Model::name);
  return at == models().end() ? nullptr : &*at;
}

}  // namespace models

#pragma once

#include <topos/topos.h>

#include <cstddef>
#include <string>
#include <vector>

#include "corpus.h"
#include "models/makemore_mlp.h"

/// \file
/// Training the makemore MLP on a word list, as the programs here do it.

namespace examples {

using models::Makemore;
using models::makemore::batch;
using models::makemore::batch_start;
using models::makemore::context_length;
using models::makemore::rate_at;

static_assert(vocabulary == models::makemore::vocabulary);

/// The samples of a list's words.
/// \throws topos::FileError  too few for a batch
inline Samples training_samples(const std::string& file,
                                const std::vector<std::string>& words) {
  Samples samples = make_samples(words, context_length);
  if (samples.count() <= batch) {
    throw topos::FileError(file + ": " + std::to_string(samples.count()) +
                           " samples are too few: a batch is " +
                           std::to_string(batch) + ", and there must be more");
  }
  return samples;
}

/// One step on the session's parameters; copies nothing, allocates nothing.
inline float train_step(topos::Session& session, const Makemore& program,
                        const Samples& samples, int step) {
  const std::size_t start = batch_start(step, samples.count());
  const topos::Run run = session.step(
      program.train, {{program.contexts, samples.contexts_at(start, batch)},
                      {program.targets, samples.targets_at(start, batch)},
                      {program.rate, rate_at(step)}});
  return static_cast<float>(run.scalar(program.loss));
}

}  // namespace examples

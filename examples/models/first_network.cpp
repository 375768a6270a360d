#include "first_network.h"

namespace models {

using namespace topos;

Recorded record_first_network() {
  Tape tape;
  SplitMix random(7);
  const nn::Linear hidden(tape, "hidden", 2, 8, random);
  const nn::Linear output(tape, "output", 8, 1, random);
  const Value x = tape.input("x", f32, {4, 2});
  const Value y = tape.input("y", f32, {4, 1});
  const Value guess = logistic(output(tanh(hidden(x))));
  tape.name(guess, "guess");
  const Value loss = mse(guess, y);
  tape.name(loss, "loss");

  Entry step;
  step.result(loss).result(guess);
  for (auto [parameter, gradient] : tape.gradients(loss)) {
    step.carry(parameter, parameter - 2.0 * gradient);
  }

  const Feed bits(x, Tensor({4, 2}, {0.f, 0.f, 0.f, 1.f, 1.f, 0.f, 1.f, 1.f}));
  const Feed either(y, Tensor({4, 1}, {0.f, 1.f, 1.f, 0.f}));
  const Network network = tape.seal();
  return {network,
          {{"forward", network.lower(Entry().result(guess)), {bits}},
           {"train", network.lower(step), {bits, either}}}};
}

}  // namespace models

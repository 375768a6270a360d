// A first network: learns the exclusive or of two bits.
#include <topos/topos.h>

#include <iostream>

using namespace topos;

int main() {
  // Record. Nothing is computed yet; every line checks its types.
  Tape tape;
  SplitMix random(7);
  nn::Linear hidden(tape, "hidden", 2, 8, random);
  nn::Linear output(tape, "output", 8, 1, random);
  Value x = tape.input("x", f32, {4, 2});
  Value y = tape.input("y", f32, {4, 1});
  Value guess = logistic(output(tanh(hidden(x))));
  Value loss = nn::mse(guess, y);

  // Differentiate, and record the update too: a step is one program.
  Entry step;
  step.result(loss).result(guess);
  for (auto [parameter, gradient] : tape.gradients(loss)) {
    step.carry(parameter, parameter - 2.0 * gradient);
  }

  // Seal, lower, run.
  Network network = tape.seal();
  Plan train = network.lower(step);
  Session session = native::open(network);
  const Tensor bits({4, 2}, {0.f, 0.f, 0.f, 1.f, 1.f, 0.f, 1.f, 1.f});
  const Tensor either({4, 1}, {0.f, 1.f, 1.f, 0.f});
  for (int i = 0; i <= 1000; ++i) {
    Run run = session.step(train, {{x, bits}, {y, either}});
    if (i % 250 == 0) {
      std::cout << "step " << i << ", loss " << run.scalar(loss) << ": "
                << run.of(guess).text() << '\n';
    }
  }
}

// What a user does with the operation that CONTRIBUTING.md adds; built by
// add_operation.cmake, in a copy of the sources that has it.

#include <topos/topos.h>

#include <initializer_list>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>

using namespace topos;

namespace {

void expect_equal(const Tensor& x, const Tensor& y, const std::string& what) {
  if (bits_equal(x, y)) return;
  throw std::logic_error(what + ": " + x.text() + " and " + y.text());
}

}  // namespace

int main() {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor points({6}, {-inf, -3.0f, -0.0f, 0.5f, 3e38f, inf});

  // Recorded, and its derivatives with it.
  Tape tape;
  const Value x = tape.input("x", f32, {6});
  const Value y = softsign(x);
  const Value dx = tape.differentiate(sum(y), {x})[0];
  const Value ddx = tape.differentiate(sum(dx), {x})[0];
  const Value chain = tanh(softsign(0.5 * x) + 1.0);
  const Network network = tape.seal();

  // One plan on both engines, with one thread and with two.
  const Plan plan =
      network.lower(Entry().result(y).result(dx).result(ddx).result(chain));
  Session spec = interpreter::open(network);
  const Run expected = spec.step(plan, {{x, points}});
  for (int threads : {1, 2}) {
    Session session = native::open(network, {.threads = threads});
    const Run run = session.step(plan, {{x, points}});
    for (const Value& value : {y, dx, ddx, chain}) {
      expect_equal(run.of(value), expected.of(value), "the engines differ");
    }
  }
  expect_equal(softsign(points), expected.of(y), "the two forms differ");
  expect_equal(expected.of(dx),
               Tensor({6}, {0.0f, 0.0625f, 1.0f, 0x1.c71c72p-2f, 0.0f, 0.0f}),
               "the slopes");

  // Nobody has written a kernel for it, and still it fuses with its neighbours.
  const Plan fused = network.lower(Entry().result(chain));
  if (fused.group_count() != 1) throw std::logic_error(fused.describe());

  std::cout << network.describe();
}

#pragma once

#include <memory>
#include <string>

#include "python_rivals.h"
#include "topos/topos.h"

namespace topos::bench {

/// A plan of one result, `record` of one input, which is fed normal numbers.
template <class Record>
Program one_input(std::string name, const Shape& shape, const Options& options,
                  Record&& record) {
  Tape tape;
  const Value x = tape.input("x", f32, shape);
  const Value y = record(x);
  const Network network = tape.seal();
  struct Held {
    Symbol x;
    Plan plan;
    Session session;
    Tensor elements;
  };
  const auto held = std::make_shared<Held>(
      Held{x, network.lower(Entry().result(y)),
           native::open(network, {.threads = options.threads}),
           normal(shape, 1.0, 1)});
  return {std::move(name), [held] {
            held->session.step(held->plan, {{held->x, held->elements}});
          }};
}

}  // namespace topos::bench

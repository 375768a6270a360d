// Writes modules, what they are given and what should come of it to standard
// output, for conformance.py: every row of the catalogue, with composites where
// there are some, and random networks.
//
//     conformance_modules RANDOM_NETWORKS
//
// Everything is little-endian; a text is its length (u32) and its bytes, a list
// its length and its items:
//
//     module   text: operation; text: name; text: StableHLO
//              list of tensors: arguments
//              list of pairs of tensors: a result, and its bound in f64
//     tensor   u8: dtype, as DType; u8: rank; i64 an extent; the elements

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "emit/catalogue.h"
#include "emit/modules.h"

namespace topos::test {
namespace {

class Stream {
 public:
  explicit Stream(std::ostream& out) : out_(out) {}

  template <class T>
  void number(T x) {
    out_.write(reinterpret_cast<const char*>(&x), sizeof x);
  }
  void count(std::size_t n) { number(static_cast<std::uint32_t>(n)); }
  void text(std::string_view text) {
    count(text.size());
    out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  void tensor(const Tensor& x) {
    number(static_cast<std::uint8_t>(x.dtype()));
    number(static_cast<std::uint8_t>(x.rank()));
    for (const std::int64_t extent : x.shape()) number(extent);
    const Tensor plain = x.contiguous();
    out_.write(reinterpret_cast<const char*>(plain.data()),
               static_cast<std::streamsize>(x.type().size_bytes()));
  }

 private:
  std::ostream& out_;
};

void write(Stream& out, const Example& example, const StablehloModule& module,
           const std::string& suffix = "") {
  const Parameters parameters = example.network.parameters();
  out.text(example.operation + suffix);
  out.text(example.name + suffix);
  out.text(module.text);
  const auto arguments = arguments_of(module, parameters, example.feeds);
  out.count(arguments.size());
  for (const Tensor& x : arguments) out.tensor(x);
  const auto expected =
      envelopes(example.network, example.plan, parameters, example.feeds);
  out.count(expected.size());
  for (const Envelope& e : expected) {
    out.tensor(e.value);
    out.tensor(e.bound);
  }
}

void write_all(Stream& out, std::uint64_t random_networks) {
  for (const Example& example : catalogue()) {
    write(out, example, emit_stablehlo(example.plan));
    const auto labelled = emit_stablehlo(example.plan, {.composites = true});
    if (labelled.text.find("stablehlo.composite") != std::string::npos) {
      write(out, example, labelled, " as composite");
    }
  }
  for (std::uint64_t i = 0; i < random_networks; ++i) {
    const Example example = random_example(600000 + i, {16, 64});
    write(out, example,
          emit_stablehlo(example.plan, {.composites = i % 2 == 0}));
  }
}

}  // namespace
}  // namespace topos::test

int main(int argc, char** argv) {
  try {
    topos::test::Stream out(std::cout);
    topos::test::write_all(out,
                           argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0);
    std::cout.flush();
    return std::cout ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

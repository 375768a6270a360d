#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/module.h"
#include "topos/emit.h"
#include "topos/topos.h"

namespace topos::test {

/// What `@main` is given for a step, in its order.
std::vector<Tensor> arguments_of(const StablehloModule& module,
                                 const Parameters& parameters, Feeds feeds);

/// What a string of MLIR stands for.
std::string unescaped(std::string_view text);

/// What the text says otherwise than the lists beside it; empty if nothing.
std::string contradiction(const StablehloModule& module,
                          const stablehlo_text::Module& text,
                          const EmitOptions& options);

/// What was compared so far.
struct Tally {
  struct OfType {
    std::int64_t elements = 0;
    std::int64_t undecided = 0;
    double ratio = 0;  // the greatest to a bound
    std::string where;
  };
  int modules = 0;
  std::map<DType, OfType> types;

  std::string text() const;
};

/// Emits a plan, reads the text and runs it: what is wrong, be it the text, its
/// lists or a result outside of its envelope; empty if nothing.
std::string difference(const Network& network, const Plan& plan, Feeds feeds,
                       const EmitOptions& options, std::string_view name,
                       Tally& tally);

/// The text of a network's results, run on what the feeds say.
std::vector<Tensor> run(const Network& network, const Entry& entry, Feeds feeds,
                        const EmitOptions& options = {});

}  // namespace topos::test

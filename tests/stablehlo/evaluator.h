#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stablehlo/dialect.h"
#include "stablehlo/syntax.h"

namespace topos::stablehlo_text {

/// The values of one function while it runs.
class Frame {
 public:
  Frame(const Program& program, const Function& function)
      : program_(program), values_(function.value_count) {}

  const Program& program() const { return program_; }

  /// Runs a region of the frame's function.
  Arrays run(const Region& region, std::span<const Array> arguments);

 private:
  const Program& program_;
  Arrays values_;
};

Arrays run_function(const Program& program, const Function& function,
                    std::span<const Array> arguments);

/// The region of a reduction or a scatter, applied to one element of each
/// operand at a time: `into[i] = body(into[0], ..., from[0], ...)[i]`.
class Combiner {
 public:
  /// `body` takes each of `elements` twice and returns them once.
  Combiner(Frame& frame, const Region& body);

  void operator()(std::span<std::byte* const> into,
                  std::span<const std::byte* const> from);

 private:
  Frame& frame_;
  const Region& body_;
  BinaryKernel kernel_ = nullptr;  // of a body that is one operation
  bool swapped_ = false;           // whose operands are the other way round
};

}  // namespace topos::stablehlo_text

#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// x logistic(x) [Elfwing et al. 2017; Ramachandran et al. 2017, as swish].
struct Silu {
  static constexpr std::string_view name = "silu";
  static constexpr std::tuple<> fields() { return {}; }

  static void check(Operands<Type> x) { floating(x[0]); }

  template <Differentiable V>
  static V formula(Operands<V> x) {
    return x[0] * logistic(x[0]);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Silu>>({
        {"zeros", {}, "f32[2]{0 -0}", "f32[2]{0 -0}"},
        {"bf16", {}, "bf16[3]{1 -1 4.5}", "bf16[3]{0x1.76p-1 -0x1.14p-2 0x1.1cp+2}"},
        {"plain", {}, "f64[3]{1 -1 4.5}", "f64[3]{0.7310585786300049 -0.2689414213699951 4.45055875816233}"},
        {"saturated", {}, "f32[2]{30 -200}", "f32[2]{30 -0}"},
        {"ends", {}, "f32[3]{inf -inf nan}", "f32[3]{inf nan nan}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

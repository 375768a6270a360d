#include <topos/error.h>
#include <topos/nn.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "optimizer.h"

namespace topos::nn {

namespace {

void check_beta(const char* name, double beta) {
  if (!(beta >= 0 && beta < 1)) {
    throw UsageError(std::string(name) + " is " + std::to_string(beta) +
                     ", and has to be in [0, 1)");
  }
}

void check_not_negative(const char* name, double x) {
  if (!(std::isfinite(x) && x >= 0)) {
    throw UsageError(std::string(name) + " is " + std::to_string(x) +
                     ", and has to be a finite number, 0 or more");
  }
}

/// 1 - beta^t. In f32 the power rounded first would be off by 1e-5 at t = 1.
Value bias_correction(Value t, double beta) {
  return -expm1(t * ln(Tensor::scalar(beta)).item());
}

Value cast_to(DType dtype, Value x) {
  return x.dtype() == dtype ? x : cast(x, dtype);
}

/// What all parameters of one dtype share, scalars.
struct Scalars {
  Value step;    ///< rate / c1
  Value spread;  ///< rsqrt(c2)
  Value keep;    ///< 1 - rate decay
};

}  // namespace

AdamW::AdamW(AdamWOptions options, Site site) : options_(std::move(options)) {
  at_line("AdamW", site, [&] {
    check_beta("beta1", options_.beta1);
    check_beta("beta2", options_.beta2);
    check_not_negative("epsilon", options_.epsilon);
    check_not_negative("the decay", options_.decay);
  });
}

std::vector<Update> AdamW::record(Tape& tape,
                                  std::span<const Gradient> gradients,
                                  Operand rate) const {
  const Frame frame(rate.site);
  return at_line("AdamW::record", rate.site, [&] {
    // An error leaves the tape as it was.
    Transaction transaction(tape, rate.site);
    if (gradients.empty()) throw UsageError("there is no gradient");
    check_rate<Value>(rate);
    check_gradients(tape, gradients);

    const auto& [beta1, beta2, epsilon, decay, name] = options_;
    const Value before = tape.input(dotted(name, "steps"), i32, {}, rate.site);
    const Value count = before + 1;
    std::vector<Update> updates = {{before, count}};

    // A moment of 16 bits would stop moving: beta2 is too near 1.
    const auto computing = [](DType dtype) {
      return is_half(dtype) ? f32 : dtype;
    };
    std::map<DType, Scalars> shared;
    const auto scalars_of = [&](DType dtype) -> const Scalars& {
      if (const auto found = shared.find(dtype); found != shared.end()) {
        return found->second;
      }
      const Value t = cast(count, dtype);
      const Value own_rate = rate_value(t, rate);
      return shared
          .emplace(dtype, Scalars{own_rate / bias_correction(t, options_.beta1),
                                  rsqrt(bias_correction(t, options_.beta2)),
                                  1 - own_rate * options_.decay})
          .first->second;
    };

    for (const auto& [parameter, gradient] : gradients) {
      const Type stored = parameter.type();
      const Type type = {computing(stored.dtype), stored.shape};
      const Value p = cast_to(type.dtype, parameter);
      const Value g = cast_to(type.dtype, gradient);
      const auto moment = [&](std::string_view which) {
        return tape.input(dotted(tape.name(parameter), which), type.dtype,
                          type.shape, rate.site);
      };
      const Scalars& scalars = scalars_of(type.dtype);
      const Value m = moment("first_moment");
      const Value v = moment("second_moment");
      const Value next_m = beta1 * m + (1 - beta1) * g;
      const Value next_v = beta2 * v + (1 - beta2) * (g * g);
      const Value kept = decay == 0 ? p : p * scalars.keep;
      const Value next = kept - (scalars.step * next_m) /
                                    (sqrt(next_v) * scalars.spread + epsilon);
      updates.push_back({m, next_m});
      updates.push_back({v, next_v});
      updates.push_back({parameter, cast_to(stored.dtype, next)});
    }
    transaction.keep();
    return updates;
  });
}

}  // namespace topos::nn

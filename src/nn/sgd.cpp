#include <topos/error.h>
#include <topos/nn.h>

#include <cmath>
#include <string>
#include <utility>

#include "optimizer.h"

namespace topos::nn {

namespace {

// The formulas, over Values and Tensors alike.

template <class V>
V next_velocity(double momentum, const V& velocity, const V& gradient) {
  return momentum * velocity + gradient;
}

template <class V, class Rate>
V next_parameter(const V& parameter, const Rate& rate, const V& velocity) {
  return parameter - rate * velocity;
}

}  // namespace

Sgd::Sgd(SgdOptions options, Site site) : momentum_(options.momentum) {
  at_line("Sgd", site, [&] {
    if (!(std::isfinite(momentum_) && momentum_ >= 0)) {
      throw UsageError("the momentum is " + std::to_string(momentum_) +
                       ", and has to be a finite number, 0 or more");
    }
  });
}

std::vector<Update> Sgd::record(Tape& tape, std::span<const Gradient> gradients,
                                Operand rate) const {
  const Frame frame(rate.site);
  return at_line("Sgd::record", rate.site, [&] {
    // An error leaves the tape as it was.
    Transaction transaction(tape, rate.site);
    check_rate<Value>(rate);
    check_gradients(tape, gradients);

    std::vector<Update> updates;
    for (const auto& [parameter, gradient] : gradients) {
      const Type type = parameter.type();
      Value velocity = gradient;
      if (momentum_ != 0) {
        const Value before =
            tape.input(dotted(tape.name(parameter), "velocity"), type.dtype,
                       type.shape, rate.site);
        velocity = next_velocity(momentum_, before, gradient);
        updates.push_back({before, velocity});
      }
      const Operand own_rate = rate_for<Value>(type.dtype, rate);
      updates.push_back(
          {parameter, next_parameter(parameter, own_rate, velocity)});
    }
    transaction.keep();
    return updates;
  });
}

Parameters Sgd::step(const Parameters& parameters,
                     std::span<const Tensor> gradients, TensorOperand rate) {
  return at_line("Sgd::step", rate.site, [&] {
    check_rate<Tensor>(rate);
    const bool remembers = !velocities_.empty();
    if (remembers && velocities_.size() != parameters.size()) {
      throw UsageError(
          "the velocities are of " + std::to_string(velocities_.size()) +
          " parameters, and here are " + std::to_string(parameters.size()));
    }
    std::vector<Tensor> velocities;
    const auto update = [&](const Tensor& parameter, const Tensor& gradient) {
      const TensorOperand own_rate = rate_for<Tensor>(gradient.dtype(), rate);
      if (momentum_ == 0) return next_parameter(parameter, own_rate, gradient);
      const Tensor before = remembers ? velocities_[velocities.size()]
                                      : Tensor::zeros(gradient.type());
      if (before.type() != gradient.type()) {
        throw UsageError("a velocity is " + before.type().text() +
                         ", and its parameter " + gradient.type().text() +
                         ": each set of parameters needs an Sgd of its own");
      }
      velocities.push_back(next_velocity(momentum_, before, gradient));
      return next_parameter(parameter, own_rate, velocities.back());
    };
    // Without a line: it is put before the message here.
    Parameters next = parameters.step(gradients, update, Site{});
    velocities_ = std::move(velocities);
    return next;
  });
}

}  // namespace topos::nn

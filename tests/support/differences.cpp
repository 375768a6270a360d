#include "support/differences.h"

#include <algorithm>
#include <cmath>

namespace topos::test {

Tensor differences(const Function& f, std::span<const Tensor> x, std::size_t at,
                   const Tensor& dy) {
  std::vector<Tensor> operands(x.begin(), x.end());
  const std::vector<double> values = x[at].to_vector<double>();
  const std::vector<double> weights = dy.to_vector<double>();
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto results_at = [&](double value) {
      std::vector<double> moved = values;
      moved[i] = value;
      operands[at] = Tensor(x[at].shape(), moved);
      return f(operands).to_vector<double>();
    };
    const double h = 0x1p-10 * std::max(1.0, std::abs(values[i]));
    const auto near_above = results_at(values[i] + h);
    const auto near_below = results_at(values[i] - h);
    const auto far_above = results_at(values[i] + 2 * h);
    const auto far_below = results_at(values[i] - 2 * h);
    double slope = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      slope += weights[j] *
               (8 * (near_above[j] - near_below[j]) -
                (far_above[j] - far_below[j])) /
               (12 * h);
    }
    result.push_back(slope);
  }
  return Tensor(x[at].shape(), result);
}

}  // namespace topos::test

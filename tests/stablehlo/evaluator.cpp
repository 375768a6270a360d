#include "stablehlo/evaluator.h"

#include <cstring>

namespace topos::stablehlo_text {

Arrays Frame::run(const Region& region, std::span<const Array> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values_[region.first_argument + i] = arguments[i];
  }
  Arrays operands;
  for (const Operation& op : region.operations) {
    operands.clear();
    for (const std::size_t value : op.operands) {
      operands.push_back(values_[value]);
    }
    Arrays results = op.row->evaluate(*this, op, operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      values_[op.first_result + i] = std::move(results[i]);
    }
  }
  Arrays returned;
  for (const std::size_t value : region.returned) {
    returned.push_back(values_[value]);
  }
  return returned;
}

Arrays run_function(const Program& program, const Function& function,
                    std::span<const Array> arguments) {
  return Frame(program, function).run(function.body, arguments);
}

Combiner::Combiner(Frame& frame, const Region& body)
    : frame_(frame), body_(body) {
  // `add(a, b)`, which nearly every reduction is, needs no frame per element.
  if (body.arguments.size() != 2 || body.operations.size() != 1) return;
  const Operation& op = body.operations[0];
  if (op.row->binary == nullptr || body.returned[0] != op.first_result) return;
  const std::size_t first = body.first_argument;
  using Operands = std::vector<std::size_t>;
  swapped_ = op.operands == Operands{first + 1, first};
  if (swapped_ || op.operands == Operands{first, first + 1}) {
    kernel_ = op.row->binary(op.results[0].element);
  }
}

void Combiner::operator()(std::span<std::byte* const> into,
                          std::span<const std::byte* const> from) {
  if (kernel_ != nullptr) {
    kernel_(swapped_ ? from[0] : into[0], swapped_ ? into[0] : from[0], into[0],
            1);
    return;
  }
  Arrays arguments;
  for (std::size_t i = 0; i < body_.arguments.size(); ++i) {
    Array& scalar = arguments.emplace_back(body_.arguments[i]);
    const std::byte* source = i < into.size() ? into[i] : from[i - into.size()];
    std::memcpy(scalar.data(), source, size_bytes(scalar.type().element));
  }
  const Arrays results = frame_.run(body_, arguments);
  for (std::size_t i = 0; i < into.size(); ++i) {
    std::memcpy(into[i], results[i].data(),
                size_bytes(results[i].type().element));
  }
}

}  // namespace topos::stablehlo_text

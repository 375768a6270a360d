#include "engine/single.h"

#include <algorithm>

#include "ops/evaluate.h"

namespace topos::engines {

namespace {

class Reference final : public SingleKernel {
 public:
  explicit Reference(const SingleNode& node)
      : id_(node.id),
        op_(node.op),
        type_(node.type),
        operands_(node.operands),
        types_(node.types),
        tensors_(node.operands.size()) {}

  const char* name() const noexcept override { return "reference"; }

  void run(const SingleCall& call) const override {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Access& access = operands_[i];
      const auto offset =
          access.layout.offset *
          static_cast<std::int64_t>(size_bytes(types_[i].dtype));
      tensors_[i] = Tensor::borrowed(types_[i], access.layout.strides,
                                     call.base(access) + offset);
    }
    ops::evaluate_into(op_, tensors_, {type_, call.addresses[id_]});
  }

 private:
  std::uint32_t id_;
  ops::Any op_;
  Type type_;
  std::vector<Access> operands_;
  std::vector<Type> types_;
  /// The operands as the reference code takes them; a session runs one step at
  /// a time.
  mutable std::vector<Tensor> tensors_;
};

}  // namespace

SingleProgram::SingleProgram(const Program& program, const Grouping& grouping,
                             std::uint32_t node, int threads) {
  const graph::Node& from = program.list.nodes[node];
  SingleNode single{node, from.op, from.type, {}, {}, threads};
  for (std::uint32_t operand : program.list.operands(node)) {
    single.operands.push_back(grouping.accesses[operand]);
    single.types.push_back(program.list.nodes[operand].type);
  }
  std::unique_ptr<SingleKernel> kernel = indexed_kernel(single);
  if (!kernel) kernel = moving_kernel(single);
  if (!kernel) kernel = row_kernel(single);
  by_reference_ = !kernel;
  if (!kernel) kernel = std::make_unique<Reference>(single);
  if (const int at = kernel->replaced_operand(); at >= 0) {
    // It must lie as the result does, and be read in no other way.
    const Access& place = single.operands[static_cast<std::size_t>(at)];
    const bool alone =
        std::ranges::count(single.operands, place.root, &Access::root) == 1;
    if (alone && place.layout == Layout::row_major(place.layout.shape) &&
        program.list.nodes[place.root].type.size_bytes() ==
            single.type.size_bytes()) {
      replaced_ = place.root;
    }
  }
  kernel_ = std::move(kernel);
}

}  // namespace topos::engines

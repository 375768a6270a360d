// Finds chains: arithmetic whose one reader is the next arithmetic.

#include <utility>

#include "engine/tile_instruction.h"

namespace topos::engines {

namespace {

using Instruction = TileInstruction;
using kernels::ChainStep;

class ChainMaker {
 public:
  ChainMaker(const std::vector<Instruction>& instructions,
             const std::vector<TileSlot>& slots, std::vector<TileChain>& chains)
      : slots_(slots), chains_(chains), readers_(slots.size(), 0) {
    for (const Instruction& each : instructions) {
      for (std::uint32_t i = 0; i < each.operand_count; ++i) {
        bool is_first = true;  // twice by one instruction is one reader
        for (std::uint32_t k = 0; k < i; ++k) {
          is_first &= each.operands[k] != each.operands[i];
        }
        if (is_first) ++readers_[each.operands[i]];
      }
    }
  }

  void add(const Instruction& next) {
    // Loads and the like lie between steps: they write registers alone.
    const bool writes_register = next.kind == Instruction::Kind::load ||
                                 next.kind == Instruction::Kind::expand;
    if (last_ != none && follows_last(next)) {
      extend_last(next);
      return;
    }
    result_.push_back(next);
    if (next.arithmetic && next.kind == Instruction::Kind::tile) {
      last_ = result_.size() - 1;
    } else if (!writes_register) {
      last_ = none;
    }
  }

  std::vector<Instruction> take() { return std::move(result_); }

 private:
  bool follows_last(const Instruction& next) const {
    const Instruction& last = result_[last_];
    if (!next.arithmetic || next.extent != last.extent) return false;
    if (slots_[last.result].in_memory || readers_[last.result] != 1) {
      return false;
    }
    if (last.kind == Instruction::Kind::chain &&
        chains_[last.chain].steps.size() >= greatest_chain) {
      return false;
    }
    bool reads = false;
    for (std::uint32_t i = 0; i < next.operand_count; ++i) {
      reads |= next.operands[i] == last.result;
    }
    return reads;
  }

  void extend_last(const Instruction& next) {
    Instruction chain = result_[last_];
    result_.erase(result_.begin() + static_cast<std::ptrdiff_t>(last_));
    const std::uint32_t value = chain.result;
    if (chain.kind == Instruction::Kind::tile) start(chain);
    append(chains_[chain.chain], next, value);
    chain.result = next.result;
    result_.push_back(chain);
    last_ = result_.size() - 1;
  }

  /// Makes an instruction a chain of one step, of its first operand that is not
  /// one element.
  void start(Instruction& instruction) {
    const std::uint32_t first = (instruction.scalars & 1) != 0 ? 1 : 0;
    const std::uint32_t value = instruction.operands[first];
    instruction.chain = static_cast<std::uint32_t>(chains_.size());
    chains_.push_back({kernels::chain_function(), {}, {}});
    append(chains_.back(), instruction, value);
    instruction.kind = Instruction::Kind::chain;
    instruction.operands[0] = value;
    instruction.operand_count = 1;
  }

  static void append(TileChain& chain, const Instruction& instruction,
                     std::uint32_t value) {
    ChainStep step;
    step.op = *instruction.arithmetic;
    std::uint32_t operand = 0;
    if (instruction.operand_count == 2) {
      step.is_second = instruction.operands[0] != value;
      const std::uint32_t other = step.is_second ? 0 : 1;
      operand = instruction.operands[other];
      if (operand == value) {
        step.operand = ChainStep::Operand::itself;
      } else if ((instruction.scalars >> other & 1) != 0) {
        step.operand = ChainStep::Operand::scalar;
      } else {
        step.operand = ChainStep::Operand::elements;
      }
    }
    chain.steps.push_back(step);
    chain.operands.push_back(operand);
  }

  const std::vector<TileSlot>& slots_;
  std::vector<TileChain>& chains_;
  std::vector<std::uint32_t> readers_;  // by slot
  std::vector<Instruction> result_;
  static constexpr std::size_t none = SIZE_MAX;
  std::size_t last_ = none;  // in result_: what may go on
};

}  // namespace

void make_chains(std::vector<TileInstruction>& instructions,
                 const std::vector<TileSlot>& slots,
                 std::vector<TileChain>& chains) {
  ChainMaker maker(instructions, slots, chains);
  for (const Instruction& each : instructions) maker.add(each);
  instructions = maker.take();
}

}  // namespace topos::engines

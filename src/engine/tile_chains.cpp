// Finds chains: arithmetic whose one reader is the next arithmetic; and
// products whose one reader is their sum.

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "engine/tile_instruction.h"

namespace topos::engines {

namespace {

using Instruction = TileInstruction;
using kernels::ChainStep;

/// By slot, the instructions that read it.
std::vector<std::uint32_t> count_readers(
    const std::vector<Instruction>& instructions, std::size_t slots,
    const std::vector<TileChain>& chains) {
  std::vector<std::uint32_t> readers(slots, 0);
  for (const Instruction& each : instructions) {
    std::vector<std::uint32_t> read;  // twice by one is one reader
    for_each_operand(each, chains, [&](std::uint32_t operand) {
      if (std::ranges::find(read, operand) == read.end()) {
        read.push_back(operand);
        ++readers[operand];
      }
    });
  }
  return readers;
}

class ChainMaker {
 public:
  ChainMaker(const std::vector<Instruction>& instructions,
             const std::vector<TileSlot>& slots, std::vector<TileChain>& chains,
             std::int64_t columns)
      : slots_(slots),
        chains_(chains),
        readers_(count_readers(instructions, slots.size(), chains)) {
    if (columns < least_row) return;
    for (const Instruction& each : instructions) {
      if (each.kind == Instruction::Kind::expand) {
        expanded_[each.result] = each.operands[0];
      }
    }
  }

  void add(Instruction next) {
    const bool takes_row_elements = read_row_elements(next);
    // Loads and the like lie between steps: they write registers alone.
    const bool writes_register = next.kind == Instruction::Kind::load ||
                                 next.kind == Instruction::Kind::expand;
    if (last_ != none && follows_last(next)) {
      extend_last(next);
      return;
    }
    result_.push_back(next);
    if (takes_row_elements) start(result_.back());
    if (next.arithmetic && next.kind == Instruction::Kind::tile) {
      last_ = result_.size() - 1;
    } else if (!writes_register) {
      last_ = none;
    }
  }

  std::vector<Instruction> take() {
    // Some elements are no longer read as rows.
    const auto readers = count_readers(result_, slots_.size(), chains_);
    std::erase_if(result_, [&](const Instruction& each) {
      return each.kind == Instruction::Kind::expand &&
             readers[each.result] == 0;
    });
    return std::move(result_);
  }

 private:
  /// Shorter rows are better all at once.
  static constexpr std::int64_t least_row = 128;

  /// Makes an element a row, which would be a row of that element, a scalar of
  /// each row. Whether there was one.
  bool read_row_elements(Instruction& next) const {
    if (!next.arithmetic || next.kind != Instruction::Kind::tile ||
        next.extent != Extent::full || next.operand_count != 2) {
      return false;
    }
    const auto before = next.scalars;
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto found = expanded_.find(next.operands[i]);
      if (found == expanded_.end() || next.scalars != before) continue;
      if ((next.scalars >> (1 - i) & 1) != 0) continue;  // one stays a row
      next.operands[i] = found->second;
      next.scalars |= 1u << i;
    }
    return next.scalars != before;
  }

  bool follows_last(const Instruction& next) const {
    const Instruction& last = result_[last_];
    if (!next.arithmetic || next.extent != last.extent) return false;
    if (slots_[last.result].in_memory || readers_[last.result] != 1) {
      return false;
    }
    if (last.kind == Instruction::Kind::chain &&
        chains_[last.chain].steps.size() >= kernels::greatest_chain) {
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
    const std::size_t other = other_chain(chain, next);
    if (other != none) put_aside(other, chain);
    append(chains_[chain.chain], next, value);
    if (other != none) {
      chains_[chain.chain].steps.back().operand = ChainStep::Operand::aside;
    }
    chain.result = next.result;
    result_.push_back(chain);
    last_ = result_.size() - 1;
  }

  /// The arithmetic, in result_, that makes the other operand of what follows
  /// a chain, if it can run together with both: each has to leave room for the
  /// other, and nothing since has written memory.
  std::size_t other_chain(const Instruction& chain,
                          const Instruction& next) const {
    if (next.operand_count != 2 || next.operands[0] == next.operands[1] ||
        next.scalars != 0) {
      return none;
    }
    const std::uint32_t value =
        next.operands[0] == chain.result ? next.operands[1] : next.operands[0];
    if (slots_[value].in_memory || readers_[value] != 1) return none;
    for (std::size_t at = result_.size(); at-- > 0;) {
      const Instruction& other = result_[at];
      if (other.result == value) {
        return can_join(other, chain) ? at : none;
      }
      if (slots_[other.result].in_memory) return none;
    }
    return none;
  }

  bool can_join(const Instruction& other, const Instruction& chain) const {
    if (!other.arithmetic || other.extent != chain.extent) return false;
    std::size_t steps = chains_[chain.chain].steps.size() + 2;
    bool turns = has_turn(chains_[chain.chain]);
    if (other.kind == Instruction::Kind::chain) {
      steps += chains_[other.chain].steps.size();
      turns |= has_turn(chains_[other.chain]);
    } else if (other.kind == Instruction::Kind::tile) {
      ++steps;
    } else {
      return false;
    }
    return steps <= kernels::greatest_chain && !turns &&
           std::ranges::none_of(chains_[chain.chain].steps, is_function);
  }

  static bool is_function(const ChainStep& step) {
    return step.op == kernels::Arithmetic::erf ||
           step.op == kernels::Arithmetic::logistic;
  }

  static bool has_turn(const TileChain& chain) {
    return std::ranges::any_of(chain.steps, [](const ChainStep& step) {
      return step.operand == ChainStep::Operand::turn;
    });
  }

  /// Lets a chain start with another one, whose value it puts aside.
  void put_aside(std::size_t at, Instruction& chain) {
    Instruction other = result_[at];
    result_.erase(result_.begin() + static_cast<std::ptrdiff_t>(at));
    if (other.kind == Instruction::Kind::tile) start(other);
    const TileChain& second = chains_[chain.chain];
    TileChain& first = chains_[other.chain];
    ChainStep turn;
    turn.operand = ChainStep::Operand::turn;
    first.steps.push_back(turn);
    first.operands.push_back(chain.operands[0]);
    first.steps.insert(first.steps.end(), second.steps.begin(),
                       second.steps.end());
    first.operands.insert(first.operands.end(), second.operands.begin(),
                          second.operands.end());
    chain.operands[0] = other.operands[0];
    chain.chain = other.chain;
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
  std::vector<std::uint32_t> readers_;                         // by slot
  std::unordered_map<std::uint32_t, std::uint32_t> expanded_;  // to its element
  std::vector<Instruction> result_;
  static constexpr std::size_t none = SIZE_MAX;
  std::size_t last_ = none;  // in result_: what may go on
};

/// Whether the products of f32 at `at` are those that a later sum reads, and
/// could be computed there: nothing in between writes memory, which their
/// operands may share.
bool is_summed(const std::vector<Instruction>& instructions,
               const std::vector<TileSlot>& slots, std::size_t at,
               std::size_t sum) {
  const Instruction& product = instructions[at];
  if (product.arithmetic != kernels::Arithmetic::mul ||
      product.kind != Instruction::Kind::tile || product.scalars != 0 ||
      product.extent != Extent::full ||
      product.result != instructions[sum].operands[0] ||
      slots[product.result].in_memory) {
    return false;
  }
  for (std::size_t i = at + 1; i < sum; ++i) {
    if (slots[instructions[i].result].in_memory) return false;
  }
  return true;
}

void make_sums_of_products(std::vector<Instruction>& instructions,
                           const std::vector<TileSlot>& slots) {
  const auto readers = count_readers(instructions, slots.size(), {});
  for (std::size_t sum = 1; sum < instructions.size(); ++sum) {
    Instruction& each = instructions[sum];
    if (each.divisor == 0 || readers[each.operands[0]] != 1) continue;
    for (std::size_t at = sum; at-- > 0;) {
      if (!is_summed(instructions, slots, at, sum)) continue;
      each.kind = Instruction::Kind::products;
      each.operands[0] = instructions[at].operands[0];
      each.operands[1] = instructions[at].operands[1];
      each.operand_count = 2;
      instructions.erase(instructions.begin() +
                         static_cast<std::ptrdiff_t>(at));
      --sum;
      break;
    }
  }
}

}  // namespace

void make_chains(std::vector<TileInstruction>& instructions,
                 const std::vector<TileSlot>& slots,
                 std::vector<TileChain>& chains, std::int64_t columns) {
  make_sums_of_products(instructions, slots);
  ChainMaker maker(instructions, slots, chains, columns);
  for (const Instruction& each : instructions) maker.add(each);
  instructions = maker.take();
}

}  // namespace topos::engines

// From a group to its program over tiles.

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "engine/tile.h"
#include "engine/tile_kernels.h"
#include "ops/sum_reference.h"
#include "topos/error.h"

namespace topos::engines {

namespace {

using graph::Node;

constexpr std::size_t alignment = 64;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Elements of a tile: some registers of this many fit L1 together.
constexpr std::int64_t tile_elements = 2048;

bool is_elementary(const ops::Any& op) {
  return std::visit(
      []<class Op>(const Op&) {
        return std::is_same_v<Op, ops::Exp> || std::is_same_v<Op, ops::Expm1> ||
               std::is_same_v<Op, ops::Ln> || std::is_same_v<Op, ops::Log1p> ||
               std::is_same_v<Op, ops::Tanh> || std::is_same_v<Op, ops::Erf> ||
               std::is_same_v<Op, ops::Logistic> ||
               std::is_same_v<Op, ops::Pow> || std::is_same_v<Op, ops::Sin> ||
               std::is_same_v<Op, ops::Cos> || std::is_same_v<Op, ops::Rsqrt> ||
               std::is_same_v<Op, ops::Softmax> ||
               std::is_same_v<Op, ops::LogSoftmax> ||
               std::is_same_v<Op, ops::LogSumExp>;
      },
      op);
}

}  // namespace

class TileProgram::Builder {
 public:
  Builder(TileProgram& tile, const Program& program, const Grouping& grouping,
          const Group& group, const std::vector<bool>& stored,
          const std::vector<bool>& stays, Numerics numerics)
      : tile_(tile),
        program_(program),
        accesses_(grouping.accesses),
        group_(group),
        stored_(stored),
        stays_(stays),
        numerics_(numerics) {}

  void build() {
    tile_.columns_ = group_.columns;
    if (group_.kind == Group::Kind::product) {
      add_product();
    } else {
      choose_tile();
    }
    for (member_ = 0; member_ < group_.members.size(); ++member_) {
      add(group_.members[member_]);
    }
    make_chains(tile_.instructions_, tile_.slots_, tile_.chains_,
                group_.columns);
    place_scratch();
    find_streams();
    for (const auto& [node, load] : direct_) {
      if (!read_otherwise_.contains(node)) tile_.direct_loads_.push_back(load);
    }
  }

 private:
  void choose_tile() {
    const std::int64_t rows = std::max<std::int64_t>(group_.rows, 1);
    const std::int64_t columns = std::max<std::int64_t>(group_.columns, 1);
    std::int64_t tile_rows = std::max<std::int64_t>(tile_elements / columns, 1);
    for (const Group::Member& member : group_.members) {
      // The blocks of a sum of everything are its tiles.
      if (member.extent == Extent::total) tile_rows = ops::sum_block;
    }
    tile_.grid_ = {group_.rows, columns, rows, std::min(tile_rows, rows),
                   columns};
  }

  /// Whether some member needs its whole row in one tile, or leaves an element
  /// a row to others: two tiles would write it.
  bool needs_whole_rows() const {
    return std::ranges::any_of(
        group_.members, [&](const Group::Member& member) {
          const Node& node = program_.list.nodes[member.node];
          const std::uint32_t last = program_.list.operands(node).back();
          return row_function(node.op, program_.list.nodes[last].type.dtype) !=
                     nullptr ||
                 (member.extent == Extent::row && stored_[member.node]);
        });
  }

  void add_product() {
    const auto found =
        std::ranges::find_if(group_.members, [&](const Group::Member& member) {
          return std::holds_alternative<ops::Matmul>(
              program_.list.nodes[member.node].op);
        });
    const Node& node = program_.list.nodes[found->node];
    const auto operands = program_.list.operands(node);
    tile_.product_.emplace(
        accesses_[operands[0]], accesses_[operands[1]], node.type.dtype,
        program_.list.nodes[operands[0]].type.dtype,
        program_.list.nodes[operands[1]].type.dtype, group_.rows,
        group_.columns, needs_whole_rows(), numerics_);
    if (stays_[tile_.product_->right()]) tile_.product_->keep_right();
    tile_.grid_ = tile_.product_->grid();
    tile_.cost_ += tile_.product_->cost();
    read_otherwise_.insert(tile_.product_->left());
    read_otherwise_.insert(tile_.product_->right());
  }

  std::size_t elements(Extent extent) const {
    if (extent == Extent::total) return 1;
    const TileGrid& grid = tile_.grid_;
    return static_cast<std::size_t>(extent == Extent::full
                                        ? grid.tile_rows * grid.tile_columns
                                        : grid.tile_rows);
  }

  void add(const Group::Member& member) {
    const Node& node = program_.list.nodes[member.node];
    Instruction instruction;
    instruction.extent = member.extent;
    const double work = static_cast<double>(member.extent == Extent::full
                                                ? group_.rows * group_.columns
                                                : group_.rows);
    const auto operands = program_.list.operands(node);
    if (std::holds_alternative<ops::Matmul>(node.op)) {
      instruction.kind = Instruction::Kind::product;
    } else if (member.extent == Extent::total) {
      instruction.kind = Instruction::Kind::total;
      instruction.operands[instruction.operand_count++] =
          read(operands[0], Extent::full);
      instruction.total = add_total(member.node, node);
    } else {
      const Type& last = program_.list.nodes[operands.back()].type;
      instruction.row = row_function(node.op, last.dtype);
      Extent reads = member.extent;
      if (instruction.row != nullptr) {
        instruction.kind = Instruction::Kind::row;
        instruction.divisor = divisor_of_sum(node);
        reads = Extent::full;
        // Whole rows are read, whatever comes of them.
        tile_.cost_ += static_cast<double>(group_.rows * group_.columns) *
                       (is_elementary(node.op) ? 1.0 : 0.1);
      }
      const kernels::Scalars scalars =
          instruction.row == nullptr
              ? choose_tile_function(instruction, member, operands, work)
              : 0;
      for (std::uint32_t operand : operands) {
        const std::uint32_t i = instruction.operand_count++;
        instruction.operands[i] = (scalars >> i & 1) != 0
                                      ? repeated_element(operand)
                                      : read(operand, reads);
      }
    }
    instruction.result = slot_of_result(member, node);
    tile_.instructions_.push_back(instruction);
  }

  /// Of a sum or mean of rows of f32; of others 0.
  double divisor_of_sum(const Node& node) const {
    if (node.type.dtype != f32) return 0;
    if (std::holds_alternative<ops::Sum>(node.op)) return 1;
    if (!std::holds_alternative<ops::Mean>(node.op)) return 0;
    return static_cast<double>(group_.columns);
  }

  /// Sets the loop of an elementwise instruction; the operands that it takes as
  /// one element each.
  kernels::Scalars choose_tile_function(Instruction& instruction,
                                        const Group::Member& member,
                                        std::span<const std::uint32_t> operands,
                                        double work) {
    const Node& node = program_.list.nodes[member.node];
    const DType dtype = program_.list.nodes[operands.back()].type.dtype;
    kernels::Scalars scalars = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (is_repeated_element(operands[i])) scalars |= 1u << i;
    }
    if (scalars != 0) {
      instruction.tile = tile_kernel(node.op, dtype, scalars);
      if (instruction.tile == nullptr) scalars = 0;
    }
    if (scalars == 0) instruction.tile = tile_kernel(node.op, dtype, 0);
    const bool is_fast = instruction.tile != nullptr;
    instruction.scalars = scalars;
    if (is_fast && dtype == f32)
      instruction.arithmetic = arithmetic_of(node.op);
    instruction.is_costly = member.extent == Extent::full &&
                            is_elementary(node.op) && operands.size() == 1;
    if (!is_fast) instruction.tile = tile_of(node.op, dtype);
    const double elementary = is_fast ? 1.0 : 12.0;
    const double cheap = is_fast ? 0.1 : 0.4;
    tile_.cost_ += work * (is_elementary(node.op) ? elementary : cheap);
    return scalars;
  }

  /// Whether all positions of an operand from outside are one element.
  bool is_repeated_element(std::uint32_t operand) const {
    const Access& access = accesses_[operand];
    if (computed_.contains(access.root)) return false;
    const Layout layout = access.layout.collapsed();
    return layout.shape.rank() == 1 && layout.strides[0] == 0;
  }

  std::uint32_t repeated_element(std::uint32_t operand) {
    const Access& access = accesses_[operand];
    Slot slot;
    slot.element_bytes = size_bytes(program_.list.nodes[operand].type.dtype);
    slot.in_memory = true;
    slot.moves = false;
    slot.node = access.root;
    slot.first_byte =
        access.layout.offset * static_cast<std::int64_t>(slot.element_bytes);
    read_otherwise_.insert(access.root);
    return add_slot(slot);
  }

  static ops::TileFunction tile_of(const ops::Any& op, DType dtype) {
    const ops::TileFunction function = std::visit(
        [&]<class Op>(const Op& o) -> ops::TileFunction {
          if constexpr (ops::Elementwise<Op>) {
            return ops::tile_function(o, dtype);
          } else {
            return nullptr;
          }
        },
        op);
    if (function == nullptr) throw InternalError("a group member has no tile");
    return function;
  }

  std::uint32_t slot_of_result(const Group::Member& member, const Node& node) {
    Slot slot;
    slot.extent = member.extent;
    slot.element_bytes = size_bytes(node.type.dtype);
    slot.in_memory = stored_[member.node];
    slot.moves = member.extent != Extent::total;
    slot.node = member.node;
    const auto at = add_slot(slot);
    computed_[member.node] = {at, member.extent};
    return at;
  }

  std::uint32_t add_slot(const Slot& slot) {
    tile_.slots_.push_back(slot);
    return static_cast<std::uint32_t>(tile_.slots_.size()) - 1;
  }

  /// The slot of an operand as its reader sees it.
  std::uint32_t read(std::uint32_t operand, Extent reads) {
    const Access& access = accesses_[operand];
    const DType dtype = program_.list.nodes[operand].type.dtype;
    if (const auto found = computed_.find(access.root);
        found != computed_.end()) {
      const auto [slot, extent] = found->second;
      const Edge edge =
          edge_of(access.layout, extent, reads, group_.rows, group_.columns);
      if (edge == Edge::direct) return slot;
      if (edge == Edge::expand) return expanded(access.root, slot, dtype);
      throw InternalError("a group member cannot be read in its group");
    }
    return loaded(access, reads, dtype);
  }

  std::uint32_t expanded(std::uint32_t root, std::uint32_t from, DType dtype) {
    if (const auto found = expanded_.find(root); found != expanded_.end()) {
      return found->second;
    }
    Slot slot;
    slot.element_bytes = size_bytes(dtype);
    Instruction instruction;
    instruction.kind = Instruction::Kind::expand;
    instruction.row = expand_function(dtype);
    instruction.operands[0] = from;
    instruction.operand_count = 1;
    instruction.result = add_slot(slot);
    tile_.instructions_.push_back(instruction);
    expanded_.emplace(root, instruction.result);
    return instruction.result;
  }

  std::uint32_t loaded(const Access& access, Extent reads, DType dtype) {
    const Layout layout = access.layout.collapsed();
    const auto bytes = static_cast<std::int64_t>(size_bytes(dtype));
    Slot slot;
    slot.element_bytes = size_bytes(dtype);
    slot.extent = reads;
    // A contiguous operand is read where it lies.
    if (layout.is_contiguous() &&
        (layout.shape.rank() > 0 ||
         (group_.rows * group_.columns == 1 ||
          (reads == Extent::row && group_.rows == 1)))) {
      slot.in_memory = true;
      slot.node = access.root;
      slot.first_byte = layout.offset * bytes;
      const auto [first, last] = direct_slots_.equal_range(access.root);
      for (auto found = first; found != last; ++found) {
        const std::uint32_t at = found->second;
        const Slot& other = tile_.slots_[at];
        if (other.first_byte == slot.first_byte && other.extent == reads) {
          note_direct(access, reads);
          return at;
        }
      }
      note_direct(access, reads);
      const auto at = add_slot(slot);
      direct_slots_.emplace(access.root, at);
      return at;
    }
    read_otherwise_.insert(access.root);
    const auto [first, last] = loads_of_.equal_range(access.root);
    for (auto found = first; found != last; ++found) {
      const Load& load = tile_.loads_[found->second];
      if (load.layout == layout && tile_.slots_[load.slot].extent == reads) {
        return static_cast<std::uint32_t>(load.slot);
      }
    }
    const bool repeats = repeats_in_tiles(access.layout, reads);
    slot.is_kept = repeats;
    const auto at = add_slot(slot);
    loads_of_.emplace(access.root, tile_.loads_.size());
    Instruction instruction;
    instruction.kind = Instruction::Kind::load;
    instruction.extent = reads;
    instruction.result = at;
    instruction.load = static_cast<std::uint32_t>(tile_.loads_.size());
    tile_.loads_.push_back(
        {load_function(dtype), access.root, at, layout, repeats});
    tile_.instructions_.push_back(instruction);
    return at;
  }

  /// Whether a tile finds the elements that the one before it did.
  bool repeats_in_tiles(const Layout& layout, Extent reads) const {
    const std::int64_t columns = reads == Extent::full ? group_.columns : 1;
    const auto rows = layout.reshaped(Shape{group_.rows, columns});
    return rows && rows->strides[0] == 0;
  }

  void note_direct(const Access& access, Extent reads) {
    // Overwriting needs the whole of the root to be read, element by element.
    const bool whole =
        access.layout.offset == 0 &&
        access.layout.shape.element_count() ==
            program_.list.nodes[access.root].type.shape.element_count();
    if (!whole) {
      read_otherwise_.insert(access.root);
      return;
    }
    const auto [at, is_new] = direct_.try_emplace(
        access.root, DirectLoad{access.root, member_, reads});
    if (!is_new) {
      if (at->second.extent != reads) {
        read_otherwise_.insert(access.root);
      }
      at->second.last_read = member_;
    }
  }

  std::uint32_t add_total(std::uint32_t id, const Node& node) {
    Total total{node.type.dtype, id, 1, tile_.totals_bytes_};
    if (std::holds_alternative<ops::Mean>(node.op)) {
      total.divisor = static_cast<double>(group_.rows);
    }
    tile_.totals_bytes_ +=
        aligned(static_cast<std::size_t>(tile_.tile_count()) * sizeof(double));
    tile_.cost_ += static_cast<double>(group_.rows) * 0.1;
    tile_.totals_.push_back(total);
    return static_cast<std::uint32_t>(tile_.totals_.size()) - 1;
  }

  /// Registers for the values in scratch: reused once nobody reads them.
  void place_scratch() {
    std::vector<std::size_t> last(tile_.slots_.size(), 0);
    const auto& instructions = tile_.instructions_;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      last[instructions[i].result] = i;
      for_each_operand(instructions[i], tile_.chains_,
                       [&](std::uint32_t operand) { last[operand] = i; });
    }
    tile_.pointers_bytes_ = aligned(tile_.slots_.size() * sizeof(std::byte*));
    std::size_t end = tile_.pointers_bytes_;
    if (tile_.product_) end += aligned(tile_.product_->worker_bytes());
    std::multimap<std::size_t, std::size_t> free;  // by bytes
    const auto place = [&](Slot& slot) {
      const std::size_t bytes =
          aligned(elements(slot.extent) * slot.element_bytes);
      // What is kept may not lie where an earlier instruction writes.
      const auto found = slot.is_kept ? free.end() : free.find(bytes);
      if (found != free.end()) {
        slot.scratch = found->second;
        free.erase(found);
      } else {
        slot.scratch = end;
        end += bytes;
      }
    };
    const auto release = [&](std::uint32_t at, std::size_t i) {
      const Slot& slot = tile_.slots_[at];
      if (slot.in_memory || slot.is_kept || last[at] != i) return;
      last[at] = SIZE_MAX;  // once
      free.emplace(aligned(elements(slot.extent) * slot.element_bytes),
                   slot.scratch);
    };
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      Slot& result = tile_.slots_[instructions[i].result];
      if (instructions[i].kind == Instruction::Kind::tile ||
          instructions[i].kind == Instruction::Kind::chain) {
        // Written over an operand of the same size, which stays in L1.
        for_each_operand(
            instructions[i], tile_.chains_, [&](std::uint32_t operand) {
              if (tile_.slots_[operand].element_bytes == result.element_bytes) {
                release(operand, i);
              }
            });
      }
      if (!result.in_memory) place(result);
      for_each_operand(instructions[i], tile_.chains_,
                       [&](std::uint32_t operand) { release(operand, i); });
      release(instructions[i].result, i);
    }
    tile_.worker_bytes_ = end;
  }

  /// Where a cache does not hold them anyway.
  void find_streams() {
    constexpr std::int64_t least_elements = std::int64_t{1} << 18;
    if (tile_.product_ || group_.rows * group_.columns < least_elements) {
      return;
    }
    std::vector<bool> written(tile_.slots_.size(), false);
    for (const Instruction& each : tile_.instructions_) {
      written[each.result] = true;
    }
    for (std::uint32_t i = 0; i < tile_.slots_.size(); ++i) {
      const Slot& slot = tile_.slots_[i];
      if (slot.in_memory && slot.moves && slot.extent == Extent::full) {
        tile_.streams_.push_back({i, written[i]});
      }
    }
  }

  TileProgram& tile_;
  const Program& program_;
  const std::vector<Access>& accesses_;
  const Group& group_;
  const std::vector<bool>& stored_;
  const std::vector<bool>& stays_;
  Numerics numerics_;
  std::size_t member_ = 0;
  struct Computed {
    std::uint32_t slot;
    Extent extent;
  };
  std::unordered_map<std::uint32_t, Computed> computed_;
  std::unordered_map<std::uint32_t, std::uint32_t> expanded_;
  /// By root: the slots that read it where it lies, and its loads.
  std::unordered_multimap<std::uint32_t, std::uint32_t> direct_slots_;
  std::unordered_multimap<std::uint32_t, std::size_t> loads_of_;
  std::map<std::uint32_t, DirectLoad> direct_;
  /// Nodes that nothing may overwrite: the group reads them in another way,
  /// too.
  std::unordered_set<std::uint32_t> read_otherwise_;
};

TileProgram::TileProgram(const Program& program, const Grouping& grouping,
                         const Group& group, const std::vector<bool>& stored,
                         const std::vector<bool>& stays, Numerics numerics) {
  Builder(*this, program, grouping, group, stored, stays, numerics).build();
}

}  // namespace topos::engines

// What a native program does and where, for readers.

#include <fmt/format.h>

#include <algorithm>

#include "engine/native_program.h"
#include "ops/evaluate.h"

namespace topos::engines {

std::string NativeProgram::describe() const {
  const Program& list = program();
  std::string result = fmt::format(
      "native: {} groups, {} nodes by reference code, arena {} bytes, {} "
      "threads, numerics exact\n",
      steps_.size(), reference_nodes(), arena_bytes_, threads_);
  const auto place_text = [&](std::uint32_t id) -> std::string {
    const Place& place = places_[id];
    switch (place.kind) {
      case Place::Kind::none:
        return "in registers";
      case Place::Kind::leaf:
        return "leaf";
      case Place::Kind::carry:
        return fmt::format("in place, carry {}",
                           list.list.name_of(list.carries[place.index].input));
      case Place::Kind::block: {
        const Block& block = blocks_[place.index];
        return fmt::format("arena {} + {}, groups {} to {}", block.offset,
                           block.bytes, block.first,
                           std::min<std::size_t>(block.last, steps_.size()));
      }
    }
    return "";
  };
  for (std::size_t g = 0; g < steps_.size(); ++g) {
    const Step& step = steps_[g];
    const Group& group = plan_->grouping.groups[g];
    result += fmt::format("group {}: {}", g, name(group.kind));
    if (step.tile) {
      result += fmt::format(", {} x {}, {} tiles, {} parts", group.rows,
                            group.columns, step.tile->tile_count(), step.parts);
    } else {
      result += fmt::format(", kernel {}", step.single->kernel());
    }
    const Block& scratch = blocks_[step.scratch_block];
    result += scratch.bytes == 0 ? std::string("\n")
                                 : fmt::format(", scratch {} + {}\n",
                                               scratch.offset, scratch.bytes);
    for (const Group::Member& member : group.members) {
      const graph::Node& node = list.list.nodes[member.node];
      result += fmt::format("  %{:<4} {:<16} {:<16} {}\n", member.node,
                            ops::name_of(node.op), node.type.text(),
                            place_text(member.node));
    }
  }
  const auto name_of = [&](std::uint32_t node) {
    const std::string_view given = list.list.name_of(node);
    return given.empty() ? fmt::format("%{}", node)
                         : fmt::format("%{} \"{}\"", node, given);
  };
  for (const Copy& copy : snapshots_) {
    result +=
        fmt::format("snapshot {} to arena {} + {}\n", name_of(copy.from.root),
                    blocks_[copy.to].offset, blocks_[copy.to].bytes);
  }
  std::vector<bool> is_committed(list.carries.size());
  for (const Copy& copy : commits_) is_committed[copy.to] = true;
  for (std::size_t i = 0; i < list.carries.size(); ++i) {
    const auto& [input, next] = list.carries[i];
    const bool in_place =
        places_[next].kind == Place::Kind::carry && places_[next].index == i;
    result += fmt::format("carry {} <- %{}, {}\n", name_of(input), next,
                          is_committed[i] ? "copied at the end"
                          : in_place      ? "in place"
                                          : "as it is");
  }
  return result;
}

}  // namespace topos::engines

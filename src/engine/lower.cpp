// From an entry to a plan: the list of passes.

#include <fmt/format.h>

#include <utility>

#include "engine/lowered_plan.h"
#include "kernels/bf16_dot.h"
#include "math/float_environment.h"
#include "ops/at_line.h"
#include "ops/evaluate.h"
#include "topos/error.h"

namespace topos {

Plan Network::lower(const Entry& entry, Site site) const {
  return ops::at_line(site, "lower", [&] {
    auto plan = std::make_shared<engines::LoweredPlan>();
    plan->entry = entry;
    const auto note = [&](const char* pass, const engines::Program& program) {
      plan->passes.push_back({pass, program.size()});
    };
    plan->recorded = engines::closure(graph::graph_of(*this), entry);
    note("closure", plan->recorded);
    // Constants are folded in the environment that a step has.
    const math::FloatEnvironment environment;
    plan->simplified = engines::simplify(plan->recorded);
    note("simplify", plan->simplified);
    if (engines::has_halves(plan->simplified)) {
      plan->narrow = std::move(plan->simplified);
      const bool is_fast = entry.numerics() == Numerics::fast;
      plan->simplified = engines::widen(
          *plan->narrow, {.products_widen = true,
                          .dots_bf16 = is_fast && kernels::bf16_dot_pays()});
      note("widen", plan->simplified);
    }
    plan->grouping = engines::group(plan->simplified);
    note("group", plan->simplified);
    return Plan(std::move(plan));
  });
}

const Entry& Plan::entry() const noexcept { return lowered_->entry; }

std::size_t Plan::recorded_size() const noexcept {
  return lowered_->recorded.size();
}

std::size_t Plan::size() const noexcept { return lowered_->simplified.size(); }

std::size_t Plan::group_count() const noexcept {
  return lowered_->grouping.groups.size();
}

std::string Plan::describe() const {
  const engines::Program& program = lowered_->simplified;
  std::string result;
  for (const auto& pass : lowered_->passes) {
    result += fmt::format("{:<10} {} nodes\n", pass.name, pass.nodes);
  }
  result +=
      fmt::format("{} groups, numerics {}\n", group_count(),
                  entry().numerics() == Numerics::exact ? "exact" : "fast");
  const auto line = [&](std::uint32_t id) {
    const graph::Node& node = program.list.nodes[id];
    std::string call;
    if (node.kind == graph::Kind::operation) {
      call = ops::name_of(node.op);
      for (std::uint32_t operand : program.list.operands(node)) {
        call += fmt::format(" %{}", operand);
      }
      call += ops::fields_of(node.op);
    } else {
      call = graph::name(node.kind);
      if (const auto name = program.list.name_of(id); !name.empty()) {
        call += fmt::format(" \"{}\"", name);
      }
    }
    result += fmt::format("  %{:<4} {:<44} {}\n", id, call, node.type.text());
  };
  result += "leaves and views\n";
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    if (lowered_->grouping.group_of[i] == engines::Grouping::none) line(i);
  }
  for (std::size_t g = 0; g < group_count(); ++g) {
    const engines::Group& group = lowered_->grouping.groups[g];
    result += fmt::format("group {}: {}", g, engines::name(group.kind));
    if (group.kind != engines::Group::Kind::single) {
      result += fmt::format(", {} x {}", group.rows, group.columns);
    }
    result += "\n";
    for (const auto& member : group.members) line(member.node);
  }
  for (std::uint32_t node : program.results) {
    result += fmt::format("result %{}\n", node);
  }
  for (const auto& carry : program.carries) {
    result += fmt::format("carry %{} <- %{}\n", carry.input, carry.next);
  }
  return result;
}

}  // namespace topos

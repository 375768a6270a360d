// What a profile counts.

#include "engine/profile.h"

#include <algorithm>
#include <set>

#include "ops/evaluate.h"

namespace topos::engines {

namespace {

/// Spans that each worker keeps: a few steps of a large plan, many of a small
/// one.
constexpr std::size_t spans_kept = 4096;

double count(const Type& type) {
  return static_cast<double>(type.shape.element_count());
}

/// One an element, of the operands or of the result, whichever has more.
double flops_of(const Program& program, std::uint32_t id) {
  const graph::Node& node = program.list.nodes[id];
  const auto operands = program.list.operands(node);
  if (std::holds_alternative<ops::Matmul>(node.op)) {
    const Type& left = program.list.nodes[operands[0]].type;
    return 2 * count(node.type) * static_cast<double>(left.shape[-1]);
  }
  double elements = count(node.type);
  // Indexing computes nothing of what it only passes by.
  if (std::holds_alternative<ops::Gather>(node.op)) return 0;
  for (std::uint32_t operand : operands) {
    elements = std::max(elements, count(program.list.nodes[operand].type));
  }
  return elements;
}

}  // namespace

ProfileRecorder::ProfileRecorder(std::size_t groups, int workers)
    : groups_(groups), rings_(static_cast<std::size_t>(workers)) {
  for (Ring& ring : rings_) ring.spans.resize(std::max(spans_kept, 4 * groups));
}

void ProfileRecorder::begin_step() { step_begin_ = Clock::now(); }

void ProfileRecorder::end_step() {
  total_ += Clock::now() - step_begin_;
  ++steps_;
}

void ProfileRecorder::add_group(std::size_t group, Clock::time_point begin,
                                Clock::time_point end) {
  groups_[group] += end - begin;
}

void ProfileRecorder::work(std::size_t group, int worker,
                           Clock::time_point begin, Clock::time_point end) {
  Ring& ring = rings_[static_cast<std::size_t>(worker)];
  ring.spans[ring.count++ % ring.spans.size()] = {
      steps_, static_cast<std::uint32_t>(group), begin, end};
}

Work work_of(const LoweredPlan& plan, std::size_t group) {
  const Program& program = plan.simplified;
  const Grouping& grouping = plan.grouping;
  std::set<std::uint32_t> inside;
  for (const Group::Member& member : grouping.groups[group].members) {
    inside.insert(member.node);
  }
  // What somebody else reads is written.
  std::set<std::uint32_t> written;
  const auto note = [&](std::uint32_t node) {
    const std::uint32_t root = grouping.accesses[node].root;
    if (inside.count(root) != 0) written.insert(root);
  };
  for (std::uint32_t result : program.results) note(result);
  for (const Program::Carry& carry : program.carries) note(carry.next);
  for (std::uint32_t id = 0; id < program.size(); ++id) {
    if (inside.count(id) != 0) continue;
    if (grouping.group_of[id] == Grouping::none) continue;
    for (std::uint32_t operand : program.list.operands(id)) note(operand);
  }
  std::set<std::uint32_t> read;
  Work work;
  for (std::uint32_t id : inside) {
    const graph::Node& node = program.list.nodes[id];
    work.flops += flops_of(program, id);
    const bool is_gather = std::holds_alternative<ops::Gather>(node.op);
    for (std::uint32_t operand : program.list.operands(node)) {
      const std::uint32_t root = grouping.accesses[operand].root;
      if (inside.count(root) != 0 || !read.insert(root).second) continue;
      const Type& type = program.list.nodes[root].type;
      // A gather reads as much of its table as it gives.
      const bool is_table =
          is_gather && operand == program.list.operands(node)[0];
      work.bytes += static_cast<double>(is_table ? node.type.size_bytes()
                                                 : type.size_bytes());
    }
  }
  for (std::uint32_t id : written) {
    work.bytes += static_cast<double>(program.list.nodes[id].type.size_bytes());
  }
  return work;
}

Profile ProfileRecorder::profile(const LoweredPlan& plan, int threads) const {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  using Microseconds = std::chrono::duration<double, std::micro>;
  Profile profile;
  profile.steps = steps_;
  profile.limits = machine_limits(threads);
  const double each = steps_ == 0 ? 1 : static_cast<double>(steps_);
  profile.step_milliseconds = Milliseconds(total_).count() / each;
  const Program& program = plan.simplified;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const engines::Group& members = plan.grouping.groups[g];
    Profile::Group group;
    group.kind = name(members.kind);
    for (const engines::Group::Member& member : members.members) {
      if (!group.operations.empty()) group.operations += ' ';
      group.operations += ops::name_of(program.list.nodes[member.node].op);
    }
    const graph::Node& first = program.list.nodes[members.members.front().node];
    group.line = (first.frame.known() ? first.frame : first.site).text();
    group.milliseconds = Milliseconds(groups_[g]).count() / each;
    const Work work = work_of(plan, g);
    group.bytes = work.bytes;
    group.flops = work.flops;
    // 10^9 a second are 10^6 a millisecond.
    const double least = 1e-6 * std::max(work.flops / profile.limits.gigaflops,
                                         work.bytes / profile.limits.gigabytes);
    group.share = group.milliseconds > 0 ? least / group.milliseconds : 0;
    profile.groups.push_back(std::move(group));
  }
  Clock::time_point first = Clock::time_point::max();
  for (const Ring& ring : rings_) {
    if (ring.size() > 0) first = std::min(first, ring[0].begin);
  }
  for (std::size_t worker = 0; worker < rings_.size(); ++worker) {
    const Ring& ring = rings_[worker];
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const Span& span = ring[i];
      profile.spans.push_back({span.step, span.group, static_cast<int>(worker),
                               Microseconds(span.begin - first).count(),
                               Microseconds(span.end - first).count()});
    }
  }
  return profile;
}

}  // namespace topos::engines

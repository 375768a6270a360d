#include "engine/native_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "kernels/thread_pool.h"
#include "ops/evaluate.h"
#include "topos/error.h"

namespace topos::engines {

namespace {

using graph::Kind;

/// Tells a recorder, if there is one, how long it lived.
template <class Report>
class Timer {
 public:
  using Clock = ProfileRecorder::Clock;

  Timer(ProfileRecorder* recorder, Report report)
      : recorder_(recorder), report_(report) {
    if (recorder_ != nullptr) begin_ = Clock::now();
  }
  ~Timer() {
    if (recorder_ != nullptr) report_(begin_, Clock::now());
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  ProfileRecorder* recorder_;
  Report report_;
  Clock::time_point begin_;
};

}  // namespace

/// Decides what each group runs and where each value lies.
class NativeProgram::Planner {
 public:
  explicit Planner(NativeProgram& native)
      : native_(native),
        program_(native.plan_->simplified),
        grouping_(native.plan_->grouping),
        end_(static_cast<std::uint32_t>(grouping_.groups.size())) {}

  void run() {
    find_uses();
    compile_groups();
    find_end_uses();
    place_carries();
    place_values();
    place_scratch();
    place_results();
    native_.arena_bytes_ = place_blocks(native_.blocks_);
  }

 private:
  std::uint32_t root(std::uint32_t node) const {
    return grouping_.accesses[node].root;
  }
  const graph::Node& node(std::uint32_t id) const {
    return program_.list.nodes[id];
  }
  bool is_leaf(std::uint32_t id) const {
    return node(id).kind != Kind::operation;
  }

  /// The last group that reads each root, and whether somebody outside its own
  /// group does.
  void find_uses() {
    last_use_.assign(program_.size(), 0);
    is_read_.assign(program_.size(), false);
    stored_.assign(program_.size(), false);
    is_carried_.assign(program_.size(), false);
    stays_.assign(program_.size(), false);
    for (std::uint32_t id = 0; id < program_.size(); ++id) {
      const std::uint32_t group = grouping_.group_of[id];
      if (group == Grouping::none) continue;
      for (std::uint32_t operand : program_.list.operands(id)) {
        const std::uint32_t source = root(operand);
        last_use_[source] = std::max(last_use_[source], group);
        is_read_[source] = true;
        if (grouping_.group_of[source] != group) stored_[source] = true;
      }
    }
    for (std::uint32_t result : program_.results) stored_[root(result)] = true;
    for (const Program::Carry& carry : program_.carries) {
      stored_[root(carry.next)] = true;
      is_carried_[carry.input] = true;
    }
    for (std::uint32_t id = 0; id < program_.size(); ++id) {
      stays_[id] = node(id).kind == Kind::parameter && !is_carried_[id];
    }
  }

  void compile_groups() {
    // Products are pointed to.
    native_.steps_.reserve(grouping_.groups.size());
    for (const Group& group : grouping_.groups) {
      Step step;
      if (group.kind == Group::Kind::single) {
        step.single.emplace(program_, grouping_, group.members[0].node,
                            native_.threads_);
      } else {
        step.tile.emplace(program_, grouping_, group, stored_, stays_,
                          native_.plan_->entry.numerics());
        const bool worth = step.tile->cost() > worth_a_thread;
        step.parts = worth ? step.tile->parts(native_.threads_) : 1;
      }
      native_.steps_.push_back(std::move(step));
      note_kept(native_.steps_.back());
    }
  }

  void note_kept(Step& step) {
    const Product* product = step.tile ? step.tile->product() : nullptr;
    if (product == nullptr || !product->keeps_right()) return;
    step.kept = static_cast<std::uint32_t>(native_.kept_.size());
    native_.kept_.push_back(product);
  }

  /// Results and what is copied at the end are needed until then.
  void find_end_uses() {
    for (std::uint32_t result : program_.results)
      last_use_[root(result)] = end_;
    for (const Program::Carry& carry : program_.carries) {
      last_use_[root(carry.next)] = end_;
    }
  }

  // ---- Carries ----------------------------------------------------------

  void place_carries() {
    native_.places_.resize(program_.size());
    for (std::uint32_t i = 0; i < program_.carries.size(); ++i) {
      const Program::Carry& carry = program_.carries[i];
      const Access& next = grouping_.accesses[carry.next];
      if (can_write_in_place(carry)) {
        native_.places_[carry.next] = {Place::Kind::carry, i};
        continue;
      }
      if (root(carry.next) == carry.input &&
          next.layout == Layout::row_major(node(carry.input).type.shape)) {
        continue;  // carried to itself
      }
      Copy commit{next, node(carry.next).type, i};
      if (is_leaf(next.root) && is_carried_[next.root]) {
        // It may be overwritten by another carry before it is copied.
        commit.block = snapshot(next, commit.type);
        commit.from = {next.root, Layout::row_major(commit.type.shape)};
      }
      native_.commits_.push_back(commit);
    }
  }

  /// Whether the group that computes the next value may write it over the old
  /// one: whoever reads the old value has done so by then.
  bool can_write_in_place(const Program::Carry& carry) const {
    const std::uint32_t next = carry.next;
    if (is_leaf(next) || !is_root(grouping_.accesses, next)) return false;
    if (native_.places_[next].kind == Place::Kind::carry) return false;
    if (node(next).type.shape.element_count() == 0) return false;
    const std::uint32_t group = grouping_.group_of[next];
    // Read later, or a result, or the next value of another leaf.
    if (last_use_[carry.input] > group) return false;
    const bool reads = is_read_[carry.input] && last_use_[carry.input] == group;
    return !reads || reads_before(group, carry.input, next);
  }

  /// Whether the group reads all elements of `source` where they lie, none
  /// after it writes the element of `result` at the same place.
  bool reads_before(std::uint32_t group, std::uint32_t source,
                    std::uint32_t result) const {
    const Step& step = native_.steps_[group];
    if (!step.tile) return false;
    const auto& loads = step.tile->direct_loads();
    const auto load = std::ranges::lower_bound(loads, source, {},
                                               &TileProgram::DirectLoad::node);
    if (load == loads.end() || load->node != source) return false;
    const auto& members = grouping_.groups[group].members;
    const auto at =
        std::ranges::lower_bound(members, result, {}, &Group::Member::node);
    return load->last_read <= static_cast<std::size_t>(at - members.begin()) &&
           form_of(source, load->extent) == form_of(result, at->extent);
  }

  // ---- The arena --------------------------------------------------------

  /// What a value and the one that is written over it must have in common.
  using Form = std::tuple<std::size_t, std::size_t, Extent>;
  Form form_of(std::uint32_t id, Extent extent) const {
    const Type& type = node(id).type;
    return {type.size_bytes(), size_bytes(type.dtype), extent};
  }

  /// Blocks of operands that nobody reads after a group, each with the member
  /// that reads it last: those that are free first stand last.
  struct Leftover {
    std::size_t last_read;
    std::uint32_t block;
  };
  using Leftovers = std::map<Form, std::vector<Leftover>>;

  Leftovers leftovers_of(std::uint32_t group) const {
    Leftovers result;
    const Step& step = native_.steps_[group];
    if (!step.tile) {
      add_replaced(step, group, result);
      return result;
    }
    for (const TileProgram::DirectLoad& load : step.tile->direct_loads()) {
      const Place& place = native_.places_[load.node];
      if (place.kind != Place::Kind::block) continue;
      if (native_.blocks_[place.index].last != group) continue;
      result[form_of(load.node, load.extent)].push_back(
          {load.last_read, place.index});
    }
    for (auto& [form, blocks] : result) {
      std::ranges::sort(blocks, std::ranges::greater(), &Leftover::last_read);
    }
    return result;
  }

  void add_replaced(const Step& step, std::uint32_t group,
                    Leftovers& result) const {
    const auto replaced = step.single->replaced();
    if (!replaced) return;
    const Place& place = native_.places_[*replaced];
    if (place.kind != Place::Kind::block) return;
    if (native_.blocks_[place.index].last != group) return;
    const Extent extent = grouping_.groups[group].members[0].extent;
    result[form_of(*replaced, extent)].push_back({0, place.index});
  }

  /// A block that member `index` may write its result over. Each is taken once.
  static std::optional<std::uint32_t> take(Leftovers& leftovers,
                                           const Form& form,
                                           std::size_t index) {
    const auto found = leftovers.find(form);
    if (found == leftovers.end() || found->second.empty()) return std::nullopt;
    const Leftover first = found->second.back();
    if (first.last_read > index) return std::nullopt;
    found->second.pop_back();
    return first.block;
  }

  std::uint32_t add_block(std::size_t bytes, std::uint32_t first,
                          std::uint32_t last) {
    native_.blocks_.push_back({bytes, first, last, 0});
    return static_cast<std::uint32_t>(native_.blocks_.size()) - 1;
  }

  void place_values() {
    for (std::uint32_t id = 0; id < program_.size(); ++id) {
      if (is_leaf(id)) native_.places_[id] = {Place::Kind::leaf, 0};
    }
    for (std::uint32_t group = 0; group < end_; ++group) {
      const auto& members = grouping_.groups[group].members;
      const bool single = grouping_.groups[group].kind == Group::Kind::single;
      Leftovers leftovers = leftovers_of(group);
      for (std::size_t index = 0; index < members.size(); ++index) {
        const std::uint32_t id = members[index].node;
        if (native_.places_[id].kind != Place::Kind::none) continue;
        if (!single && !stored_[id]) continue;
        const Form form = form_of(id, members[index].extent);
        if (const auto block = take(leftovers, form, index)) {
          native_.blocks_[*block].last =
              std::max(native_.blocks_[*block].last, last_use_[id]);
          native_.places_[id] = {Place::Kind::block, *block};
        } else {
          native_.places_[id] = {Place::Kind::block,
                                 add_block(node(id).type.size_bytes(), group,
                                           std::max(group, last_use_[id]))};
        }
      }
    }
  }

  void place_scratch() {
    for (std::uint32_t group = 0; group < end_; ++group) {
      Step& step = native_.steps_[group];
      std::size_t bytes = 0;
      if (step.tile) {
        const int workers = std::min(step.parts, native_.workers_);
        if (__builtin_mul_overflow(step.tile->worker_bytes(),
                                   static_cast<std::size_t>(workers), &bytes) ||
            __builtin_add_overflow(bytes, step.tile->shared_bytes(), &bytes)) {
          throw RuntimeError(
              "the plan's scratch does not fit the address space");
        }
      } else {
        bytes = step.single->scratch_bytes();
      }
      step.scratch_block = add_block(bytes, group, group);
    }
  }

  /// A copy of a leaf's elements that outlives the step.
  std::uint32_t snapshot(const Access& from, const Type& type) {
    const std::uint32_t block = add_block(type.size_bytes(), end_, end_);
    native_.snapshots_.push_back({from, type, block, std::nullopt});
    return block;
  }

  void place_results() {
    for (std::uint32_t result : program_.results) {
      const Access& access = grouping_.accesses[result];
      ResultPlace place{access, std::nullopt};
      const Kind kind = node(access.root).kind;
      if (kind == Kind::input ||
          (kind == Kind::parameter && is_carried_[access.root])) {
        place.block = snapshot(access, node(result).type);
        place.access.layout = Layout::row_major(node(result).type.shape);
      }
      native_.results_.push_back(place);
    }
  }

  NativeProgram& native_;
  const Program& program_;
  const Grouping& grouping_;
  std::uint32_t end_;
  std::vector<std::uint32_t> last_use_;  // by node: a group, or end_
  std::vector<bool> is_read_;            // by any group
  std::vector<bool> stored_;
  std::vector<bool> is_carried_;
  std::vector<bool> stays_;
};

NativeProgram::NativeProgram(std::shared_ptr<const LoweredPlan> plan,
                             int threads)
    : plan_(std::move(plan)), threads_(threads) {
  workers_ = std::min(threads_, kernels::ThreadPool::instance().size());
  Planner(*this).run();
}

std::size_t NativeProgram::reference_nodes() const noexcept {
  std::size_t count = 0;
  for (const Step& step : steps_) {
    count += step.single && step.single->by_reference();
  }
  return count;
}

void NativeProgram::run_tiles(std::size_t group, const Addresses& addresses,
                              std::byte* scratch, const Kept* kept,
                              ProfileRecorder* recorder) const {
  const Step& step = steps_[group];
  const TileProgram& tile = *step.tile;
  std::byte* const shared = kept != nullptr ? kept->packed : scratch;
  std::byte* const workers = scratch + tile.shared_bytes();
  const std::size_t panels =
      kept != nullptr && kept->ready ? 0 : tile.panel_count();
  const auto timed = [&](int worker, auto&& work) {
    const Timer timer(recorder, [&](auto begin, auto end) {
      recorder->work(group, worker, begin, end);
    });
    work();
  };
  if (step.parts == 1) {
    timed(0, [&] {
      tile.pack(addresses, shared, {0, panels});
      tile.run(addresses, shared, workers, 0, tile.tile_count());
      tile.finish(addresses, shared);
    });
    return;
  }
  kernels::ThreadPool& pool = kernels::ThreadPool::instance();
  const auto parts = static_cast<std::size_t>(step.parts);
  if (panels > 0) {
    pool.parallel_for(
        step.parts,
        [&](int part, int worker) {
          const auto p = static_cast<std::size_t>(part);
          timed(worker, [&] {
            tile.pack(addresses, shared,
                      {panels * p / parts, panels * (p + 1) / parts});
          });
        },
        workers_);
  }
  const std::int64_t tiles = tile.tile_count();
  pool.parallel_for(
      step.parts,
      [&](int part, int worker) {
        timed(worker, [&] {
          tile.run(
              addresses, shared,
              workers + tile.worker_bytes() * static_cast<std::size_t>(worker),
              tiles * part / step.parts, tiles * (part + 1) / step.parts);
        });
      },
      workers_);
  tile.finish(addresses, shared);
}

void NativeProgram::run(const Addresses& addresses, std::byte* arena,
                        std::span<const Kept> kept, IndexFault& fault,
                        ProfileRecorder* recorder) const {
  for (std::size_t group = 0; group < steps_.size(); ++group) {
    const Step& step = steps_[group];
    std::byte* const scratch = arena + blocks_[step.scratch_block].offset;
    const Timer timer(recorder, [&](auto begin, auto end) {
      recorder->add_group(group, begin, end);
      if (step.single) recorder->work(group, 0, begin, end);
    });
    if (step.tile) {
      run_tiles(group, addresses, scratch,
                step.kept ? &kept[*step.kept] : nullptr, recorder);
    } else {
      step.single->run(addresses, scratch, fault);
    }
  }
  for (const Copy& copy : snapshots_) {
    gather_elements(addresses[copy.from.root], copy.from.layout,
                    size_bytes(copy.type.dtype),
                    arena + blocks_[copy.to].offset);
  }
}

}  // namespace topos::engines

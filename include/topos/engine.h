#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topos/network.h"
#include "topos/plan.h"
#include "topos/profile.h"
#include "topos/site.h"
#include "topos/tensor.h"

/// \file
/// What executes plans. All engines share one interface:
///
///     Session session = native::open(network);
///     Run run = session.step(plan, {{x, batch}});
///     double loss = run.scalar(loss_symbol);

namespace topos {

namespace engines {
class PlacementState;
class SessionState;
class EngineImplementation;
}  // namespace engines

/// How a session runs.
struct SessionOptions {
  /// Threads to divide a step over; 0: as many as the process may use. Any
  /// number gives the same bits. XLA has threads of its own: there it does not
  /// apply.
  int threads = 0;
  /// Take the time of every group of nodes, for Session::profile; costs some
  /// 100 ns a group. The native engine alone does it.
  bool profile = false;
};

/// Parameters put on one engine once: immutable, shared by any number of
/// sessions. A handle.
class Placement {
 public:
  explicit Placement(std::shared_ptr<const engines::PlacementState> state)
      : state_(std::move(state)) {}
  // Copies only: a placement is never empty.
  Placement(const Placement&) = default;
  Placement& operator=(const Placement&) = default;

  const std::shared_ptr<const engines::PlacementState>& state() const noexcept {
    return state_;
  }

 private:
  std::shared_ptr<const engines::PlacementState> state_;
};

/// The results of one step. It borrows the session's memory: reading it after
/// the session's next step, set or reset is a UsageError. It keeps the memory
/// alive when the Session handle is gone.
class Run {
 public:
  /// A copy of a result; of an input or a parameter, its value before the
  /// step. A value that the entry does not ask for cannot be read.
  /// \throws UsageError  it was not asked for, or the run is over
  Tensor of(Symbol value, Site site = Site::here()) const;
  /// The only element of a result, whatever its dtype.
  /// \throws ShapeError  there is not exactly one
  /// \throws UsageError  as `of`
  double scalar(Symbol value, Site site = Site::here()) const;
  /// Fills `elements`, without allocating.
  /// \throws DTypeError, ShapeError  the dtype or the count differs
  /// \throws UsageError  as `of`
  template <Element T>
  void read_into(Symbol value, std::span<T> elements,
                 Site site = Site::here()) const {
    read(value, dtype_of<T>, elements.data(), elements.size(), site);
  }

 private:
  friend class Session;
  Run(std::shared_ptr<engines::SessionState> session, std::uint64_t step)
      : session_(std::move(session)), step_(step) {}
  void read(Symbol value, DType dtype, void* elements, std::size_t count,
            Site site) const;

  std::shared_ptr<engines::SessionState> session_;
  std::uint64_t step_;
};

/// A placement and the carried state. It steps any number of plans of its
/// network over that one state: train and sample, prefill and decode.
///
/// One thread uses a session at a time; a second one gets a UsageError. A step
/// that failed while it ran, as on a computed index out of range, leaves the
/// session failed: stepping it or reading its state throws a UsageError until
/// `reset`, or `set`, which then resets everything else.
///
/// A session keeps what it compiled for each plan that it ever stepped: lower
/// outside of loops.
class Session {
 public:
  explicit Session(std::shared_ptr<engines::SessionState> state)
      : state_(std::move(state)) {}
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) noexcept = default;

  /// Runs the plan once. Every input that the plan reads and does not find in
  /// the carried state is fed exactly once. The first step of a plan binds it;
  /// further steps allocate nothing.
  ///
  /// \throws UsageError  a feed is missing, given twice, unknown, or of a
  ///                     carried input; the plan is of another network
  /// \throws ShapeError, DTypeError  a feed is not of its input's type
  /// \throws IndexError  an index, fed or computed, is out of range
  /// \throws RuntimeError  the memory cannot be had; on XLA also: the plan does
  ///                       not compile, the device failed, or the server is
  ///                       gone
  Run step(const Plan& plan, std::initializer_list<Feed> feeds = {},
           Site site = Site::here());
  Run step(const Plan& plan, Feeds feeds, Site site = Site::here());

  /// The carried value of an input (zeros until set or carried), or the
  /// parameter's value.
  /// \throws UsageError  it is neither, or a step failed
  /// \throws RuntimeError  on XLA: the device failed, or the server is gone; so
  ///                       do all that read or write state
  Tensor state(Symbol symbol, Site site = Site::here()) const;
  /// Sets a carried input, or makes a parameter the session's own. An input
  /// that is set is carried from then on, in every plan: feeding it is an
  /// error.
  /// \throws UsageError  it is neither an input nor a parameter
  /// \throws ShapeError, DTypeError  the value is not of its type
  void set(Symbol symbol, const Tensor& value, Site site = Site::here());
  /// Back to the placement's parameters, and to zeros in the inputs that are
  /// carried or were set; these stay so.
  void reset(Site site = Site::here());
  /// A session with a copy of this one's state, which goes its own way.
  /// \throws UsageError  a step failed
  Session fork(Site site = Site::here()) const;

  /// All parameters, those carried with their state.
  /// \throws UsageError  a step failed
  Parameters parameters(Site site = Site::here()) const;

  /// How this session runs the plan: lifetimes, arena offsets, peak bytes,
  /// kernels, how many nodes run by reference code, and how carries are kept.
  /// \throws UsageError  the plan is of another network
  std::string describe(const Plan& plan, Site site = Site::here());

  /// What `describe` prints, as numbers.
  struct Report {
    std::size_t nodes = 0;
    /// Of nodes that run as one. On XLA: operations of the text, which its
    /// compiler then groups as it likes.
    std::size_t groups = 0;
    /// Nodes without a kernel of their own. On XLA: 0.
    std::size_t reference_nodes = 0;
    /// Bytes of the arena that the plan needs, and that were allocated for it.
    /// On XLA both are the temporary memory that its compiler states; 0 where
    /// it states none.
    std::size_t peak_bytes = 0;
    std::size_t allocated_bytes = 0;
    /// On XLA: 0, since it does not tell.
    int threads = 1;
  };
  /// \throws UsageError  the plan is of another network
  Report report(const Plan& plan, Site site = Site::here());

  /// Where the time of this plan's steps went, in this session until now.
  /// Measures the machine's limits, too: not for inside of loops.
  /// \throws UsageError  the session was opened without
  /// SessionOptions::profile,
  ///                     or the plan is of another network
  Profile profile(const Plan& plan, Site site = Site::here());

 private:
  std::shared_ptr<engines::SessionState> state_;
};

/// Something that executes plans. A handle to one of a closed set.
class Engine {
 public:
  explicit Engine(const engines::EngineImplementation& implementation)
      : implementation_(&implementation) {}

  std::string_view name() const;

  /// What runs it here, for people: the instruction set, or the plugin and its
  /// device, which are loaded for that.
  /// \throws RuntimeError  it cannot run here, with what was looked for
  std::string description(Site site = Site::here()) const;

  /// \throws UsageError  a parameter has no payload, is missing or given twice,
  ///                     or is not of the network
  /// \throws ShapeError, DTypeError  a payload is not of its parameter's type
  /// \throws RuntimeError  it cannot run here: as `description`
  Placement place(const Network& network, const Parameters& parameters,
                  Site site = Site::here()) const;

  /// \throws UsageError  the placement is another engine's, the options make no
  ///                     sense; and, where parameters are placed first, as
  ///                     `place`
  /// \throws RuntimeError  as `place`, where parameters are placed first
  Session open(const Placement& placement, SessionOptions options = {},
               Site site = Site::here()) const;
  Session open(const Network& network, SessionOptions options = {},
               Site site = Site::here()) const;
  Session open(const Network& network, const Parameters& parameters,
               SessionOptions options = {}, Site site = Site::here()) const;

 private:
  const engines::EngineImplementation* implementation_;
};

/// The engine of that name: `interpreter`, `native`, `xla`, `xla-server`.
/// \throws UsageError  there is none; lists those that there are
Engine engine(std::string_view name, Site site = Site::here());
/// The names of all engines. Whether one can run here, its description says.
std::vector<std::string> engine_names();

/// The spec, executed plainly: every node as recorded, by reference code.
namespace interpreter {
Engine engine();
inline Session open(const Placement& x, SessionOptions options = {},
                    Site site = Site::here()) {
  return engine().open(x, options, site);
}
inline Session open(const Network& x, SessionOptions options = {},
                    Site site = Site::here()) {
  return engine().open(x, options, site);
}
inline Session open(const Network& x, const Parameters& parameters,
                    SessionOptions options = {}, Site site = Site::here()) {
  return engine().open(x, parameters, options, site);
}
}  // namespace interpreter

/// The plan, compiled to kernels over one static arena; the interpreter's
/// bits.
namespace native {
Engine engine();
inline Session open(const Placement& x, SessionOptions options = {},
                    Site site = Site::here()) {
  return engine().open(x, options, site);
}
inline Session open(const Network& x, SessionOptions options = {},
                    Site site = Site::here()) {
  return engine().open(x, options, site);
}
inline Session open(const Network& x, const Parameters& parameters,
                    SessionOptions options = {}, Site site = Site::here()) {
  return engine().open(x, parameters, options, site);
}
}  // namespace native

}  // namespace topos

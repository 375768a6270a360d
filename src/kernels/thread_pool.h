// One pool of threads a process, which starts work in about a microsecond.

#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace topos::kernels {

/// A borrowed callable task(part) or task(part, worker): two pointers, nothing
/// allocated. It must outlive the call that it is passed to, and may not throw.
class TaskRef {
 public:
  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, TaskRef> &&
           (std::invocable<Function&, int> ||
            std::invocable<Function&, int, int>))
      TaskRef(Function&& function)  // NOLINT: a view converts implicitly
      : object_(const_cast<void*>(
            static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, int part, int worker) noexcept {
          auto& f = *static_cast<std::remove_reference_t<Function>*>(object);
          if constexpr (std::invocable<Function&, int, int>) {
            f(part, worker);
          } else {
            static_cast<void>(worker);
            f(part);
          }
        }) {}

  void operator()(int part, int worker) const noexcept {
    call_(object_, part, worker);
  }

 private:
  void* object_;
  void (*call_)(void*, int, int) noexcept;
};

/// Threads that take the parts of one job at a time.
///
/// Parts are handed out in ascending order to whichever thread is free; the
/// caller is worker 0 and takes part. Which thread runs a part must not matter
/// to its result. Workers compute in the FloatEnvironment; the caller keeps its
/// own. A task may not throw, and may not fork a child that returns from it.
class ThreadPool {
 public:
  /// The process's pool, created on first use. After a fork the child gets a
  /// fresh one.
  static ThreadPool& instance();

  /// How many threads a job may have, the caller included: the CPUs of this
  /// process's affinity mask within its cgroup's quota.
  int size() const { return size_; }

  /// Runs task(0) ... task(parts - 1) on at most `threads` threads (0: all)
  /// and returns true when all are done; or returns false, having run nothing,
  /// because the pool is busy (with another session, or with the very task that
  /// calls). Worker numbers are below min(threads, size()). Allocates nothing.
  [[nodiscard]] bool try_run(int parts, int threads, TaskRef task);

  /// As try_run; runs everything on the calling thread if the pool is busy.
  void parallel_for(int parts, TaskRef task, int threads = 0);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct State;

  explicit ThreadPool(int size);
  ~ThreadPool() = delete;  // workers may still be asleep when the process ends

  [[noreturn]] static void work(State* state, int worker);

  int size_ = 1;
  State* state_;
};

/// The CPUs that this process may keep busy: its affinity mask, and its
/// cgroup's CPU quota rounded up. At least 1.
int usable_cpu_count();

}  // namespace topos::kernels

#include "kernels/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "math/float_environment.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace topos::kernels {

namespace {

// A wait that is over soon should not pay for a system call (5 us and more),
// and one that is not should not keep a CPU from others.
constexpr auto spin_time = std::chrono::microseconds(20);

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Returns once `value` differs from `old`; what was written before the change
// is visible then.
template <class Asleep>
void wait_while_equal(const std::atomic<std::uint32_t>& value,
                      std::uint32_t old, Asleep&& asleep) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 16; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  asleep(true);
  while (value.load(std::memory_order_acquire) == old) {
    value.wait(old, std::memory_order_acquire);
  }
  asleep(false);
}

// Some systems wake a thread on the CPU of the one that calls it, where it
// waits for that one's work to end, and leave both there for milliseconds. So a
// caller forbids its own CPU to a thread that sleeps, and that one, once awake,
// takes back what it was allowed: it is not tied to where it is.
class Elsewhere {
 public:
#if defined(__linux__)
  void note_thread() { thread_.store(gettid(), std::memory_order_release); }
  void note_asleep(bool asleep) { asleep_.store(asleep); }

  // By the caller, before it wakes the thread.
  void forbid_this_cpu() {
    // In this order: what a thread has taken back may be written again once it
    // sleeps.
    if (is_moved_.load() || !asleep_.load()) return;
    const pid_t thread = thread_.load(std::memory_order_acquire);
    const int cpu = sched_getcpu();
    if (cpu < 0 ||
        sched_getaffinity(thread, sizeof(allowed_), &allowed_) != 0) {
      return;
    }
    cpu_set_t others = allowed_;
    CPU_CLR(static_cast<std::size_t>(cpu), &others);
    if (CPU_COUNT(&others) == 0) return;
    is_moved_.store(sched_setaffinity(thread, sizeof(others), &others) == 0);
  }

  // By the thread, once awake.
  void allow_all() {
    if (!is_moved_.load()) return;
    sched_setaffinity(0, sizeof(allowed_), &allowed_);
    is_moved_.store(false);
  }

 private:
  std::atomic<pid_t> thread_ = 0;
  std::atomic<bool> asleep_ = false;
  std::atomic<bool> is_moved_ = false;
  cpu_set_t allowed_;
#else
  void note_thread() {}
  void note_asleep(bool) {}
  void forbid_this_cpu() {}
  void allow_all() {}
#endif
};

// Writers of different fields should not share a cache line.
constexpr std::size_t cache_line = 64;

}  // namespace

// A worker joins a job while it is open. The caller closes it once every part
// is handed out and waits for those that joined, not for those that were called
// and have yet to wake: on a crowded machine a small job costs no more than it
// does on one thread.
struct ThreadPool::State {
  explicit State(int workers) : calls(static_cast<std::size_t>(workers)) {}

  static constexpr std::uint32_t open = std::uint32_t{1} << 31;

  // One a worker: it is called when the count changes.
  struct alignas(cache_line) Calls {
    std::atomic<std::uint32_t> count = 0;
    Elsewhere elsewhere;
  };

  alignas(cache_line) std::atomic<bool> busy = false;
  // The job: written while it is closed and nobody is in it.
  int parts = 0;
  int threads = 0;
  const TaskRef* task = nullptr;
  alignas(cache_line) std::atomic<int> next_part = 0;
  // How many workers are in the job, and whether more may join.
  alignas(cache_line) std::atomic<std::uint32_t> joined = 0;
  std::vector<Calls> calls;  // [0] is unused: that is the caller

  bool join() {
    std::uint32_t now = joined.load(std::memory_order_relaxed);
    while ((now & open) != 0) {
      if (joined.compare_exchange_weak(now, now + 1,
                                       std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }

  void leave() {
    if (joined.fetch_sub(1, std::memory_order_release) == 1) {
      joined.notify_one();
    }
  }

  void take_parts(int worker) {
    for (;;) {
      const int part = next_part.fetch_add(1, std::memory_order_relaxed);
      if (part >= parts) return;
      (*task)(part, worker);
    }
  }
};

ThreadPool::ThreadPool(int size) : state_(new State(size)) {
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (; size_ < size; ++size_) {
      std::thread(work, state_, size_).detach();
    }
  } catch (const std::system_error&) {
    // The system gives no more threads: fewer do the same work.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadPool::work(State* state, int worker) {
  State::Calls& calls = state->calls[static_cast<std::size_t>(worker)];
  Elsewhere& elsewhere = calls.elsewhere;
  elsewhere.note_thread();
  for (std::uint32_t seen = 0;;) {
    wait_while_equal(calls.count, seen,
                     [&](bool asleep) { elsewhere.note_asleep(asleep); });
    elsewhere.allow_all();
    seen = calls.count.load(std::memory_order_acquire);
    if (!state->join()) continue;
    // Called for one job, awake in another, perhaps of fewer threads.
    if (worker < state->threads) {
      const math::FloatEnvironment environment;
      state->take_parts(worker);
    }
    state->leave();
  }
}

bool ThreadPool::try_run(int parts, int threads, TaskRef task) {
  State& state = *state_;
  if (state.busy.exchange(true, std::memory_order_acquire)) return false;
  const int wanted = threads <= 0 ? size_ : std::min(threads, size_);
  state.parts = parts;
  state.threads = std::min(wanted, parts);
  state.task = &task;
  state.next_part.store(0, std::memory_order_relaxed);
  if (state.threads > 1) {
    state.joined.store(State::open, std::memory_order_release);
    for (int worker = 1; worker < state.threads; ++worker) {
      State::Calls& calls = state.calls[static_cast<std::size_t>(worker)];
      calls.elsewhere.forbid_this_cpu();
      calls.count.fetch_add(1, std::memory_order_release);
      calls.count.notify_one();
    }
  }
  state.take_parts(0);
  std::uint32_t left =
      state.joined.fetch_and(~State::open, std::memory_order_acquire);
  left &= ~State::open;
  while (left != 0) {
    wait_while_equal(state.joined, left, [](bool) {});
    left = state.joined.load(std::memory_order_acquire);
  }
  state.busy.store(false, std::memory_order_release);
  return true;
}

void ThreadPool::parallel_for(int parts, TaskRef task, int threads) {
  if (try_run(parts, threads, task)) return;
  for (int part = 0; part < parts; ++part) task(part, 0);
}

namespace {

std::atomic<ThreadPool*> current_pool = nullptr;
std::mutex creation;

}  // namespace

ThreadPool& ThreadPool::instance() {
  ThreadPool* pool = current_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  const std::lock_guard lock(creation);
  pool = current_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  // A child has the memory of its parent's pool but none of its threads: it
  // leaves that pool alone and starts its own on first use. The lock is held
  // across the fork so that no half-made pool is copied.
  static const int registered =
      pthread_atfork([] { creation.lock(); }, [] { creation.unlock(); },
                     [] {
                       current_pool.store(nullptr, std::memory_order_relaxed);
                       creation.unlock();
                     });
  static_cast<void>(registered);
  pool = new ThreadPool(usable_cpu_count());
  current_pool.store(pool, std::memory_order_release);
  return *pool;
}

}  // namespace topos::kernels

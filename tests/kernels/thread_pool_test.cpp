#include "kernels/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace topos::kernels {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
constexpr bool thread_sanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool thread_sanitizer = false;
#endif

// Not atomic on purpose: what a job wrote is visible once it returned.
void run_and_check(int parts, int threads) {
  std::vector<int> times(static_cast<std::size_t>(parts), 0);
  const int workers = ThreadPool::instance().size();
  std::atomic<bool> good = true;
  ThreadPool::instance().parallel_for(
      parts,
      [&](int part, int worker) {
        ++times[static_cast<std::size_t>(part)];
        if (worker < 0 || worker >= workers) good = false;
        if (threads > 0 && worker >= threads) good = false;
      },
      threads);
  EXPECT_TRUE(good);
  for (const int count : times) EXPECT_EQ(count, 1);
}

TEST(ThreadPool, EveryPartRunsOnce) {
  EXPECT_EQ(ThreadPool::instance().size(), usable_cpu_count());
  EXPECT_GE(usable_cpu_count(), 1);
  for (int parts = 0; parts <= 20; ++parts) {
    for (int threads = 0; threads <= 7; ++threads) {
      run_and_check(parts, threads);
    }
  }
}

TEST(ThreadPool, WorkersAreOneThreadEachAndTheCallerIsTheFirst) {
  std::mutex mutex;
  std::set<std::pair<int, std::thread::id>> seen;
  std::set<int> workers;
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(ThreadPool::instance().try_run(8, 0, [&](int, int worker) {
      const std::lock_guard lock(mutex);
      seen.emplace(worker, std::this_thread::get_id());
      workers.insert(worker);
      if (worker == 0) return;
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }));
  }
  EXPECT_EQ(seen.size(), workers.size());
  for (const auto& [worker, id] : seen) {
    EXPECT_EQ(worker == 0, id == std::this_thread::get_id());
  }
}

TEST(ThreadPool, ABusyPoolSaysSoAndNestedWorkRunsInline) {
  std::atomic<int> inner = 0;
  std::atomic<int> refused = 0;
  ASSERT_TRUE(ThreadPool::instance().try_run(4, 0, [&](int) {
    if (!ThreadPool::instance().try_run(1, 1, [](int) {})) ++refused;
    const std::thread::id self = std::this_thread::get_id();
    ThreadPool::instance().parallel_for(10, [&](int, int worker) {
      if (worker == 0 && self == std::this_thread::get_id()) ++inner;
    });
  }));
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(inner, 40);
}

TEST(ThreadPool, ManyCallers) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([caller] {
      for (int round = 0; round < 200; ++round) {
        run_and_check((round + caller) % 9, round % 4);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, WakesAfterSleep) {
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    run_and_check(5, 0);
  }
}

// Each job starts clean, even after a task that left a mess behind.
TEST(ThreadPool, WorkersRoundToNearest) {
  std::atomic<int> wrong = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<bool> met(
        static_cast<std::size_t>(ThreadPool::instance().size()));
    std::mutex mutex;
    ThreadPool::instance().parallel_for(8, [&](int, int worker) {
      if (worker == 0) return;
      const std::lock_guard lock(mutex);
      if (met[static_cast<std::size_t>(worker)]) return;
      met[static_cast<std::size_t>(worker)] = true;
      if (std::fegetround() != FE_TONEAREST) ++wrong;
      std::fesetround(FE_UPWARD);
    });
  }
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, AChildGetsAFreshPool) {
  if (thread_sanitizer) {
    GTEST_SKIP() << "ThreadSanitizer forbids threads in a forked child";
  }
  if (std::getenv("TOPOS_EMULATED") != nullptr) {
    GTEST_SKIP() << "QEMU makes no threads in a forked child";
  }
  run_and_check(4, 0);
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::atomic<int> parts = 0;
      const bool ran =
          ThreadPool::instance().try_run(10, 0, [&](int) { ++parts; });
      _exit(ran && parts == 10 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    run_and_check(4, 0);
  }
}

}  // namespace
}  // namespace topos::kernels

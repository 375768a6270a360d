// What the machine does at most, by running little else.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>

#include "kernels/limits.h"
#include "kernels/thread_pool.h"
#include "topos/error.h"
#include "topos/profile.h"

namespace topos {

namespace {

using Clock = std::chrono::steady_clock;

/// The best of a few rates of work(part), run on all threads at once; it
/// returns how much it did, and the rate is in 10^9 a second.
template <class Work>
double best_rate(int threads, Work&& work) {
  constexpr int tries = 5;
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    double amount = 0;
    const auto begin = Clock::now();
    kernels::ThreadPool::instance().parallel_for(
        threads,
        [&](int part) {
          const double done = work(part);
          if (part == 0) amount = done;
        },
        threads);
    const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
    best = std::max(best, amount * threads / time.count());
  }
  return best;
}

}  // namespace

MachineLimits machine_limits(int threads) {
  constexpr std::size_t multiply_add_rounds = 400'000;
  constexpr std::size_t bytes = std::size_t{128} << 20;
  const int usable = kernels::ThreadPool::instance().size();
  MachineLimits limits;
  limits.threads = threads <= 0 ? usable : std::min(threads, usable);
  limits.gigaflops = best_rate(limits.threads, [](int) {
    return kernels::run_multiply_adds(multiply_add_rounds);
  });
  const std::unique_ptr<std::byte[]> memory(new (std::nothrow)
                                                std::byte[bytes]);
  if (memory == nullptr) {
    throw RuntimeError("no memory to measure the machine's limits with");
  }
  // Pages that nobody wrote to may all be one page of zeros.
  std::memset(memory.get(), 1, bytes);
  const std::size_t share =
      bytes / static_cast<std::size_t>(limits.threads) / 64 * 64;
  limits.gigabytes = best_rate(limits.threads, [&](int part) {
    const std::byte* from =
        memory.get() + share * static_cast<std::size_t>(part);
    kernels::run_reads(reinterpret_cast<const float*>(from), share);
    return static_cast<double>(share);
  });
  return limits;
}

}  // namespace topos

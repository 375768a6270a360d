#include "steady.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace topos::bench {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// About half a millisecond of arithmetic that leaves a core nothing to share:
/// as many independent chains as its units hold.
void compute() {
  float states[64] = {};
  for (int i = 0; i < 150'000; ++i) {
    for (float& state : states) state = state * 0.5F + 1.0F;
  }
  volatile float sink = states[0];
  static_cast<void>(sink);
}

Clock::duration time_on(int threads) {
  const auto start = Clock::now();
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(compute);
  compute();
  for (std::thread& other : others) other.join();
  return Clock::now() - start;
}

}  // namespace

void await_cores(int threads) {
  static Clock::duration patience = 20s;
  if (threads == 1) return;
  const auto start = Clock::now();
  const auto end = start + std::min<Clock::duration>(patience, 1s);
  do {
    const auto alone = time_on(1);
    if (time_on(threads) < alone * 3 / 2) break;
  } while (Clock::now() < end);
  patience -= Clock::now() - start;
}

}  // namespace topos::bench

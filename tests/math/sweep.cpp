// Every one of the 2^32 floats through every function of one argument.
//
//     topos_sweep [--threads N] [name...]
//
// One line a function; exit status 1 if any result is not the correctly
// rounded one (or, for NaN, not NaN). A minute each on two threads, about.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "reference.h"

namespace topos::math::testing {
namespace {

struct Count {
  std::atomic<std::uint64_t> inputs = 0;
  std::atomic<std::uint64_t> wrong = 0;
  std::atomic<std::uint64_t> mpfr_calls = 0;
};

void walk(const UnaryFunction& f, std::atomic<std::uint32_t>& next_block,
          Count& count) {
  constexpr std::uint32_t block_bits = 22;
  FloatReference reference;
  while (true) {
    const std::uint32_t block = next_block.fetch_add(1);
    if (block >= (1u << (32 - block_bits))) break;
    for (std::uint32_t i = 0; i < (1u << block_bits); ++i) {
      const std::uint32_t bits = (block << block_bits) | i;
      const auto x = std::bit_cast<float>(bits);
      const float expected = reference(f, x);
      const float result = f.ours(x);
      if (same(result, expected)) continue;
      if (count.wrong.fetch_add(1) < 10) {
        std::printf("%s(%a) = %a, expected %a\n", f.name,
                    static_cast<double>(x), static_cast<double>(result),
                    static_cast<double>(expected));
      }
    }
    count.inputs += 1u << block_bits;
  }
  count.mpfr_calls += reference.mpfr_calls();
  mpfr_free_cache();
}

bool sweep(const UnaryFunction& f, unsigned thread_count) {
  const auto start = std::chrono::steady_clock::now();
  Count count;
  std::atomic<std::uint32_t> next_block = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] { walk(f, next_block, count); });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::printf("%-8s %llu inputs, %llu wrong, %llu MPFR calls, %.1f s\n", f.name,
              static_cast<unsigned long long>(count.inputs.load()),
              static_cast<unsigned long long>(count.wrong.load()),
              static_cast<unsigned long long>(count.mpfr_calls.load()),
              seconds.count());
  std::fflush(stdout);
  return count.wrong == 0 && count.inputs == (std::uint64_t{1} << 32);
}

int run(std::span<char*> arguments) {
  unsigned thread_count = std::thread::hardware_concurrency();
  if (thread_count == 0) thread_count = 1;
  std::vector<std::string_view> names;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--threads" && i + 1 < arguments.size()) {
      const int n = std::atoi(arguments[++i]);
      thread_count = n < 1 ? 1 : static_cast<unsigned>(n);
    } else {
      names.push_back(argument);
    }
  }
  int passed = 0;
  int failed = 0;
  std::size_t found = 0;
  for (const UnaryFunction& f : unary_functions()) {
    bool wanted = names.empty();
    for (const std::string_view name : names) wanted |= name == f.name;
    if (!wanted) continue;
    ++found;
    ++(sweep(f, thread_count) ? passed : failed);
  }
  if (!names.empty() && found != names.size()) {
    std::printf("unknown function named; known:");
    for (const UnaryFunction& f : unary_functions()) {
      std::printf(" %s", f.name);
    }
    std::printf("\n");
    ++failed;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace topos::math::testing

int main(int argc, char** argv) {
  return topos::math::testing::run({argv, static_cast<std::size_t>(argc)});
}

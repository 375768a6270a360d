// Every one of the 2^32 floats through every function of one argument, and
// through its vectorized kernel.
//
//     topos_sweep [--threads N] [--every N] [--each-target] [name...]
//
// One line a function; exit status 1 if any result is not the correctly
// rounded one (or, for NaN, not NaN). A minute each on two threads, about;
// --every N takes one input in N, --each-target all instruction sets that the
// CPU has, not the best alone (or the one that TOPOS_TARGET names).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/elementary.h"
#include "kernels/targets.h"
#include "reference.h"

namespace topos::math::testing {
namespace {

struct Count {
  std::atomic<std::uint64_t> inputs = 0;
  std::atomic<std::uint64_t> wrong = 0;
  std::atomic<std::uint64_t> wrong_in_kernel = 0;
  std::atomic<std::uint64_t> mpfr_calls = 0;
};

using Kernel = void (*)(const float*, float*, std::size_t);

Kernel kernel_of(std::string_view name) {
  constexpr std::pair<std::string_view, Kernel> kernels[] = {
      {"exp", kernels::exp},   {"expm1", kernels::expm1},
      {"ln", kernels::ln},     {"log1p", kernels::log1p},
      {"tanh", kernels::tanh}, {"logistic", kernels::logistic},
      {"erf", kernels::erf},   {"rsqrt", kernels::rsqrt},
      {"sin", kernels::sin},   {"cos", kernels::cos}};
  for (const auto& [its_name, kernel] : kernels) {
    if (its_name == name) return kernel;
  }
  std::printf("%s has no kernel\n", std::string(name).c_str());
  std::abort();
}

void expect_same(const char* what, const char* name, float x, float result,
                 float expected, std::atomic<std::uint64_t>& wrong) {
  if (same(result, expected) || wrong.fetch_add(1) >= 10) return;
  std::printf("%s%s(%a) = %a, expected %a\n", what, name,
              static_cast<double>(x), static_cast<double>(result),
              static_cast<double>(expected));
}

struct Sweep {
  const UnaryFunction& f;
  Kernel kernel;
  std::uint32_t every;
  std::atomic<std::uint32_t> next_block = 0;
  Count count;

  void walk();
};

void Sweep::walk() {
  constexpr std::uint32_t block_bits = 12;
  FloatReference reference;
  std::vector<float> x;
  std::vector<float> y;
  while (true) {
    const std::uint64_t block = next_block.fetch_add(1);
    if (block >= (std::uint64_t{1} << (32 - block_bits))) break;
    const std::uint64_t end = (block + 1) << block_bits;
    const std::uint64_t start = block << block_bits;
    x.clear();
    for (std::uint64_t bits = (start + every - 1) / every * every; bits < end;
         bits += every) {
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    y.resize(x.size());
    kernel(x.data(), y.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float expected = reference(f, x[i]);
      expect_same("", f.name, x[i], f.ours(x[i]), expected, count.wrong);
      expect_same("kernel of ", f.name, x[i], y[i], expected,
                  count.wrong_in_kernel);
    }
    count.inputs += x.size();
  }
  count.mpfr_calls += reference.mpfr_calls();
  mpfr_free_cache();
}

bool sweep(const UnaryFunction& f, unsigned thread_count, std::uint32_t every) {
  const auto start = std::chrono::steady_clock::now();
  Sweep work{f, kernel_of(f.name), every, {}, {}};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] { work.walk(); });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  const Count& count = work.count;
  std::printf(
      "%-8s %llu inputs, %llu wrong, %llu wrong in the kernel, "
      "%llu MPFR calls, %.1f s\n",
      f.name, static_cast<unsigned long long>(count.inputs.load()),
      static_cast<unsigned long long>(count.wrong.load()),
      static_cast<unsigned long long>(count.wrong_in_kernel.load()),
      static_cast<unsigned long long>(count.mpfr_calls.load()),
      seconds.count());
  std::fflush(stdout);
  const std::uint64_t all = ((std::uint64_t{1} << 32) + every - 1) / every;
  return count.wrong == 0 && count.wrong_in_kernel == 0 && count.inputs == all;
}

struct Arguments {
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::uint32_t every = 1;
  bool each_target = false;
  std::vector<std::string_view> names;
};

Arguments parse(std::span<char*> arguments) {
  Arguments result;
  const auto count_at = [&](std::size_t i) {
    return static_cast<unsigned>(std::max(1, std::atoi(arguments[i])));
  };
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--each-target") {
      result.each_target = true;
    } else if (argument == "--threads" && i + 1 < arguments.size()) {
      result.threads = count_at(++i);
    } else if (argument == "--every" && i + 1 < arguments.size()) {
      result.every = count_at(++i);
    } else {
      result.names.push_back(argument);
    }
  }
  return result;
}

struct Tally {
  int passed = 0;
  int failed = 0;
};

void run_named(const Arguments& arguments, Tally& tally) {
  std::printf("kernels for %s\n", kernels::current_target().c_str());
  std::size_t found = 0;
  for (const UnaryFunction& f : unary_functions()) {
    bool wanted = arguments.names.empty();
    for (const std::string_view name : arguments.names) {
      wanted |= name == f.name;
    }
    if (!wanted) continue;
    ++found;
    ++(sweep(f, arguments.threads, arguments.every) ? tally.passed
                                                    : tally.failed);
  }
  if (arguments.names.empty() || found == arguments.names.size()) return;
  std::printf("unknown function named; known:");
  for (const UnaryFunction& f : unary_functions()) std::printf(" %s", f.name);
  std::printf("\n");
  ++tally.failed;
}

int run(std::span<char*> given) {
  const Arguments arguments = parse(given);
  if (const std::string& error = kernels::target_error(); !error.empty()) {
    std::printf("%s\n", error.c_str());
    return 1;
  }
  Tally tally;
  if (arguments.each_target) {
    for (const std::string& target : kernels::supported_targets()) {
      if (!kernels::cap_target(target).empty()) ++tally.failed;
      run_named(arguments, tally);
    }
  } else {
    run_named(arguments, tally);
  }
  std::printf("%d passed, %d failed\n", tally.passed, tally.failed);
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace topos::math::testing

int main(int argc, char** argv) {
  return topos::math::testing::run({argv, static_cast<std::size_t>(argc)});
}

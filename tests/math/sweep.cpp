// Every one of the 2^32 floats through every function of one argument, and
// through its vectorized kernel.
//
//     topos_sweep [--threads N] [--every N] [--each-target] [--state FOLDER]
//                 [name...]
//
// One line a function; exit status 1 if any result is not the correctly
// rounded one (or, for NaN, not NaN). A minute each on two threads, about;
// --every N takes one input in N, --each-target all instruction sets that the
// CPU has, not the best alone (or the one that TOPOS_TARGET names). With
// --state a sweep of all inputs goes on where it was interrupted, and what was
// swept before is not swept again: until the sources of the functions, the
// compiler or the target are others.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/elementary.h"
#include "kernels/targets.h"
#include "reference.h"
#include "topos/io.h"

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

// Stands for the sources of the functions, of their kernels and of the sweep.
std::uint64_t hash_of_sources() {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"src/math", "src/kernels", "tests/math"}) {
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(TOPOS_SOURCE_DIR) / folder)) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::filesystem::path& file : files) {
    constexpr std::string_view kernels[] = {
        "doubles-inl.h",    "elementary-inl.h", "elementary.h",
        "erf.cpp",          "exp-inl.h",        "exp2-inl.h",
        "exponentials.cpp", "logarithms.cpp",   "polynomials.h",
        "rsqrt.cpp",        "sigmoids.cpp",     "simd-inl.h",
        "simd_targets.h",   "sine.cpp"};
    if (file.parent_path().filename() == "kernels" &&
        std::ranges::find(kernels, file.filename().string()) ==
            std::end(kernels)) {
      continue;
    }
    std::ifstream text(file, std::ios::binary);
    for (char c; text.get(c);) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  return hash;
}

// How far a function has been swept, in a file.
class State {
 public:
  State(const std::filesystem::path& folder, std::string_view function)
      : path_(folder / function) {
    std::filesystem::create_directories(folder);
    static const std::uint64_t sources = hash_of_sources();
    key_ = std::to_string(sources) + " " + kernels::current_target() +
           " " __VERSION__;
    std::ifstream file(path_);
    std::string key;
    std::uint64_t parts = 0;
    std::uint64_t calls = 0;
    if (std::getline(file, key) && key == key_ && file >> parts >> calls) {
      parts_ = parts;
      mpfr_calls_ = calls;
    }
  }

  std::uint64_t parts() const { return parts_; }
  std::uint64_t mpfr_calls() const { return mpfr_calls_; }
  void save(std::uint64_t parts, std::uint64_t mpfr_calls) const {
    write_file_atomically(path_, key_ + "\n" + std::to_string(parts) + " " +
                                     std::to_string(mpfr_calls) + "\n");
  }

 private:
  std::filesystem::path path_;
  std::string key_;
  std::uint64_t parts_ = 0;  // of part_count, without a wrong result
  std::uint64_t mpfr_calls_ = 0;
};

constexpr std::uint64_t part_count = 64;
constexpr std::uint32_t block_bits = 12;
constexpr std::uint64_t blocks_in_part =
    (std::uint64_t{1} << (32 - block_bits)) / part_count;

struct Sweep {
  const UnaryFunction& f;
  Kernel kernel;
  std::uint32_t every;
  std::atomic<std::uint64_t> next_block = 0;
  std::uint64_t end_block = 0;
  Count count;

  void walk();
};

void Sweep::walk() {
  FloatReference reference;
  std::vector<float> x;
  std::vector<float> y;
  while (true) {
    const std::uint64_t block = next_block.fetch_add(1);
    if (block >= end_block) break;
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

struct Arguments {
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::uint32_t every = 1;
  bool each_target = false;
  std::string state;
  std::vector<std::string_view> names;
};

bool sweep(const UnaryFunction& f, const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<State> state;
  if (!arguments.state.empty() && arguments.every == 1) {
    state.emplace(arguments.state, f.name);
  }
  Sweep work{f, kernel_of(f.name), arguments.every, {}, {}, {}};
  Count& count = work.count;
  const std::uint64_t before = state ? state->parts() : 0;
  count.inputs = before * (blocks_in_part << block_bits);
  if (state) count.mpfr_calls = state->mpfr_calls();
  for (std::uint64_t part = before; part < part_count; ++part) {
    work.next_block = part * blocks_in_part;
    work.end_block = (part + 1) * blocks_in_part;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < arguments.threads; ++i) {
      threads.emplace_back([&] { work.walk(); });
    }
    for (std::thread& thread : threads) thread.join();
    if (state && count.wrong == 0 && count.wrong_in_kernel == 0) {
      state->save(part + 1, count.mpfr_calls);
    }
  }
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::printf(
      "%-8s %llu inputs, %llu wrong, %llu wrong in the kernel, "
      "%llu MPFR calls, %.1f s%s\n",
      f.name, static_cast<unsigned long long>(count.inputs.load()),
      static_cast<unsigned long long>(count.wrong.load()),
      static_cast<unsigned long long>(count.wrong_in_kernel.load()),
      static_cast<unsigned long long>(count.mpfr_calls.load()), seconds.count(),
      before == 0 ? ""
                  : (", " + std::to_string(before) + " of " +
                     std::to_string(part_count) + " parts before")
                        .c_str());
  std::fflush(stdout);
  const std::uint64_t all =
      ((std::uint64_t{1} << 32) + arguments.every - 1) / arguments.every;
  return count.wrong == 0 && count.wrong_in_kernel == 0 && count.inputs == all;
}

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
    } else if (argument == "--state" && i + 1 < arguments.size()) {
      result.state = arguments[++i];
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
    ++(sweep(f, arguments) ? tally.passed : tally.failed);
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

#include "python_rivals.h"

#include <fmt/format.h>

#include <memory>
#include <sstream>
#include <thread>

#include "python_process.h"
#include "runtime/server_client.h"

namespace topos::bench {

namespace {

/// One framework's form of a program, in a process of its own.
class Rival {
 public:
  Rival(const std::string& framework, const std::string& program, int threads)
      : process_(command(framework, program, threads)),
        version_(process_.line()) {
    if (version_.starts_with("missing ")) throw std::runtime_error(version_);
  }

  const std::string& version() const { return version_; }
  /// Milliseconds of each of `count` runs.
  std::vector<double> run(int count) {
    return numbers(fmt::format("run {}\n", count));
  }
  double peak_bytes() { return numbers("memory\n").at(0); }

 private:
  // PyTorch with huge pages and a heap that keeps what it has: at its best.
  static std::vector<std::string> command(const std::string& framework,
                                          const std::string& program,
                                          int threads) {
    std::vector<std::string> result = {
        "/usr/bin/env",
        "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold="
        "8589934592:glibc.malloc.mmap_threshold=8589934592"};
    for (const std::string& word : runtime::server_command({})) {
      result.push_back(word);
    }
    result.insert(result.end(), {TOPOS_SOURCE_DIR "/bench/rivals.py", framework,
                                 program, std::to_string(threads)});
    return result;
  }

  std::vector<double> numbers(const std::string& request) {
    std::istringstream words(process_.ask(request));
    std::vector<double> result;
    for (double number; words >> number;) result.push_back(number);
    if (result.empty()) throw std::runtime_error("no answer to " + request);
    return result;
  }

  PythonProcess process_;
  std::string version_;
};

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

Row measured(Row row, const Program& program, Rival& rival) {
  constexpr double budget_ms = 4000;
  program.run();
  const double ours = time_ms(program.run, 1);
  const double theirs = median(rival.run(1));
  // Short programs run several times a round, until a round is worth it.
  const auto repeats = [](double ms) {
    return std::clamp(static_cast<int>(20 / ms), 1, 10000);
  };
  const int our_repeats = repeats(ours);
  const int their_repeats = repeats(theirs);
  const double once = ours * our_repeats + theirs * their_repeats;
  const int rounds = std::clamp(static_cast<int>(budget_ms / once), 3, 25);
  std::vector<double> our_times;
  std::vector<double> their_times;
  for (int round = 0; round < rounds; ++round) {
    // Until the rival's threads have stopped waiting for more.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    await_cores(row.threads);
    // Untimed first: a virtual machine's memory is slow to come back when the
    // other has had the machine for seconds.
    program.run();
    our_times.push_back(time_ms(program.run, our_repeats));
    await_cores(row.threads);
    rival.run(1);
    for (const double time : rival.run(their_repeats)) {
      their_times.push_back(time);
    }
  }
  set_ours(row, our_times);
  row.rival_version = rival.version();
  row.rival_ms = median(their_times) / program.rival_units;
  row.ratio = row.rival_ms / row.ours_ms;
  return row;
}

}  // namespace

std::vector<Row> against_python(const std::string& table,
                                const Program& program,
                                const Options& options) {
  std::vector<Row> rows;
  for (const std::string& framework : program.rivals) {
    Row row{.table = table,
            .row = program.name,
            .threads = options.threads,
            .numerics = program.numerics,
            .rival = framework};
    try {
      Rival rival(framework, program.name, options.threads);
      row = measured(std::move(row), program, rival);
      if (program.resident_bytes > 0) {
        row.rival_bytes = rival.peak_bytes();
        row.ours_bytes = static_cast<double>(program.resident_bytes);
      }
    } catch (const std::runtime_error& error) {
      // A framework that is not installed, or has no such program.
      fmt::print("{}, {}: {}\n", program.name, framework, error.what());
      continue;
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace topos::bench

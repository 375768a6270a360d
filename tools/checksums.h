#pragma once

#include <topos/engine.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tools {

/// What computes.
struct Runner {
  topos::Engine engine;
  int threads;

  topos::Session open(const topos::Network& network) const {
    return engine.open(network, {.threads = threads});
  }
};

/// A result that has the same bits on every machine.
struct ChecksumItem {
  std::string name;
  /// FNV-1a over the elements, every NaN as one.
  std::function<std::uint64_t(const Runner&)> hash;
};

/// Products, sums, functions, scattered sums, rows in batches, training.
std::vector<ChecksumItem> checksum_items();

/// `topos checksums`: a line an item, name and hash; or whether these are the
/// lines of a file.
class Checksums {
 public:
  explicit Checksums(CLI::App& parent);

  bool is_asked() const { return command_->parsed(); }
  /// \throws Refusal  the file cannot be read
  /// \return the exit code
  int run() const;

 private:
  CLI::App* command_;
  std::string expected_;
  std::string engine_ = "native";
  int threads_ = 0;
};

}  // namespace tools

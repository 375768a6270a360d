#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tools {

/// `topos emit`: a model's program as StableHLO text.
class Emit {
 public:
  explicit Emit(CLI::App& parent);

  bool is_asked() const { return command_->parsed(); }
  /// \throws Refusal  there is no such model or plan, or nothing can be
  ///                  written to the file
  void run() const;

 private:
  CLI::App* command_;
  std::string model_;
  std::string plan_ = "train";
  bool composites_ = false;
  int partitions_ = 1;
  std::string output_;
  bool list_ = false;
};

}  // namespace tools

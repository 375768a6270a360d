#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tools {

/// `topos profile`: where the time of a model's program goes.
class ProfileCommand {
 public:
  explicit ProfileCommand(CLI::App& parent);

  bool is_asked() const { return command_->parsed(); }
  /// \throws Refusal  there is no such model or plan, or nothing can be
  ///                  written to the file
  void run() const;

 private:
  CLI::App* command_;
  std::string model_;
  std::string plan_ = "train";
  int steps_ = 20;
  int threads_ = 0;
  std::string trace_;
};

}  // namespace tools

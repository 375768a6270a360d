#pragma once

#include <topos/topos.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// How far a run of makemore_mlp got, as the metadata of its checkpoint.

namespace examples {

/// All that decides a run's bits, but its parameters.
struct RunState {
  int step = 0;  ///< steps done
  std::optional<std::uint64_t> seed;
  std::string corpus;         ///< the words' fingerprint
  std::vector<float> losses;  ///< one a step
};

/// Reads and writes the states of one program and recipe.
class RunStateFile {
 public:
  RunStateFile(std::string program, std::string recipe)
      : program_(std::move(program)), recipe_(std::move(recipe)) {}

  topos::Metadata metadata(const RunState& state) const {
    std::string losses;
    char buffer[32];
    for (const float loss : state.losses) {
      // The shortest decimal that reads back as the same bits.
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, loss).ptr;
      if (!losses.empty()) losses += ' ';
      losses.append(buffer, end);
    }
    return {{"program", program_},
            {"recipe", recipe_},
            {"step", std::to_string(state.step)},
            {"seed", state.seed ? std::to_string(*state.seed) : "recipe"},
            {"corpus", state.corpus},
            {"losses", losses}};
  }

  /// \throws topos::FileError  the file is no checkpoint, of another program or
  ///                           recipe, or says nonsense
  RunState read(const std::filesystem::path& path) const {
    const topos::Metadata metadata = topos::read_safetensors_metadata(path);
    const auto member = [&](const char* key) -> const std::string& {
      const auto found = metadata.find(key);
      if (found == metadata.end()) {
        throw topos::FileError(path.string() + ": not a checkpoint of " +
                               program_ + ": it has no \"" + key + "\"");
      }
      return found->second;
    };
    if (member("program") != program_) {
      throw topos::FileError(path.string() + ": not a checkpoint of " +
                             program_ + ", but of " + member("program"));
    }
    if (member("recipe") != recipe_) {
      throw topos::FileError(path.string() + ": trained by another recipe, " +
                             member("recipe"));
    }
    const auto wrong = [&](const char* key) {
      throw topos::FileError(path.string() + ": its \"" + key +
                             "\" makes no sense");
    };
    RunState state;
    if (!parse(member("step"), state.step) || state.step < 0) wrong("step");
    if (member("seed") != "recipe") {
      if (!parse(member("seed"), state.seed.emplace())) wrong("seed");
    }
    state.corpus = member("corpus");
    std::string_view rest = member("losses");
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      if (!parse(rest.substr(0, end), state.losses.emplace_back())) {
        wrong("losses");
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (state.losses.size() != static_cast<std::size_t>(state.step)) {
      wrong("losses");
    }
    return state;
  }

  /// Whether a new run may write over what is there: nothing, or an old
  /// checkpoint of this program.
  /// \return                   the old one's step; empty if there is none
  /// \throws topos::FileError  the file is of something else
  std::string replaceable_step(const std::filesystem::path& path) const {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored) ||
        std::filesystem::file_size(path, ignored) == 0) {
      return {};
    }
    std::string found = "no safetensors file";
    try {
      const topos::Metadata metadata = topos::read_safetensors_metadata(path);
      const auto program = metadata.find("program");
      if (program == metadata.end()) {
        found = "a safetensors file of another program";
      } else if (program->second == program_) {
        const auto step = metadata.find("step");
        return step == metadata.end() ? "?" : step->second;
      } else {
        found = "a checkpoint of " + program->second;
      }
    } catch (const topos::FileError&) {
    }
    throw topos::FileError(path.string() + ": this is " + found +
                           ", and no checkpoint is written over it");
  }

 private:
  /// Whether `text` is a number and nothing else.
  template <class T>
  static bool parse(std::string_view text, T& to) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc() && end == text.data() + text.size();
  }

  std::string program_;
  std::string recipe_;
};

}  // namespace examples

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Compiled programs on disk, for the next process. A cache never fails its
/// caller: what cannot be read is compiled, what cannot be written is not kept.

namespace topos::runtime {

/// $TOPOS_CACHE_DIR (set but empty: no cache), else topos/ in $XDG_CACHE_HOME,
/// else in ~/.cache; empty where none of them is known.
std::filesystem::path default_cache_folder();

/// Files under one folder, each with all that its program was compiled from
/// beside the program: what does not match to the byte is not taken, so that
/// neither an old file nor a collision of names can run.
///
/// A serialized program is machine code. Folders and files are made for their
/// owner alone, and files that anybody else has or may write are not taken.
///
/// Nothing is ever removed: the folder may be, at any time. Threads and
/// processes may share it.
class ExecutableCache {
 public:
  /// \param folder  empty: nothing is kept
  explicit ExecutableCache(const std::filesystem::path& folder);

  bool on() const noexcept { return !folder_.empty(); }

  /// What was stored under the key, if it is whole.
  std::optional<std::string> load(std::string_view key) const;
  void store(std::string_view key, std::string_view program) const;

 private:
  std::filesystem::path file_of(std::string_view key) const;

  std::filesystem::path folder_;
};

/// What decides the machine code beside text and options: the plugin's file,
/// this processor and how many of it the process may use, and the variables
/// that XLA reads. To be asked when the plugin is loaded: its file may be
/// another one later. Nothing if the file cannot be read.
std::optional<std::string> compiler_identity(
    const std::filesystem::path& plugin);

}  // namespace topos::runtime

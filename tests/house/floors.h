// The floor plan, and who may include what by it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace topos::house {

/// An include that the floor plan does not allow, or a line that has no
/// reading.
struct Violation {
  std::string where;  // "src/graph/tape.cpp:12"
  std::string what;
};

/// Reads every `#include` of the project in `root` against the floor plan.
std::vector<Violation> check_includes(const std::filesystem::path& root);

/// The folders below `folder` that hold files of their own and no README.md.
std::vector<std::string> folders_without_readme(
    const std::filesystem::path& folder);

}  // namespace topos::house

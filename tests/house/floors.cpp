#include "floors.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

namespace topos::house {
namespace {

namespace fs = std::filesystem;
using std::string_view;

// One row a folder, from the ground floor up.
//
// `folders` are those that it may include from; what those may include from is
// allowed, too. `packages` are not passed on. `headers` are the folder's share
// of include/topos/: to include one of them is to include from the folder, and
// it may itself include only those of the same and of lower floors.
struct Floor {
  string_view folder;
  std::vector<string_view> folders;
  std::vector<string_view> packages;
  std::vector<string_view> headers;
};

const std::vector<Floor>& floors() {
  // clang-format off
  static const std::vector<Floor> table = {
      {"tensor",     {},                             {"fmt", "system"},
       {"dtype.h", "error.h", "half.h", "number.h", "shape.h", "site.h", "tensor.h",
        "version.h"}},
      {"math",       {},                             {"system"},             {}},
      {"stablehlo",  {"tensor"},                     {"fmt"},                {}},
      {"ops",        {"tensor", "math", "stablehlo"}, {"fmt"},               {"functions.h"}},
      {"io",         {"tensor"},                     {"fmt", "json", "pcre2", "curl", "system"}, {"io.h"}},
      {"graph",      {"ops"},                        {"fmt"},                {"network.h", "tape.h"}},
      {"kernels",    {"tensor", "math"},             {"highway", "cblas", "system"}, {}},
      {"engine",     {"graph", "kernels"},           {"fmt", "system"},      {"engine.h", "envelope.h", "plan.h",
        "profile.h"}},
      {"checkpoint", {"graph", "io"},                {"fmt", "json", "system"}, {"checkpoint.h"}},
      {"emit",       {"engine"},                     {"fmt"},                {"emit.h"}},
      {"runtime",    {"emit", "engine", "io"},       {"fmt", "system"}, {"xla.h"}},
      // A layer of ours is written as a reader's own would be.
      {"nn",         {"public"},                     {},                     {"nn.h", "random.h"}},
      {"public",     {"tensor", "ops", "io", "graph", "engine", "checkpoint",
                      "emit", "runtime", "nn"},      {},                     {"topos.h"}},
      // What the programs record, in examples/models/.
      {"models",     {"public"},                     {},                     {}},
      {"tools",      {"public", "models"},           {"cli", "json", "system"}, {}},
      {"examples",   {"public", "models"},           {"cli", "json", "system"}, {}},
  };
  // clang-format on
  return table;
}

// Those who see the public headers alone, whatever floor these belong to, and
// of each other those whom their row names.
constexpr std::array public_only = {string_view("nn"), string_view("public"),
                                    string_view("models"), string_view("tools"),
                                    string_view("examples")};

bool is_public_only(string_view folder) {
  return std::ranges::find(public_only, folder) != public_only.end();
}

// The one doorway that a folder has into another: kernels run the definitions
// themselves where an instruction set cannot keep their bits.
bool is_doorway(string_view from, string_view to, const std::string& file) {
  return from == "kernels" && to == "ops" && file.ends_with("_reference.h");
}

// Which package a header in angle brackets belongs to. What has no dot is the
// standard library, which everybody may use.
string_view package_of(string_view header) {
  static const std::vector<std::pair<string_view, string_view>> prefixes = {
      {"fmt/", "fmt"},           {"hwy/", "highway"},
      {"nlohmann/", "json"},     {"CLI/", "cli"},
      {"curl/", "curl"},         {"pcre2.h", "pcre2"},
      {"sys/", "system"},        {"linux/", "system"},
      {"unistd.h", "system"},    {"fcntl.h", "system"},
      {"pthread.h", "system"},   {"sched.h", "system"},
      {"signal.h", "system"},    {"dlfcn.h", "system"},
      {"immintrin.h", "system"}, {"xmmintrin.h", "system"},
      {"cpuid.h", "system"},     {"spawn.h", "system"},
      {"poll.h", "system"},      {"time.h", "system"},
      {"termios.h", "system"},   {"cblas.h", "cblas"},
  };
  if (header.find_first_of("./") == string_view::npos) return "std";
  for (const auto& [prefix, package] : prefixes) {
    if (header.starts_with(prefix)) return package;
  }
  return "";
}

const Floor* find_floor(string_view folder) {
  const auto& table = floors();
  const auto at = std::ranges::find(table, folder, &Floor::folder);
  return at == table.end() ? nullptr : &*at;
}

// The folder that a public header belongs to; headers in a folder of their own,
// such as topos/nn/linear.h, to the one of that name.
std::optional<string_view> folder_of_public(const fs::path& header) {
  if (header.has_parent_path()) {
    const std::string first = header.begin()->string();
    const Floor* floor = find_floor(first);
    if (floor == nullptr) return std::nullopt;
    return floor->folder;
  }
  for (const Floor& floor : floors()) {
    if (std::ranges::find(floor.headers, header.string()) !=
        floor.headers.end()) {
      return floor.folder;
    }
  }
  return std::nullopt;
}

// `folder` itself and all that lies below it in the table.
std::set<string_view> reachable(string_view folder) {
  std::set<string_view> seen = {folder};
  std::vector<string_view> open = {folder};
  while (!open.empty()) {
    const Floor* floor = find_floor(open.back());
    open.pop_back();
    for (const string_view lower : floor->folders) {
      if (seen.insert(lower).second) open.push_back(lower);
    }
  }
  return seen;
}

struct Include {
  std::string header;
  bool quoted;
};

// Reads `#include "a.h"` and `#include <a.h>`. A macro in that place, as in
// Highway's foreach_target, names the file itself and is no way out.
std::optional<Include> parse(string_view line) {
  const auto skip_blanks = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return std::nullopt;
  line.remove_prefix(string_view("include").size());
  skip_blanks();
  const bool quoted = line.starts_with('"');
  if (!quoted && !line.starts_with('<')) return std::nullopt;
  line.remove_prefix(1);
  const auto end = line.find(quoted ? '"' : '>');
  if (end == string_view::npos) return std::nullopt;
  return Include{std::string(line.substr(0, end)), quoted};
}

// Who includes: the row of the table, and the file from the project's root.
struct Includer {
  string_view folder;
  fs::path file;
  bool is_public;  // lies in include/topos/
};

// What is wrong with one include, if anything.
std::optional<std::string> judge(const Includer& from, const Include& include) {
  const std::string& header = include.header;
  const std::string folder(from.folder);

  if (header.starts_with("topos/")) {
    const auto owner = folder_of_public(fs::path(header.substr(6)));
    if (!owner) {
      return header +
             " is in no row of the floor table (tests/house/floors.cpp)";
    }
    if (reachable(from.folder).contains(*owner)) return std::nullopt;
    return folder + " may not include " + header + ", which belongs to " +
           std::string(*owner);
  }

  if (include.quoted) {
    // "shape.h" lies beside the file, "tensor/shape.h" in src/.
    if (header.find('/') == std::string::npos && !from.is_public) {
      return std::nullopt;
    }
    if (from.is_public) {
      return "a public header includes " + header + " of src/";
    }
    const std::string to = fs::path(header).begin()->string();
    if (to == from.folder) return std::nullopt;
    const auto& neighbours = find_floor(from.folder)->folders;
    if (is_public_only(to) &&
        std::ranges::find(neighbours, to) != neighbours.end()) {
      return std::nullopt;
    }
    if (is_public_only(from.folder)) {
      return folder + " may include <topos/...> only, not " + header;
    }
    if (reachable(from.folder).contains(to) ||
        is_doorway(from.folder, to, header)) {
      return std::nullopt;
    }
    return folder + " may not include from " + to + ": " + header;
  }

  const string_view package = package_of(header);
  if (package == "std") return std::nullopt;
  if (package.empty()) {
    return "<" + header + "> is of no package known to tests/house/floors.cpp";
  }
  const auto& allowed = find_floor(from.folder)->packages;
  if (!from.is_public && std::ranges::find(allowed, package) != allowed.end()) {
    return std::nullopt;
  }
  return (from.is_public ? "a public header" : folder) + " may not include <" +
         header + ">";
}

bool is_source(const fs::path& file) {
  return file.extension() == ".h" || file.extension() == ".cpp";
}

std::vector<fs::path> sources_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && is_source(entry.path())) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

void check_file(const fs::path& root, const Includer& from,
                std::vector<Violation>& out) {
  std::ifstream in(root / from.file);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto include = parse(line);
    if (!include) continue;
    if (const auto wrong = judge(from, *include)) {
      out.push_back(
          {from.file.string() + ":" + std::to_string(number), *wrong});
    }
  }
}

}  // namespace

std::vector<Violation> check_includes(const fs::path& root) {
  std::vector<Violation> out;

  for (const fs::path& path : sources_below(root / "src")) {
    const fs::path inside = fs::relative(path, root / "src");
    const Floor* floor = find_floor(inside.begin()->string());
    const fs::path file = fs::path("src") / inside;
    if (floor == nullptr || !inside.has_parent_path()) {
      out.push_back({file.string(), "is in no folder of the floor table"});
      continue;
    }
    check_file(root, {floor->folder, file, false}, out);
  }

  for (const fs::path& path : sources_below(root / "include/topos")) {
    const fs::path inside = fs::relative(path, root / "include/topos");
    const auto owner = folder_of_public(inside);
    const fs::path file = fs::path("include/topos") / inside;
    if (!owner) {
      out.push_back(
          {file.string(),
           "is in no row of the floor table (tests/house/floors.cpp)"});
      continue;
    }
    check_file(root, {*owner, file, true}, out);
  }

  for (const string_view folder : {"tools", "examples"}) {
    for (const fs::path& path : sources_below(root / folder)) {
      const fs::path file = fs::relative(path, root);
      const bool is_model = file.string().starts_with("examples/models/");
      check_file(root, {is_model ? "models" : folder, file, false}, out);
    }
  }
  return out;
}

std::vector<std::string> folders_without_readme(const fs::path& folder) {
  std::set<std::string> with_files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path parent = entry.path().parent_path();
    if (entry.is_regular_file() && parent != folder) {
      with_files.insert(parent.string());
    }
  }
  std::vector<std::string> missing;
  for (const std::string& path : with_files) {
    if (!fs::exists(fs::path(path) / "README.md")) missing.push_back(path);
  }
  return missing;
}

}  // namespace topos::house

#include <filesystem>
#include <system_error>

#include "runtime/server_client.h"
#include "runtime/system.h"

namespace topos::runtime {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) result.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

/// That of a virtual environment where `python -m venv .venv` makes it.
std::string project_python() {
  std::error_code error;
  fs::path folder = fs::current_path(error);
  while (!error && !folder.empty()) {
    const fs::path candidate = folder / ".venv" / "bin" / "python";
    if (fs::exists(candidate, error)) return candidate.string();
    if (folder == folder.root_path()) break;
    folder = folder.parent_path();
  }
  return "";
}

}  // namespace

std::vector<std::string> server_command(const ServerOptions& options) {
  auto command = words(options.python);
  if (!command.empty()) return command;
  command = words(variable("TOPOS_XLA_PYTHON").value_or(""));
  if (!command.empty()) return command;
  const std::string python = project_python();
  return {python.empty() ? "python3" : python};
}

}  // namespace topos::runtime

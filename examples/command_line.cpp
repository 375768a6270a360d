#include "command_line.h"

#include <topos/io.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace examples {

std::function<std::string(const std::string&)> whole_number(
    std::uint64_t least, std::uint64_t most) {
  return [=](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const bool octal = text.size() > 1 && text[0] == '0';
    if (error == std::errc() && stop == end && !octal && number >= least &&
        number <= most) {
      return {};
    }
    return text + " is not a whole number from " + std::to_string(least) +
           " to " + std::to_string(most) + " as a decimal";
  };
}

CLI::Option* add_file(CLI::App& app, const char* name, std::string& to,
                      const char* help) {
  return app.add_option(name, to, help)
      ->type_name("FILE")
      ->check([](const std::string& given) {
        return given.empty() ? std::string("the file has no name") : "";
      });
}

bool parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    app.exit(wanted);
    return false;
  } catch (const CLI::ParseError& error) {
    throw Refusal(error.what());
  }
  return true;
}

void check_distinct(std::span<const NamedFile> files) {
  const auto place_of = [](const NamedFile& file) {
    std::error_code error;
    // Of a path from the root: what does not exist has no other anchor. A link
    // to what does not exist yet is followed by hand.
    std::filesystem::path path = std::filesystem::absolute(file.name, error);
    for (int links = 0; links < 40 && std::filesystem::is_symlink(path, error);
         ++links) {
      path = path.parent_path() / std::filesystem::read_symlink(path, error);
    }
    const auto place = std::filesystem::weakly_canonical(path, error);
    return error ? std::filesystem::path(file.name) : place;
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = i + 1; j < files.size(); ++j) {
      if (files[j].name.empty() || files[i].name.empty()) continue;
      if (place_of(files[i]) == place_of(files[j])) {
        throw Refusal(std::string(files[i].option) + " and " + files[j].option +
                      " are the same file, " + files[i].name);
      }
    }
  }
}

std::string default_corpus() {
  const std::filesystem::path here = "data/names.txt";
  std::error_code ignored;
  if (std::filesystem::exists(here, ignored)) return here.string();
  return (TOPOS_SOURCE_DIR / here).string();
}

void finish(const std::string& json_file, const std::string& json) {
  if (!json_file.empty()) {
    topos::write_file_atomically(json_file, json);
    std::printf("figures     %s\n", json_file.c_str());
  }
  if (std::fflush(stdout) != 0) {
    throw topos::RuntimeError("the output cannot be written");
  }
}

}  // namespace examples

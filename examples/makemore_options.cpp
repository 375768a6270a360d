#include "makemore_options.h"

#include <topos/engine.h>
#include <topos/version.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <system_error>

namespace examples {

namespace {

/// The list of names: in the current folder's project, else in the one that
/// this program was built from.
std::string default_corpus() {
  const std::filesystem::path here = "data/names.txt";
  std::error_code ignored;
  if (std::filesystem::exists(here, ignored)) return here.string();
  return (TOPOS_SOURCE_DIR / here).string();
}

/// No two files may be the same one.
void check_distinct(const MakemoreOptions& options) {
  struct File {
    const char* option;
    const std::string& name;
  };
  const std::array<File, 4> files = {{{"--corpus", options.corpus},
                                      {"--checkpoint", options.checkpoint},
                                      {"--json", options.json},
                                      {"--svg", options.svg}}};
  const auto place_of = [](const File& file) {
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

/// Accepts decimal numbers. CLI11 alone would take 010 for 8, 0x10 for 16, 1_0
/// for 10, and -1 and 2^64 for some other seed, all in silence.
auto whole_number(std::uint64_t least, std::uint64_t most) {
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

/// As a shell reads it.
std::string quoted(const std::string& argument) {
  const bool plain = !argument.empty() &&
                     argument.find_first_of(" \t\n'\"\\$`&|;<>()*?[]{}~#!") ==
                         std::string::npos;
  if (plain) return argument;
  std::string result = "'";
  for (const char c : argument) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result + "'";
}

}  // namespace

std::optional<MakemoreOptions> parse_options(int argc, char** argv) {
  MakemoreOptions options;
  CLI::App app(
      "Trains a small network (embedding, tanh, cross-entropy) to continue "
      "words letter by letter, and invents new ones. One recorded plan is a "
      "whole training step.\n"
      "Ctrl-C finishes the step and saves a checkpoint; --resume continues "
      "from it with the same bits as an uninterrupted run.",
      "makemore_mlp");
  const auto file = [&](const char* name, std::string& to, const char* help) {
    return app.add_option(name, to, help)
        ->type_name("FILE")
        ->check([](const std::string& given) {
          return given.empty() ? std::string("the file has no name") : "";
        });
  };
  app.set_version_flag(
      "--version", "makemore_mlp of topos " + std::string(topos::version()));
  app.add_option("--steps", options.steps,
                 "Steps to train in all, those before --resume included; the "
                 "rate is 0.1, and 0.01 from step 4000 on")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--seed", options.seed,
                 "Seed of everything random; without it the recipe's own (8 "
                 "embedding, 7 layers, 9 shuffle, 10 samples), with it "
                 "the first four numbers of splitmix64 from SEED")
      ->type_name("SEED")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  app.add_option("--engine", options.engine, "What runs the plans")
      ->type_name("NAME")
      ->check(CLI::IsMember(topos::engine_names()))
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "Threads to divide a step over, 0: as many as there are; any "
                 "number gives the same bits")
      ->type_name("N")
      ->check(whole_number(0, 1024))
      ->capture_default_str();
  app.add_option("--compare", options.compare,
                 "Before the training, run that many steps on the native "
                 "engine and on the interpreter side by side and compare all "
                 "losses and parameters bit for bit; 0: none")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000))
      ->capture_default_str();
  file("--corpus", options.corpus,
       "Words to learn from, one a line, letters a to z (default: "
       "data/names.txt)");
  file("--json", options.json, "Write every figure to this file");
  file("--svg", options.svg, "Write the loss curve to this file")
      ->capture_default_str();
  file("--checkpoint", options.checkpoint,
       "Where to save parameters and progress, at the end and on Ctrl-C")
      ->capture_default_str();
  app.add_flag("--resume", options.resume, "Continue from the checkpoint")
      ->disable_flag_override();  // no --resume=3

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    app.exit(wanted);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw Refusal(error.what());
  }
  if (options.corpus.empty()) options.corpus = default_corpus();
  check_distinct(options);
  return options;
}

std::string resume_command(int argc, char** argv) {
  std::string command;
  bool resumes = false;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    resumes = resumes || argument == "--resume";
    if (i > 0) command += ' ';
    command += quoted(argument);
  }
  return resumes ? command : command + " --resume";
}

}  // namespace examples

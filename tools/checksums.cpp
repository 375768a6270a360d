#include "checksums.h"

#include <topos/error.h>
#include <topos/io.h>

#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "command.h"

namespace tools {

Checksums::Checksums(CLI::App& parent)
    : command_(parent.add_subcommand(
          "checksums",
          "Hashes of results that have the same bits on every machine, with "
          "any number of threads, any instruction set (TOPOS_TARGET), any "
          "compiler")) {
  command_->add_option("--engine", engine_, "What computes them")
      ->type_name("NAME")
      ->check(CLI::IsMember({"interpreter", "native"}))
      ->capture_default_str();
  command_
      ->add_option("--expect", expected_,
                   "Print only the lines that are not those of this file")
      ->type_name("FILE");
  command_->add_option("--threads", threads_, "0: as many as there are")
      ->type_name("N")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

int Checksums::run() const {
  std::optional<std::istringstream> expected;
  if (!expected_.empty()) {
    try {
      expected.emplace(topos::read_file(expected_));
    } catch (const topos::FileError& error) {
      throw Refusal(error.message());
    }
  }
  const Runner runner{topos::engine(engine_), threads_};
  int differing = 0;
  int count = 0;
  for (const ChecksumItem& item : checksum_items()) {
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx",
                  static_cast<unsigned long long>(item.hash(runner)));
    const std::string line = column(item.name, 40) + hash;
    ++count;
    if (!expected) {
      std::cout << line << '\n';
      continue;
    }
    std::string wanted;
    std::getline(*expected, wanted);
    if (line == wanted) continue;
    ++differing;
    std::cout << line << ", expected " << wanted << '\n';
  }
  if (!expected) return 0;
  std::string more;
  while (std::getline(*expected, more)) {
    ++differing;
    std::cout << "missing: " << more << '\n';
  }
  std::cout << count << " checksums, " << differing << " differ from "
            << expected_ << '\n';
  return differing == 0 ? 0 : failed;
}

}  // namespace tools

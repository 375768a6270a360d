#pragma once

#include <topos/error.h>
#include <topos/io.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

/// \file
/// What the commands of `topos` share.

namespace tools {

/// Exit codes: something went wrong or does not hold; the command line asks
/// for what there is not.
inline constexpr int failed = 1;
inline constexpr int wrong_usage = 2;

/// A command line that is refused before any work is begun.
class Refusal : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// \throws Refusal  the file cannot be written
inline void refuse_unwritable(const std::string& path) {
  try {
    topos::check_writable(path);
  } catch (const topos::FileError& error) {
    throw Refusal(error.message());
  }
}

/// Of the names of `range`: `a, b, c`.
template <class Range, class Name>
std::string list_of_names(const Range& range, Name name) {
  std::string list;
  for (const auto& item : range) {
    list += (list.empty() ? "" : ", ") + std::string(item.*name);
  }
  return list;
}

/// A message for a table: its lines in one.
inline std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c != '\n') {
      line += c;
    } else if (!line.empty() && line.back() != ';') {
      line += ';';
    }
    if (c == '\n') line += ' ';
  }
  while (!line.empty() && (line.back() == ' ' || line.back() == ';')) {
    line.pop_back();
  }
  return line;
}

/// `text` and blanks up to `width`, at least two.
inline std::string column(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

}  // namespace tools

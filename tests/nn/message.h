#pragma once

#include <cctype>
#include <string>

namespace topos {

/// The message of the error that `f` throws.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.message();
  }
  return "nothing was thrown";
}

/// A message that begins with a line of `file`, without the line's number: the
/// tests that count it do so themselves, compilers differ on expressions of
/// several lines.
inline std::string at_a_line_of(const std::string& file, std::string message) {
  if (!message.starts_with(file + ":"))
    return "not of " + file + ": " + message;
  std::size_t end = file.size() + 1;
  while (end < message.size() && std::isdigit(message[end]) != 0) ++end;
  return message.replace(0, end, "user");
}

}  // namespace topos

#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "topos/error.h"
#include "topos/site.h"

namespace topos::test {

/// The message of the E that `f` throws, without the line that it begins with,
/// which has to be one of the next few after this call's: what a user wrote.
template <class E, class F>
std::string message_of(F&& f, Site at = Site::here()) {
  try {
    f();
  } catch (const E& error) {
    const std::string& message = error.message();
    const std::string file = Site{at.file, 1}.text();
    const std::string name = file.substr(0, file.rfind(':') + 1);
    if (message.rfind(name, 0) != 0) return "without the line: " + message;
    char* end = nullptr;
    const char* digits = message.c_str() + name.size();
    const long line = std::strtol(digits, &end, 10);
    if (line < at.line - 6 || line > at.line + 6) {
      return "another line than " + std::to_string(at.line) + ": " + message;
    }
    if (std::string_view(end).substr(0, 2) != ": ") return message;
    return end + 2;
  } catch (const Error& error) {
    return "another kind of error: " + error.message();
  }
  return "no error";
}

}  // namespace topos::test

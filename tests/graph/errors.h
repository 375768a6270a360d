#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <typeinfo>

#include "topos/error.h"

namespace topos::test {

/// The message of the E that `f` throws, and exactly an E; else what happened.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    if (typeid(error) == typeid(E)) return error.message();
    return std::string("another error: ") + error.what();
  } catch (const std::exception& error) {
    return std::string("a foreign exception: ") + error.what();
  }
  return "nothing was thrown";
}

/// `file.cpp:12: `, as a message starts.
inline std::string at_line(const char* file, int line) {
  std::string path = file;
  return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line) + ": ";
}

}  // namespace topos::test

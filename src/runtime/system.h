#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

/// \file
/// What the operating system says.

namespace topos::runtime {

/// A variable of the environment; nothing if it is not set.
inline std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr) return std::nullopt;
  return value;
}

/// The text of an errno.
inline std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace topos::runtime

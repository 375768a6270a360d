#pragma once

#include <string>

#include "topos/error.h"

namespace topos::stablehlo_text {

/// A place in the text, counted from 1, columns in bytes.
struct Location {
  int line = 1;
  int column = 1;
};

/// Text that is no valid module, or arguments that do not fit it. The message
/// begins with `line:column: ` where a place is to blame.
class ModuleError : public Error {
 public:
  using Error::Error;
  ModuleError(Location at, const std::string& message)
      : Error(std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
              message) {}
};

[[noreturn]] inline void fail(Location at, const std::string& message) {
  throw ModuleError(at, message);
}

}  // namespace topos::stablehlo_text

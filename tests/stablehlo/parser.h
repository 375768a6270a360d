#pragma once

#include <string_view>

#include "stablehlo/syntax.h"

namespace topos::stablehlo_text {

/// Reads a module and checks it: names, types, every operation's rule, calls.
/// \throws ModuleError  with the place of the first thing that is wrong
Program parse_program(std::string_view text);

}  // namespace topos::stablehlo_text

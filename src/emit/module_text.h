#pragma once

#include <string>
#include <vector>

#include "topos/emit.h"

namespace topos::emit {

/// What the text of a module has beside its signature.
struct ModuleBody {
  std::vector<std::string> argument_names;  // `%x`, in @main's order
  std::vector<std::string> result_names;
  std::string main;
  /// The decompositions of composites.
  std::string functions;
};

/// The module, from the arguments and results that it declares.
std::string module_text(const StablehloModule& module, const ModuleBody& body,
                        int partitions);

}  // namespace topos::emit

#include <topos/nn.h>

namespace topos::nn {

std::string dotted(std::string_view prefix, std::string_view name) {
  std::string result(prefix);
  if (!prefix.empty()) result += '.';
  result += name;
  return result;
}

}  // namespace topos::nn

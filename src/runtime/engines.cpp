#include <fmt/format.h>
#include <fmt/ranges.h>

#include "topos/engine.h"
#include "topos/error.h"
#include "topos/xla.h"

namespace topos {

std::vector<std::string> engine_names() {
  return {"interpreter", "native", "xla", "xla-server"};
}

Engine engine(std::string_view name, Site site) {
  if (name == "interpreter") return interpreter::engine();
  if (name == "native") return native::engine();
  if (name == "xla") return xla::engine();
  if (name == "xla-server") return xla_server::engine();
  const std::string where = site.known() ? site.text() + ": " : "";
  throw UsageError(fmt::format("{}there is no engine \"{}\"; present are {}",
                               where, name, fmt::join(engine_names(), ", ")));
}

}  // namespace topos

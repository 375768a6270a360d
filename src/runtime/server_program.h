#pragma once

#include <string_view>

namespace topos::runtime::server {

/// The text of tools/xla_server.py, which the library carries within itself.
extern const std::string_view program;

}  // namespace topos::runtime::server

// The version of topos. This file is its one home: CMake reads it from here.
#pragma once

#include <string_view>

#define TOPOS_VERSION_MAJOR 0
#define TOPOS_VERSION_MINOR 1
#define TOPOS_VERSION_PATCH 0
#define TOPOS_VERSION "0.1.0"

namespace topos {

/// The version of these headers, "major.minor.patch".
///
/// Semantic versioning: before 1.0 a new minor version may break what the one
/// before it accepted, a new patch may not.
constexpr std::string_view version() { return TOPOS_VERSION; }

}  // namespace topos

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recorded.h"

/// \file
/// Every model, by name: what `topos emit` writes and `topos verify` runs.

namespace models {

struct Model {
  std::string name;
  std::string description;
  Recorded (*record)();
  /// Its parameters have payloads: it can run. Otherwise it is only emitted.
  bool can_run = true;
};

const std::vector<Model>& models();

/// Null if there is none of that name.
const Model* find_model(std::string_view name);

}  // namespace models

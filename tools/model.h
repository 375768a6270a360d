#pragma once

#include <string>

#include "models/catalog.h"

namespace tools {

/// \throws Refusal  there is no model of that name; lists those that there are
const models::Model& model_of(const std::string& name);

/// \throws Refusal  the model has no such program; lists those that it has
const models::Program& program_of(const models::Recorded& recorded,
                                  const std::string& name);

}  // namespace tools

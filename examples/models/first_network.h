#pragma once

#include "recorded.h"

namespace models {

/// The exclusive or of two bits, by one hidden layer: what
/// examples/first_network.cpp records in full view.
Recorded record_first_network();

}  // namespace models

#pragma once

#include "recorded.h"

/// \file
/// A small convex problem in f64, solved by gradient descent with a step
/// length from its curvature, and around it whatever networks of layers do not
/// need: gradients of gradients, integers, booleans, padding and reversal.

namespace models {

Recorded record_medley();

}  // namespace models

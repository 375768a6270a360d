#pragma once

/// \file
/// All of topos.

#include "topos/checkpoint.h"
#include "topos/dtype.h"
#include "topos/emit.h"
#include "topos/engine.h"
#include "topos/envelope.h"
#include "topos/error.h"
#include "topos/functions.h"
#include "topos/half.h"
#include "topos/io.h"
#include "topos/network.h"
#include "topos/nn.h"
#include "topos/number.h"
#include "topos/plan.h"
#include "topos/profile.h"
#include "topos/random.h"
#include "topos/shape.h"
#include "topos/site.h"
#include "topos/tape.h"
#include "topos/tensor.h"
#include "topos/version.h"
#include "topos/xla.h"

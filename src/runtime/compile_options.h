#pragma once

#include <string>

#include "runtime/device_client.h"

namespace topos::runtime {

/// XLA's CompileOptionsProto, written by hand: one replica, the partitions
/// (with Shardy where there are two or more), and the overrides by name.
///
/// XLA's CPU compiler drops NaN in minimum and maximum unless told not to: on
/// CPUs `xla_cpu_enable_fast_min_max` is false unless the overrides say else.
///
/// \throws UsageError  partitions < 1: the plugin would end the process
std::string compile_options_proto(const CompileOptions& options, bool on_cpu);

}  // namespace topos::runtime

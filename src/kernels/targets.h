// Instruction sets: which ones this process may use, by name, and a cap.
//
// Kernels choose the best target at run time. The environment variable
// TOPOS_TARGET (AVX3, AVX2, SSE4, SSSE3, NEON, ...) caps the choice, for tests
// and measurements; it is read once, before the first choice. Bits never
// depend on it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace topos::kernels {

/// The targets that this build has and this CPU supports, best first, before
/// any cap.
std::vector<std::string> supported_targets();

/// The target that kernels run on now.
std::string current_target();

/// Forbids every target better than `name`; "" lifts the cap. Not to be called
/// while kernels run. Empty if done, else what to tell the user: the name is
/// unknown or not supported here, and nothing changed.
[[nodiscard]] std::string cap_target(std::string_view name);

/// What is wrong with TOPOS_TARGET, or nothing: for the caller to throw. With a
/// wrong name kernels run uncapped.
const std::string& target_error();

/// Reads TOPOS_TARGET unless that was done. Every kernel calls it first.
void apply_target_cap();

}  // namespace topos::kernels

#include "kernels/targets.h"

#include <cstdint>
#include <cstdlib>

#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/targets.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

// What dispatch leads to, as for any kernel.
std::int64_t dispatched_target() { return HWY_TARGET; }

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(dispatched_target);

namespace {

// Lower bits are better targets.
constexpr std::int64_t generated = HWY_TARGETS;

// What is supported but for a cap of ours.
std::int64_t supported_mask() {
  static const std::int64_t mask = hwy::SupportedTargets() & generated;
  return mask;
}

// Highway remembers its choice; forbidding a target does not make it choose
// again.
void forbid(std::int64_t targets) {
  hwy::DisableTargets(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::string apply_environment() {
  supported_mask();  // before anything is forbidden
  const char* name = std::getenv("TOPOS_TARGET");
  if (name == nullptr || *name == '\0') return {};
  const std::string error = cap_target(name);
  return error.empty() ? error : "TOPOS_TARGET: " + error;
}

}  // namespace

std::vector<std::string> supported_targets() {
  std::vector<std::string> names;
  for (std::int64_t left = supported_mask(); left != 0; left &= left - 1) {
    names.emplace_back(hwy::TargetName(left & -left));
  }
  return names;
}

std::string current_target() {
  apply_target_cap();
  return hwy::TargetName(HWY_DYNAMIC_DISPATCH(dispatched_target)());
}

std::string cap_target(std::string_view name) {
  if (name.empty()) {
    forbid(0);
    return {};
  }
  std::string known;
  for (std::int64_t left = supported_mask(); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    if (name == hwy::TargetName(target)) {
      forbid(target - 1);
      return {};
    }
    known += known.empty() ? "" : ", ";
    known += hwy::TargetName(target);
  }
  return "no target \"" + std::string(name) + "\" here; there are " + known;
}

const std::string& target_error() {
  static const std::string error = apply_environment();
  return error;
}

void apply_target_cap() { static_cast<void>(target_error()); }

}  // namespace topos::kernels

#endif  // HWY_ONCE

#pragma once

/// \file
/// Tests do less where the build is slow.

namespace topos::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr int slowness = 20;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int slowness = 8;
#else
inline constexpr int slowness = 1;
#endif

}  // namespace topos::test

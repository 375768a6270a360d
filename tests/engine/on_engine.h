#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "topos/topos.h"

namespace topos::test {

/// Tests of the engine that their parameter names; skipped, saying why, where
/// it cannot run.
class OnEngine : public testing::TestWithParam<std::string> {
 protected:
  static Engine tested() { return topos::engine(GetParam()); }

  void SetUp() override {
    if (in_use().count(GetParam()) != 0) return;
    // No test may meet what another run has kept.
    ::setenv("TOPOS_CACHE_DIR", "", 1);
    Tape tape;
    const Network nothing = tape.seal();
    try {
      in_use().emplace(GetParam(), tested().place(nothing, Parameters()));
    } catch (const RuntimeError& error) {
      // One that was asked for by name is no accident.
      const char* named = std::getenv(GetParam() == "xla" ? "TOPOS_PJRT_PLUGIN"
                                                          : "TOPOS_XLA_PYTHON");
      if (named != nullptr && *named != '\0') throw;
      GTEST_SKIP() << error.message();
    }
  }

  static void TearDownTestSuite() { in_use().clear(); }

 private:
  /// Placements that keep what an engine has started, so that it is started
  /// once.
  static std::map<std::string, Placement>& in_use() {
    static std::map<std::string, Placement> placements;
    return placements;
  }
};

/// What a session promises, on every engine: session_test.cpp. Which engines,
/// each program that contains it says.
class Sessions : public OnEngine {};

/// `xla-server` as GoogleTest wants it.
inline std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

}  // namespace topos::test

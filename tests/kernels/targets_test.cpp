#include "kernels/targets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace topos::kernels {
namespace {

TEST(Targets, CapByName) {
  const std::vector<std::string> names = supported_targets();
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    EXPECT_EQ(cap_target(name), "");
    EXPECT_EQ(current_target(), name);
  }
  EXPECT_EQ(cap_target(""), "");
  EXPECT_EQ(current_target(), names.front());
}

TEST(Targets, UnknownNameSaysWhatThereIs) {
  const std::string before = current_target();
  const std::string error = cap_target("AVX9");
  EXPECT_NE(error.find("AVX9"), std::string::npos);
  EXPECT_NE(error.find(supported_targets().front()), std::string::npos);
  EXPECT_EQ(current_target(), before);
}

}  // namespace
}  // namespace topos::kernels

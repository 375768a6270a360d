#include "topos/site.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "topos/error.h"

namespace topos {
namespace {

std::string caller(Site site = Site::here()) { return site.text(); }

TEST(Site, IsTheCallersLineWithoutItsFolders) {
  const int line = __LINE__ + 1;
  EXPECT_EQ(caller(), "site_test.cpp:" + std::to_string(line));
  EXPECT_EQ((Site{"/a/b.c/d.cpp", 12}).text(), "d.cpp:12");
  EXPECT_EQ((Site{"d.cpp", 12}).text(), "d.cpp:12");
  EXPECT_EQ(Site{}.text(), "");
  EXPECT_FALSE(Site{}.known());
}

TEST(Frame, TheOutermostLineCounts) {
  EXPECT_FALSE(Frame::outermost().known());
  {
    const Frame outer(Site{"user.cpp", 1});
    EXPECT_EQ(Frame::outermost().text(), "user.cpp:1");
    {
      const Frame inner(Site{"layer.cpp", 2});
      EXPECT_EQ(Frame::outermost().text(), "user.cpp:1");
    }
    EXPECT_EQ(Frame::outermost().text(), "user.cpp:1");
  }
  EXPECT_FALSE(Frame::outermost().known());
}

TEST(Frame, WithoutALineIsNone) {
  const Frame unknown(Site{});
  EXPECT_FALSE(Frame::outermost().known());
  const Frame known(Site{"user.cpp", 3});
  EXPECT_EQ(Frame::outermost().text(), "user.cpp:3");
}

TEST(Frame, EndsWhenAnErrorPassesThroughIt) {
  try {
    const Frame frame(Site{"user.cpp", 4});
    throw ShapeError("no");
  } catch (const Error&) {
    EXPECT_FALSE(Frame::outermost().known());
  }
}

TEST(Frame, BelongsToItsThread) {
  const Frame frame(Site{"user.cpp", 5});
  std::thread([] { EXPECT_FALSE(Frame::outermost().known()); }).join();
}

TEST(Error, TakesContextOnItsWayUp) {
  ShapeError error("the extents differ");
  error.add_context("a.cpp:1: add: ", "\n  left  f32[2]");
  EXPECT_STREQ(error.what(),
               "a.cpp:1: add: the extents differ\n  left  f32[2]");
}

}  // namespace
}  // namespace topos

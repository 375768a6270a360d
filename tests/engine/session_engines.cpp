// The engines of this folder keep what a session promises, to the bit.

#include <gmock/gmock.h>

#include "engine/message.h"
#include "engine/on_engine.h"

namespace topos::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Engines, Sessions,
                         testing::Values("interpreter", "native"), test_name);

TEST(Engines, AreFoundByName) {
  for (const std::string& name : engine_names()) {
    EXPECT_EQ(topos::engine(name).name(), name);
  }
  EXPECT_EQ(message_of<UsageError>([] { topos::engine("nope"); }),
            "there is no engine \"nope\"; present are interpreter, native, "
            "xla, xla-server");
  EXPECT_THAT(engine_names(), testing::ElementsAre("interpreter", "native",
                                                   "xla", "xla-server"));
}

TEST(Engines, RefusePlacementsOfOthers) {
  Tape tape;
  const Network network = tape.seal();
  const Placement placement = native::engine().place(network, Parameters());
  EXPECT_EQ(message_of<UsageError>([&] { interpreter::open(placement); }),
            "open: the placement is the engine native's, not interpreter's");
  EXPECT_EQ(message_of<UsageError>(
                [&] { native::open(network, SessionOptions{.threads = -1}); }),
            "open: the number of threads is negative");
}

}  // namespace
}  // namespace topos::test

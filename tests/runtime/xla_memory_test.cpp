// Carried state stays where it is: what is donated, and what XLA copies.

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "engine/builds.h"
#include "engine/on_engine.h"
#include "runtime/makemore_step.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

class XlaMemory : public OnEngine {};
INSTANTIATE_TEST_SUITE_P(Engines, XlaMemory,
                         testing::Values("xla", "xla-server"), test_name);

/// What XLA's compiler says of a plan, read from `describe`.
struct Memory {
  std::int64_t arguments = -1, results = -1, donated = -1, temporary = -1;
};

Memory memory_of(Session& session, const Plan& plan) {
  const std::string text = session.describe(plan);
  const std::size_t line = text.find("arguments ");
  Memory m;
  long long a = -1, r = -1, d = -1, t = -1;
  if (line == std::string::npos ||
      std::sscanf(text.c_str() + line,
                  "arguments %lld bytes, results %lld bytes, of which %lld in "
                  "donated arguments, temporary %lld bytes",
                  &a, &r, &d, &t) != 4) {
    ADD_FAILURE() << "no memory statistics in " << text.substr(0, 300);
  }
  m = {a, r, d, t};
  EXPECT_EQ(static_cast<std::int64_t>(session.report(plan).peak_bytes),
            m.temporary);
  return m;
}

/// Of the process in which an engine works.
std::int64_t resident_bytes(const Engine& engine) {
  const std::string text = engine.description();
  const std::size_t at = text.rfind("process ");
  const std::string process =
      at == std::string::npos ? "self"
                              : text.substr(at + 8, text.rfind(')') - at - 8);
  std::ifstream file("/proc/" + process + "/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST_P(XlaMemory, ATrainingStepUpdatesItsParametersInPlace) {
  const MakemoreStep m(32);
  Session session = tested().open(*m.network);
  const Memory memory = memory_of(session, *m.train);
  std::int64_t carried = 0;
  for (const auto& item : m.network->parameters().items()) {
    carried += static_cast<std::int64_t>(item.type.size_bytes());
  }
  EXPECT_EQ(memory.donated, carried);
  // The table of what lives where is all that results need beside them.
  EXPECT_LE(memory.results, carried + 256);
  EXPECT_LT(memory.temporary, 64 << 10);
}

TEST_P(XlaMemory, AThousandStepsKeepTheirMemory) {
  const MakemoreStep m(32);
  Session session = tested().open(*m.network);
  const auto feeds = m.feeds(1);
  double loss = 0;
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      loss = session.step(*m.train, feeds).scalar(m.loss);
    }
  };
  steps(100);
  const std::int64_t before = resident_bytes(tested());
  EXPECT_GT(before, 0);
  steps(1000);
  // A leak of the parameters alone would be 10 MiB.
  if (slowness == 1) {
    EXPECT_LT(resident_bytes(tested()) - before, 4 << 20);
  }
  EXPECT_LT(loss, 2.5);
}

/// One row of a [heads, length, 64] cache is written, and the new cache read.
struct Cache {
  static constexpr std::int64_t heads = 12, width = 64;

  enum class Write { scatter, select };
  enum class Read { nothing, product };

  Cache(std::int64_t length, Write write, Read read) {
    Tape tape;
    cache = tape.input("cache", f32, {heads, length, width});
    position = tape.input("position", i32, {1});
    row = tape.input("row", f32, {heads, 1, width});
    Value next = cache;
    if (write == Write::scatter) {
      next = scatter_add(cache, position, row, {1, 0});
    } else {
      const Value at = tape.constant(iota(length));
      const Value here = reshape(equal(at, position), {1, length, 1});
      next = select(broadcast(here, cache.shape()),
                    broadcast(row, cache.shape()), cache);
    }
    result =
        read == Read::nothing ? row + 1 : matmul(row, permute(next, {0, 2, 1}));
    bytes = static_cast<std::int64_t>(cache.type().size_bytes());
    network.emplace(tape.seal());
    plan.emplace(network->lower(Entry().result(result).carry(cache, next)));
  }

  static Tensor iota(std::int64_t length) {
    std::vector<std::int32_t> elements;
    for (std::int64_t i = 0; i < length; ++i) {
      elements.push_back(static_cast<std::int32_t>(i));
    }
    return Tensor({length}, elements);
  }

  Value cache, position, row, result;
  std::int64_t bytes = 0;
  std::optional<Network> network;
  std::optional<Plan> plan;
};

TEST_P(XlaMemory, ACacheIsWrittenInPlace) {
  using Write = Cache::Write;
  using Read = Cache::Read;
  for (const Write write : {Write::scatter, Write::select}) {
    for (const Read read : {Read::nothing, Read::product}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(write) << ", "
                                      << static_cast<int>(read));
      const Cache c(1024, write, read);
      Session session = tested().open(*c.network);
      const Memory memory = memory_of(session, *c.plan);
      EXPECT_EQ(memory.donated, c.bytes);
      EXPECT_LT(memory.temporary, c.bytes / 32) << "no room for a copy";

      Session plain = interpreter::open(*c.network);
      const Tensor rows = cast(Random(5).tensor({12, 3, 64}, -1, 1), f32);
      for (const int at : {0, 1023, 512}) {
        const Feed feeds[] = {{c.position, Tensor::full({i32, {1}}, at)},
                              {c.row, rows.narrowed(1, at % 3, 1)}};
        plain.step(*c.plan, feeds);
        session.step(*c.plan, feeds);
      }
      EXPECT_TRUE(bits_equal(session.state(c.cache), plain.state(c.cache)));
    }
  }
}

}  // namespace
}  // namespace topos::test

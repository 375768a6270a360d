// The end of a recording and its going on: sealed networks, symbols, reopened
// tapes and the plans lowered before.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "graph/errors.h"
#include "support/tensors.h"
#include "topos/engine.h"
#include "topos/network.h"
#include "topos/plan.h"
#include "topos/tape.h"

namespace topos {
namespace {

using test::HasBitsOf;
using test::message_of;
using test::tensor;

TEST(Seal, KeepsSymbolsForEver) {
  Tape tape;
  const Value x = tape.input("x", f64, {});
  const Value y = x * x;
  const Symbol before = y;
  const Network network = tape.seal();
  EXPECT_EQ(Symbol(y), before);
  EXPECT_EQ(network.type(y), (Type{f64, {}}));
  EXPECT_EQ(network.evaluate(y, {{x, 3}}).item(), 9);
  EXPECT_EQ(network.symbol("x"), x.symbol());
}

TEST(Seal, OfAnEmptyTape) {
  Tape tape;
  const Network network = tape.seal();
  EXPECT_EQ(network.size(), 0u);
  EXPECT_EQ(network.describe(), "");
  EXPECT_TRUE(network.inputs().empty());
}

TEST(Reopen, RecordsOnUnderTheSameId) {
  Tape tape;
  const Value x = tape.input("x", f64, {2});
  const Value w = tape.parameter("w", tensor("f64[2]{3 4}"));
  const Value loss = sum(w * tanh(x));
  Network network = tape.seal();
  const std::string before = network.describe();

  Tape again(std::move(network));
  EXPECT_EQ(again.describe(), before);
  EXPECT_EQ(loss.type(), (Type{f64, {}})) << "old values are live again";
  const auto gradients = again.gradients(loss);
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(gradients[0].parameter, w);
  EXPECT_EQ(gradients[0].gradient.symbol().tape, x.symbol().tape);
  const Value more = loss * 2;
  EXPECT_THAT(message_of<UsageError>([&] { again.input("x", f64, {}); }),
              testing::HasSubstr("the name \"x\" is taken by %0"));

  const Network sealed = again.seal();
  EXPECT_EQ(sealed.describe().substr(0, before.size()), before);
  const Tensor at = tensor("f64[2]{0.5 0}");
  EXPECT_THAT(sealed.evaluate(gradients[0].gradient, {{x, at}}),
              HasBitsOf(tanh(at)));
  EXPECT_EQ(sealed.evaluate(more, {{x, at}}).item(),
            2 * sealed.evaluate(loss, {{x, at}}).item());
  EXPECT_THAT(sealed.parameters().of("w"), HasBitsOf(tensor("f64[2]{3 4}")));
}

TEST(Reopen, GoesOnWithTheNumbersThatAreThere) {
  Tape tape;
  const Value x = tape.input("x", f32, {2});
  const Value y = tape.input("y", f32, {3});
  x + 2;
  Tape again(tape.seal());
  const std::size_t before = again.size();
  x * 2;
  EXPECT_EQ(again.size(), before + 1) << "the constant and its broadcast stay";
  y * 2;
  EXPECT_EQ(again.size(), before + 3) << "one more shape";
  x * -2;
  EXPECT_EQ(again.size(), before + 6) << "another number";
  // A call that fails takes nothing away that was there.
  message_of<ShapeError>([&] { x + y; });
  EXPECT_EQ(again.size(), before + 6);
  x - 2;
  EXPECT_EQ(again.size(), before + 7);
}

TEST(Reopen, NeedsTheOnlyHandle) {
  Tape tape;
  const Value x = tape.input("x", f64, {});
  Network network = tape.seal();
  {
    const Network second = network;
    const int line = __LINE__ + 1;
    const auto wrong = [&] { Tape(std::move(network)); };
    EXPECT_EQ(message_of<UsageError>(wrong),
              test::at_line(__FILE__, line) +
                  "Tape(Network&&): 2 handles to this network exist, and "
                  "reopening needs the only one");
    EXPECT_EQ(network.size(), 1u) << "the handle stays as it was";
    EXPECT_EQ(second.size(), 1u);
  }
  Tape again(std::move(network));
  EXPECT_EQ((x + 1).dtype(), f64);
}

TEST(Reopen, LeavesPlansAndSessionsAsTheyWere) {
  Tape tape;
  const Value x = tape.input("x", f64, {2});
  const Value w = tape.parameter("w", tensor("f64[2]{3 4}"));
  const Value y = x * w;
  const Value next = w + 0 * x;
  Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y).carry(w, next));
  Session session = interpreter::open(network);
  Session native = native::open(network);
  const Tensor at = tensor("f64[2]{1 2}");
  EXPECT_THAT(session.step(plan, {{x, at}}).of(y),
              HasBitsOf(tensor("f64[2]{3 8}")));

  Tape again(std::move(network));
  const Value z = y + 1;
  EXPECT_THAT(session.step(plan, {{x, at}}).of(y),
              HasBitsOf(tensor("f64[2]{3 8}")));
  EXPECT_THAT(native.step(plan, {{x, at}}).of(y),
              HasBitsOf(tensor("f64[2]{3 8}")));
  EXPECT_EQ(plan.recorded_size(), 7u) << "x, w, y, 0 broadcast, 0 x, w + 0 x";

  const Network second = again.seal();
  const Plan later = second.lower(Entry().result(z));
  // The session's network did not grow: the plan reads what it knows.
  EXPECT_THAT(session.step(later, {{x, at}}).of(z),
              HasBitsOf(tensor("f64[2]{4 9}")));
  EXPECT_THAT(session.step(plan, {{x, at}}).of(y),
              HasBitsOf(tensor("f64[2]{3 8}")));
}

TEST(Reopen, KeepsLabelsWithTheirDerivatives) {
  Tape tape;
  const Value x = tape.input("x", f64, {2, 3});
  const Value loss = cross_entropy(x, tape.constant(tensor("i32[2]{0 2}")));
  Tape again(tape.seal());
  const std::size_t before = again.size();
  again.differentiate(loss, {x});
  const std::string text = again.describe();
  EXPECT_NE(text.find("scatter_add"), std::string::npos);
  EXPECT_GT(again.size(), before);
}

TEST(Reopen, AndSealManyTimes) {
  Tape tape;
  const Value x = tape.input("x", f64, {});
  Value y = x;
  for (int i = 0; i < 100; ++i) {
    y = y + 1;
    tape = Tape(tape.seal());
  }
  const Network network = tape.seal();
  EXPECT_EQ(network.size(), 102u);
  EXPECT_EQ(network.evaluate(y, {{x, 0}}).item(), 100);
}

}  // namespace
}  // namespace topos

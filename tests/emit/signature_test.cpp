// What @main takes and gives: kinds, order, names, donation and sharding.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emit/modules.h"
#include "graph/errors.h"
#include "support/tensors.h"

namespace topos::test {
namespace {

using Kind = EmittedArgument::Kind;

/// The text of a module, which says what the lists beside it say.
stablehlo_text::Module checked(const StablehloModule& module,
                               const EmitOptions& options = {}) {
  auto text = stablehlo_text::Module::parse(module.text);
  EXPECT_EQ(contradiction(module, text, options), "") << module.text;
  return text;
}

using Donations = std::vector<std::optional<std::size_t>>;

Donations donations_of(const StablehloModule& module) {
  Donations result;
  for (const auto& argument : module.arguments) {
    result.push_back(argument.donated_to);
  }
  return result;
}

TEST(Arguments, AreParametersThenInputsThenConstants) {
  Tape tape;
  const Value x = tape.input("x", f32, {1100});
  const Value table =
      tape.constant(cast(iota({i32, {1100}}, 0), f32) * 0.37f + 1.0f);
  const Value w = tape.parameter("w", f32, {1100});
  tape.parameter("unread", f32, {});
  const Value rate = tape.parameter("rate", f32, {});
  tape.input("ignored", i32, {2});
  const Value next = w - rate * (x + table);
  const Value total = sum(next);
  const Network network = tape.seal();
  const StablehloModule module =
      emit_stablehlo(network.lower(Entry().result(total).carry(w, next)));
  checked(module);
  ASSERT_EQ(module.arguments.size(), 4u);
  const auto& arguments = module.arguments;
  EXPECT_EQ(arguments[0].kind, Kind::parameter);
  EXPECT_EQ(arguments[0].symbol, w.symbol());
  EXPECT_EQ(arguments[0].name, "w");
  EXPECT_EQ(arguments[0].type, (Type{f32, {1100}}));
  EXPECT_EQ(arguments[1].symbol, rate.symbol());
  EXPECT_EQ(arguments[2].kind, Kind::input);
  EXPECT_EQ(arguments[2].symbol, x.symbol());
  EXPECT_EQ(arguments[3].kind, Kind::constant);
  EXPECT_EQ(donations_of(module),
            (Donations{1, std::nullopt, std::nullopt, std::nullopt}));
  ASSERT_EQ(module.results.size(), 2u);
  EXPECT_EQ(module.results[0].symbol, total.symbol());
  EXPECT_FALSE(module.results[0].is_carry);
  EXPECT_EQ(module.results[1].symbol, w.symbol());
  EXPECT_EQ(module.results[1].name, "w");
  EXPECT_TRUE(module.results[1].is_carry);
}

TEST(Arguments, HaveNamesOfTheirOwnInTheText) {
  const std::vector<std::string> names = {
      "a b", "a_b",   "a_b_1", "1",         "_1",          "%0",
      "0",   "größe", "日本",  "a\"b\\c",   "line\nbreak", "x.weight",
      "$a",  "-",     "a-b",   "main",      "tab\there",   "{}:,=()<>#@^",
      "x",   "X",     "%x",    "//comment", "\x01\x7f",    "tensor<2xf32>"};
  Tape tape;
  std::vector<Value> inputs;
  std::vector<Feed> feeds;
  Entry entry;
  for (const std::string& name : names) {
    inputs.push_back(tape.input(name, i32, {}));
    const Value twice = inputs.back() * 2;
    tape.name(twice, "2 " + name);
    entry.result(twice);
    feeds.emplace_back(inputs.back(), static_cast<int>(inputs.size()));
  }
  const Network network = tape.seal();
  const StablehloModule module = emit_stablehlo(network.lower(entry));
  const auto text = checked(module);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(module.arguments[i].name, names[i]);
    EXPECT_EQ(module.results[i].name, "2 " + names[i]);
  }
  // All of it is ASCII, whatever the names are.
  for (const char c : module.text) {
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F)) << static_cast<int>(c);
  }
  const auto found = text.run(arguments_of(module, {}, feeds));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].item(), 2.0 * static_cast<double>(i + 1)) << names[i];
  }
}

TEST(Results, WithoutANameAreCalledByTheirNode) {
  Tape tape;
  const Value x = tape.input("x", f32, {});
  const Value y = tanh(x);
  const Network network = tape.seal();
  const StablehloModule module =
      emit_stablehlo(network.lower(Entry().result(y)));
  checked(module);
  EXPECT_EQ(module.results[0].name, "%" + std::to_string(y.symbol().node));
}

TEST(Results, MayBeInputsConstantsAndEachOther) {
  Tape tape;
  const Value x = tape.input("x", f32, {2});
  const Value w = tape.parameter("w", Tensor({2}, {5.0f, 6.0f}));
  const Value c = tape.constant(Tensor({2}, {7.0f, 9.0f}));
  const Value y = x + w;
  const Value same = x + w;
  const Network network = tape.seal();
  const std::vector<Feed> feeds = {{x, Tensor({2}, {1.0f, 2.0f})}};
  const Entry entry =
      Entry().result(x).result(y).result(c).result(same).result(w).result(y);
  const StablehloModule module = emit_stablehlo(network.lower(entry));
  checked(module);
  ASSERT_EQ(module.results.size(), 5u);  // y once
  const auto found = run(network, entry, feeds);
  EXPECT_THAT(found[0], HasBitsOf(tensor("f32[2]{1 2}")));
  EXPECT_THAT(found[1], HasBitsOf(tensor("f32[2]{6 8}")));
  EXPECT_THAT(found[2], HasBitsOf(tensor("f32[2]{7 9}")));
  EXPECT_THAT(found[3], HasBitsOf(tensor("f32[2]{6 8}")));
  EXPECT_THAT(found[4], HasBitsOf(tensor("f32[2]{5 6}")));
}

TEST(Results, NeedNoArgument) {
  Tape tape;
  const Value y = sum(iota(tape, {i32, {5}}, 0));
  const Network network = tape.seal();
  const StablehloModule module =
      emit_stablehlo(network.lower(Entry().result(y)));
  EXPECT_TRUE(checked(module).arguments().empty());
  EXPECT_THAT(run(network, Entry().result(y), {})[0],
              HasBitsOf(tensor("i32[]{10}")));
}

TEST(Carries, SwapStayAndShare) {
  Tape tape;
  const Value a = tape.input("a", f32, {});
  const Value b = tape.input("b", f32, {});
  const Value stays = tape.input("stays", f32, {});
  const Value c = tape.input("c", f32, {});
  const Value d = tape.input("d", f32, {});
  const Value next = c * d;
  const Network network = tape.seal();
  Entry entry;
  entry.result(a)
      .result(next)
      .carry(b, a)
      .carry(a, b)
      .carry(stays, stays)
      .carry(c, next)
      .carry(d, next);
  const StablehloModule module = emit_stablehlo(network.lower(entry));
  checked(module);
  // By argument: the carries are results 2 to 6, in the order of the entry.
  EXPECT_EQ(donations_of(module), (Donations{3, 2, 4, 5, 6}));
  std::vector<Feed> feeds;
  for (const Value& x : {a, b, stays, c, d}) {
    feeds.emplace_back(x, static_cast<float>(feeds.size() + 1));
  }
  std::vector<double> found;
  for (const Tensor& x : run(network, entry, feeds)) found.push_back(x.item());
  EXPECT_EQ(found, (std::vector<double>{1, 20, 1, 2, 3, 20, 20}));
  EXPECT_EQ(module.results[2].symbol, b.symbol());
  EXPECT_EQ(module.results[3].symbol, a.symbol());
}

TEST(Partitions, SplitTheInputsThatTheyDivide) {
  Tape tape;
  const Value batch = tape.input("batch", f32, {8, 3});
  const Value labels = tape.input("labels", i32, {4});
  const Value odd = tape.input("odd", f32, {6, 3});
  const Value scalar = tape.input("scalar", f32, {});
  const Value none = tape.input("none", f32, {0, 3});
  const Value state = tape.input("state", f32, {8, 3});
  const Value w = tape.parameter("w", f32, {8, 3});
  const Value y =
      sum(batch * w * scalar) + sum(odd) + sum(none) + sum(cast(labels, f32));
  const Value next = state + batch;
  const Network network = tape.seal();
  const EmitOptions options{.partitions = 4};
  const StablehloModule module = emit_stablehlo(
      network.lower(Entry().result(y).carry(state, next)), options);
  const auto text = checked(module, options);
  std::vector<std::string> split;
  for (const auto& argument : module.arguments) {
    if (argument.is_split) split.push_back(argument.name);
  }
  EXPECT_EQ(split, (std::vector<std::string>{"batch", "labels"}));
  EXPECT_EQ(text.arguments()[1].sharding, "[{device}, {}]");
  EXPECT_EQ(text.arguments()[2].sharding, "[{device}]");
  EXPECT_NE(module.text.find("mhlo.num_partitions = 4 : i32"),
            std::string::npos);
  const Plan plan = network.lower(Entry().result(y));
  for (const int wrong : {0, -1}) {
    const int line = __LINE__ + 2;
    const std::string message = message_of<UsageError>(
        [&] { emit_stablehlo(plan, {.partitions = wrong}); });
    EXPECT_EQ(message, at_line(__FILE__, line) + "emit_stablehlo: " +
                           std::to_string(wrong) + " partitions are too few");
  }
}

TEST(Held, InputsAreWholeAndTheirIndicesAreChecked) {
  Tape tape;
  const Value table = tape.input("table", f32, {8, 3});
  const Value ids = tape.input("ids", i32, {4});
  const Value y = gather(table, ids);
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  EmitOptions options{.partitions = 2, .check_indices = true};
  const auto check = [&](bool table_split, bool ids_split, std::size_t checks) {
    const StablehloModule module = emit_stablehlo(plan, options);
    EXPECT_EQ(module.arguments.at(0).is_split, table_split);
    EXPECT_EQ(module.arguments.at(1).is_split, ids_split);
    ASSERT_EQ(module.index_checks.size(), checks);
    EXPECT_EQ(module.results.size(), 1 + checks);
    for (const auto& made : module.index_checks) EXPECT_EQ(made.extent, 8);
  };
  check(true, true, 0);
  options.held = {table};
  check(false, true, 0);
  options.held = {ids};
  check(true, false, 1);
  // Without the check asked for, it is only whole.
  options.check_indices = false;
  check(true, false, 0);
  options.held = {ids, y};
  EXPECT_NE(message_of<UsageError>([&] {
              emit_stablehlo(plan, options);
            }).find("is held, but no input of the plan"),
            std::string::npos);
}

TEST(Emission, GivesTheSameTextAgain) {
  const auto text = [] {
    Tape tape;
    const Value x = tape.input("x", f32, {2, 3});
    const Value w = tape.parameter("w", f32, {3, 4});
    const Value loss = sum(softmax(matmul(x, w)));
    const Value by = tape.differentiate(loss, {w})[0];
    const Value next = w - by;
    return emit_stablehlo(
               tape.seal().lower(Entry().result(loss).carry(w, next)))
        .text;
  };
  EXPECT_EQ(text(), text());
}

}  // namespace
}  // namespace topos::test

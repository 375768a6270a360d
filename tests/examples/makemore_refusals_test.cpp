#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "examples/program.h"
#include "io/temporary_folder.h"
#include "topos/topos.h"

namespace topos {
namespace {

using testing::HasSubstr;

class Refusals : public testing::Test {
 protected:
  explicit Refusals(const char* program = MAKEMORE_MLP) : program_(program) {
    write("out", "");
    write("err", "");
    write("words", repeated("word\n", 13));  // 65 samples, just enough
    write("too few", repeated("word\n", 12) + "abc\n");
    write("empty", "");
    write("blank", "\n\r\n\n");
    write("upper", "anna\nBob\n");
    write("accent", "anna\nbob\nzo\xC3\xA9\n");
    write("binary", std::string("ab\0cd", 5));
    write("latin", "ren\xE9\n");
    write("space", "mary ann\n");
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  static std::string repeated(const std::string& text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i) result += text;
    return result;
  }

  Finished makemore(const Arguments& arguments) {
    return run(folder_.path(), program_.string(), arguments);
  }

  /// One line on stderr, exit code 2, nothing printed, no file written.
  void expect_refused(const Arguments& arguments, const std::string& reason) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const auto entries = folder_.size();
    const Finished finished = makemore(arguments);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_EQ(finished.out, "");
    EXPECT_TRUE(finished.err.starts_with(program_.filename().string() + ": "))
        << finished.err;
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1)
        << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(reason));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "makemore_mlp.svg"));
    EXPECT_EQ(folder_.size(), entries);
  }

  TemporaryFolder folder_;
  std::filesystem::path program_;
};

class EmittedRefusals : public Refusals {
 protected:
  EmittedRefusals() : Refusals(MAKEMORE_MLP_EMITTED) {}
};

TEST_F(EmittedRefusals, ComeBeforeAnyTraining) {
  const struct {
    Arguments arguments;
    const char* reason;
  } rows[] = {
      {{"--no-such-option"}, "--no-such-option"},
      {{"stray"}, "stray"},
      {{"--steps", "0"}, "--steps: 0 is not a whole number from 1 to 1000000"},
      {{"--seed", "-1"}, "--seed: -1 is not a whole number"},
      {{"--engine", "native"}, "--engine: native not in {xla,xla-server}"},
      {{"--devices", "0"}, "--devices: 0 is not a whole number from 1 to 64"},
      {{"--devices", "two"}, "--devices: two is not a whole number"},
      {{"--json", ""}, "--json"},
      {{"--corpus", "words", "--json", "words"}, "are the same file"},
      {{"--corpus", "nowhere"}, "nowhere: "},
      {{"--corpus", "upper"}, "upper:2: 'B' is not a letter from a to z"},
      {{"--corpus", "too few"}, "too few: 64 samples are too few"},
      {{"--corpus", "words", "--json", "/no/such/folder/file"},
       "/no/such/folder/file: "},
      {{"--corpus", "words", "--json", "."}, ".: "},
  };
  for (const auto& [arguments, reason] : rows) {
    expect_refused(arguments, reason);
  }
}

TEST_F(Refusals, WrongOptions) {
  const struct {
    Arguments arguments;
    const char* reason;
  } rows[] = {
      {{"--no-such-option"}, "--no-such-option"},
      {{"stray"}, "stray"},
      {{"--steps"}, "--steps"},
      {{"--steps", "0"}, "--steps: 0 is not a whole number from 1 to 1000000"},
      {{"--steps", "-5"}, "--steps"},
      {{"--steps", "many"}, "--steps"},
      {{"--steps", "1.5"}, "--steps"},
      {{"--steps", "010"}, "--steps: 010 is not a whole number"},
      {{"--steps", "0x10"}, "--steps: 0x10 is not a whole number"},
      {{"--steps", "1_0"}, "--steps: 1_0 is not a whole number"},
      {{"--threads", "01"}, "--threads: 01 is not a whole number"},
      {{"--compare", "010"}, "--compare: 010 is not a whole number"},
      {{"--steps", "99999999999999999999"}, "--steps"},
      {{"--steps", "5", "--steps", "6"}, "--steps"},
      {{"--seed", "-1"}, "--seed: -1 is not a whole number"},
      {{"--seed", "18446744073709551616"}, "--seed"},
      {{"--seed", "seven"}, "--seed"},
      {{"--seed", "010"}, "--seed: 010 is not a whole number"},
      {{"--resume=3"}, "resume was given a disallowed flag override"},
      {{"--threads", "-1"}, "--threads"},
      {{"--threads", "100000"}, "--threads"},
      {{"--engine", "interpreter", "--profile", "trace"},
       "--profile: the engine interpreter takes no times"},
      {{"--engine", "tpu"}, "--engine: tpu not in {interpreter,native,xla"},
      {{"--compare", "-1"}, "--compare"},
      {{"--json", ""}, "--json"},
      {{"--svg", ""}, "--svg"},
      {{"--corpus", ""}, "--corpus"},
      {{"--checkpoint", ""}, "--checkpoint"},
      {{"--json", "a", "--svg", "./a"}, "--json and --svg are the same file"},
      {{"--json", "a", "--checkpoint", "a"}, "are the same file"},
      {{"--corpus", "words", "--json", "words"}, "are the same file"},
  };
  for (const auto& [arguments, reason] : rows) {
    expect_refused(arguments, reason);
  }
  EXPECT_EQ(text_of(folder_ / "words"), repeated("word\n", 13));
}

TEST_F(Refusals, UnusableCorpora) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const struct {
    const char* corpus;
    const char* reason;
  } rows[] = {
      {"nowhere", "nowhere: "},
      {".", ".: is not a regular file"},
      {"/dev/zero", "/dev/zero: is not a regular file"},
      {"pipe", "pipe: is not a regular file"},
      {"empty", "empty: there is no word in it"},
      {"blank", "blank: there is no word in it"},
      {"upper", "upper:2: 'B' is not a letter from a to z"},
      {"accent", "accent:3: '\xC3\xA9' (U+00E9) is not a letter from a to z"},
      {"binary", "binary:1: byte 0x00 is not a letter from a to z"},
      {"latin", "latin:1: byte 0xE9 is not a letter from a to z"},
      {"space", "space:1: ' ' is not a letter from a to z"},
      {"too few", "too few: 64 samples are too few"},
  };
  for (const auto& [corpus, reason] : rows) {
    expect_refused({"--corpus", corpus, "--steps", "1"}, reason);
  }
}

TEST_F(Refusals, AnUnknownTarget) {
  ::setenv("TOPOS_TARGET", "bogus", 1);
  for (const char* engine : {"native", "interpreter"}) {
    expect_refused(
        {"--corpus", "words", "--steps", "1", "--engine", engine},
        "makemore_mlp: open: TOPOS_TARGET: no target \"bogus\" here");
  }
  ::unsetenv("TOPOS_TARGET");
}

TEST_F(Refusals, OutputsThatCannotBeWritten) {
  for (const char* option : {"--json", "--svg", "--checkpoint"}) {
    for (const char* file : {"/no/such/folder/file", "."}) {
      expect_refused({"--corpus", "words", "--steps", "1", option, file},
                     std::string(file) + ": ");
    }
  }
}

TEST_F(Refusals, ForeignCheckpoints) {
  const auto checkpoint_with = [&](const std::string& name,
                                   const Metadata& changes) {
    ASSERT_EQ(makemore({"--corpus", "words", "--compare", "0", "--steps", "4",
                        "--checkpoint", name, "--svg", "x"})
                  .exit_code,
              0);
    TensorFile file = read_safetensors(folder_ / name);
    for (const auto& [key, value] : changes) file.metadata[key] = value;
    write_safetensors(folder_ / name, file.tensors, file.metadata);
  };
  checkpoint_with("good", {});
  checkpoint_with("program", {{"program", "gpt2"}});
  checkpoint_with("recipe", {{"recipe", "batch 32"}});
  checkpoint_with("step", {{"step", "-1"}});
  checkpoint_with("losses", {{"losses", "1 2 3"}});
  checkpoint_with("words in losses", {{"losses", "1 2 3 four"}});
  checkpoint_with("seed", {{"seed", "7x"}});

  TensorFile file = read_safetensors(folder_ / "good");
  const Metadata metadata = file.metadata;
  write_safetensors(folder_ / "plain", file.tensors);
  file.tensors[0].tensor = Tensor::zeros({f32, {27, 11}});
  write_safetensors(folder_ / "shapes", file.tensors, metadata);
  file.tensors.erase(file.tensors.begin());
  write_safetensors(folder_ / "missing", file.tensors, metadata);
  std::string bytes = text_of(folder_ / "good");
  bytes.pop_back();
  write("cut", bytes);

  const auto resume = [](const std::string& checkpoint) {
    return Arguments{"--corpus", "words",        "--steps", "9",
                     "--resume", "--checkpoint", checkpoint};
  };
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  expect_refused(resume("nowhere"), "nowhere: ");
  expect_refused(resume("pipe"), "pipe: is not a regular file");
  expect_refused(resume("/dev/zero"), "/dev/zero: is not a regular file");
  expect_refused(resume("words"), "words");
  expect_refused(resume("upper"), "upper: ");
  expect_refused(resume("cut"), "cut: ");
  expect_refused(resume("plain"), "plain: not a checkpoint of makemore_mlp");
  expect_refused(resume("program"),
                 "not a checkpoint of makemore_mlp, but of "
                 "gpt2");
  expect_refused(resume("recipe"), "trained by another recipe, batch 32");
  expect_refused(resume("step"), "\"step\" makes no sense");
  expect_refused(resume("losses"), "\"losses\" makes no sense");
  expect_refused(resume("words in losses"), "\"losses\" makes no sense");
  expect_refused(resume("seed"), "\"seed\" makes no sense");
  expect_refused(resume("shapes"), "embedding.weight");
  expect_refused(resume("missing"), "embedding.weight");

  write("other words", repeated("other\n", 13));
  expect_refused({"--corpus", "other words", "--steps", "9", "--resume",
                  "--checkpoint", "good"},
                 "trained on other words");
  expect_refused(
      {"--corpus", "words", "--steps", "3", "--resume", "--checkpoint", "good"},
      "is at step 4 already, beyond --steps 3");
  expect_refused({"--corpus", "words", "--steps", "9", "--seed", "7",
                  "--resume", "--checkpoint", "good"},
                 "without --seed");

  // A new run does not write over what is not its own, either.
  const auto anew = [](const std::string& checkpoint) {
    return Arguments{"--corpus", "words",        "--steps",
                     "9",        "--checkpoint", checkpoint};
  };
  expect_refused(anew("upper"), "upper: this is no safetensors file");
  expect_refused(anew("plain"), "plain: this is a safetensors file of another");
  expect_refused(anew("program"), "program: this is a checkpoint of gpt2");
  EXPECT_EQ(text_of(folder_ / "upper"), "anna\nBob\n");

  const Finished finished = makemore(resume("good"));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

}  // namespace
}  // namespace topos

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "environment.h"
#include "io/temporary_folder.h"
#include "runtime/executable_cache.h"
#include "with_plugin.h"

namespace topos::runtime {
namespace {

namespace fs = std::filesystem;

const Tensor ones({4}, {1.0f, 1.0f, 1.0f, 1.0f});
constexpr const char* folder_variable = "TOPOS_TEST_CACHE";

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> out;
  if (!fs::exists(folder / "programs")) return out;
  for (const auto& entry : fs::directory_iterator(folder / "programs")) {
    out.push_back(entry.path());
  }
  return out;
}

// The two parts of a file behind its 16 bytes of magic: sizes, a checksum,
// then the key and the program.
std::pair<std::string, std::string> key_and_program(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::uint64_t key_size = 0;
  std::memcpy(&key_size, bytes.data() + 16, sizeof(key_size));
  return {bytes.substr(40, key_size), bytes.substr(40 + key_size)};
}

// A program that comes from the cache is made to tell: under the key of one
// text lies the program of another.
class PjrtCache : public WithPlugin {
 protected:
  float add_one(const fs::path& folder) {
    client_ = make_client(1, folder);
    const auto program = client_->compile(add_text("1.0"), add_signature(), {});
    return run(*program, add_signature(), {ones})[0].at<float>({0});
  }

  // Compiles `x + 1` and puts the program `x + 2` in its place.
  fs::path swap_programs(const TemporaryFolder& folder) {
    EXPECT_EQ(add_one(folder.path()), 2);
    const auto files = files_in(folder.path());
    EXPECT_EQ(files.size(), 1U);
    const TemporaryFolder other;
    make_client(1, other.path())->compile(add_text("2.0"), add_signature(), {});
    const std::string key = key_and_program(files.at(0)).first;
    ExecutableCache(folder.path())
        .store(key, key_and_program(files_in(other.path()).at(0)).second);
    EXPECT_EQ(files_in(folder.path()).size(), 1U);
    return files.at(0);
  }
};

TEST_F(PjrtCache, AHitIsNotCompiled) {
  const TemporaryFolder folder;
  swap_programs(folder);
  EXPECT_EQ(add_one(folder.path()), 3);
}

TEST_F(PjrtCache, TextAndOptionsAreInTheKey) {
  const TemporaryFolder folder;
  swap_programs(folder);
  client_ = make_client(1, folder.path());
  const auto compile = [&](const std::string& text,
                           const CompileOptions& options) {
    const auto program = client_->compile(text, add_signature(), options);
    return run(*program, add_signature(), {ones})[0].at<float>({0});
  };
  EXPECT_EQ(compile(add_text("1.0") + " ", {}), 2);
  CompileOptions options;
  options.overrides["xla_cpu_enable_fast_min_max"] = true;
  EXPECT_EQ(compile(add_text("1.0"), options), 2);
  EXPECT_EQ(files_in(folder.path()).size(), 3U);
}

TEST_F(PjrtCache, WhatIsBrokenIsCompiledAnewAndReplaced) {
  const TemporaryFolder folder;
  const fs::path file = swap_programs(folder);
  const auto size = fs::file_size(file);
  fs::resize_file(file, size / 2);
  EXPECT_EQ(add_one(folder.path()), 2);
  EXPECT_GT(fs::file_size(file), size / 2);

  // Whole, and yet nothing that the plugin can load.
  const std::string key = key_and_program(file).first;
  ExecutableCache(folder.path()).store(key, "no program");
  EXPECT_EQ(add_one(folder.path()), 2);
  EXPECT_NE(key_and_program(file).second, "no program");
}

TEST_F(PjrtCache, AFolderThatCannotBeWrittenFailsNothing) {
  EXPECT_EQ(add_one("/proc/no/such/folder"), 2);
}

TEST_F(PjrtCache, WhatIsLoadedKnowsItsMemoryAndDonates) {
  const TemporaryFolder folder;
  for (int round = 0; round < 2; ++round) {
    client_ = make_client(1, folder.path());
    const auto program =
        client_->compile(add_text("1.0", true), add_signature(true), {});
    ASSERT_TRUE(program->memory());
    EXPECT_EQ(program->memory()->alias_bytes, 16);
    const auto buffer = put(ones);
    const std::uintptr_t address = device_address(*buffer);
    std::vector<Buffer*> arguments = {buffer.get()};
    const auto results = program->execute(arguments);
    EXPECT_EQ(device_address(*results[0]), address);
    EXPECT_EQ(files_in(folder.path()).size(), 1U);
  }
}

// Run by the next test, in a process of its own.
TEST_F(PjrtCache, DISABLED_RunsWhatAnotherProcessKept) {
  const char* folder = std::getenv(folder_variable);
  ASSERT_NE(folder, nullptr);
  EXPECT_EQ(add_one(folder), 3);
}

TEST_F(PjrtCache, AnotherProcessFindsIt) {
  const TemporaryFolder folder;
  swap_programs(folder);
  const EnvironmentVariable tell(folder_variable, folder.path().string());
  const std::string command = fmt::format(
      "{} --gtest_also_run_disabled_tests "
      "--gtest_filter=PjrtCache.DISABLED_RunsWhatAnotherProcessKept "
      "> {}",
      fs::read_symlink("/proc/self/exe").string(),
      (folder / "output").string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream output(folder / "output");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(output), {}),
              testing::HasSubstr("[       OK ] PjrtCache.DISABLED_Runs"));
}

}  // namespace
}  // namespace topos::runtime

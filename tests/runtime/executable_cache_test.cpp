#include "runtime/executable_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "environment.h"
#include "io/temporary_folder.h"

namespace topos::runtime {
namespace {

namespace fs = std::filesystem;
using testing::Eq;
using testing::HasSubstr;
using testing::Optional;

fs::path only_file(const TemporaryFolder& folder) {
  const fs::directory_iterator files(folder / "programs");
  EXPECT_EQ(std::distance(files, {}), 1);
  return fs::directory_iterator(folder / "programs")->path();
}

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void overwrite(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// Longer than the blocks that checksums step by, and with a zero byte.
const std::string program =
    std::string("machine code, more of it than fits a block of 32 bytes") +
    '\0' + "end";

TEST(ExecutableCache, GivesBackWhatItGot) {
  const TemporaryFolder folder;
  const ExecutableCache cache(folder.path());
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.store("key", program);
  EXPECT_THAT(cache.load("key"), Optional(Eq(program)));
  EXPECT_EQ(cache.load("kez"), std::nullopt);
  cache.store("key", "newer");
  EXPECT_THAT(cache.load("key"), Optional(Eq("newer")));
  EXPECT_THAT(ExecutableCache(folder.path()).load("key"),
              Optional(Eq("newer")));
}

TEST(ExecutableCache, EveryTruncationAndEveryFlippedByteIsAMiss) {
  const TemporaryFolder folder;
  const ExecutableCache cache(folder.path());
  cache.store("key", program);
  const fs::path file = only_file(folder);
  const std::string whole = content(file);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    overwrite(file, whole.substr(0, size));
    EXPECT_EQ(cache.load("key"), std::nullopt) << size << " bytes";
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    overwrite(file, flipped);
    EXPECT_EQ(cache.load("key"), std::nullopt) << "byte " << at;
  }
  overwrite(file, whole + "more");
  EXPECT_EQ(cache.load("key"), std::nullopt);

  cache.store("key", program);  // and all is well again
  EXPECT_THAT(cache.load("key"), Optional(Eq(program)));
}

// As after a collision of names, or an upgrade of the compiler.
TEST(ExecutableCache, AFileOfAnotherKeyUnderTheNameIsAMiss) {
  const TemporaryFolder folder;
  const ExecutableCache cache(folder.path());
  cache.store("key", program);
  const fs::path file = only_file(folder);
  std::string foreign = content(file);
  foreign.replace(foreign.find("key"), 3, "old");
  overwrite(file, foreign);
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST(ExecutableCache, AFileThatOthersMayWriteIsNotRun) {
  const TemporaryFolder folder;
  const ExecutableCache cache(folder.path());
  cache.store("key", program);
  const fs::path file = only_file(folder);
  for (const fs::perms others :
       {fs::perms::others_write, fs::perms::group_write}) {
    fs::permissions(file, others, fs::perm_options::add);
    EXPECT_EQ(cache.load("key"), std::nullopt);
    cache.store("key", program);
    EXPECT_THAT(cache.load("key"), Optional(Eq(program)));
  }
}

TEST(ExecutableCache, ItsFolderAndFilesAreTheOwnersAlone) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0);
  ExecutableCache(folder.path()).store("key", program);
  ::umask(before);
  EXPECT_EQ(fs::status(only_file(folder)).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(folder / "programs").permissions(),
            fs::perms::owner_all);
}

TEST(ExecutableCache, AFolderThatCannotBeKeepsNothingAndSaysNothing) {
  const TemporaryFolder folder;
  overwrite(folder / "file", "in the way");
  const ExecutableCache cache(folder / "file");
  cache.store("key", program);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  const ExecutableCache full("/dev/full");
  full.store("key", program);
  EXPECT_EQ(full.load("key"), std::nullopt);
}

TEST(ExecutableCache, WithoutAFolderItIsOff) {
  const ExecutableCache cache("");
  EXPECT_FALSE(cache.on());
  cache.store("key", program);
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST(ExecutableCache, TheFolderIsOursThenTheDesktopsThenHome) {
  const EnvironmentVariable own("TOPOS_CACHE_DIR", "/own");
  const EnvironmentVariable xdg("XDG_CACHE_HOME", "/xdg");
  const EnvironmentVariable home("HOME", "/home/someone");
  EXPECT_EQ(default_cache_folder(), "/own");
  {
    const EnvironmentVariable off("TOPOS_CACHE_DIR", "");
    EXPECT_EQ(default_cache_folder(), "");
  }
  const EnvironmentVariable no_own("TOPOS_CACHE_DIR", std::nullopt);
  EXPECT_EQ(default_cache_folder(), "/xdg/topos");
  const EnvironmentVariable no_xdg("XDG_CACHE_HOME", std::nullopt);
  EXPECT_EQ(default_cache_folder(), "/home/someone/.cache/topos");
  const EnvironmentVariable no_home("HOME", std::nullopt);
  EXPECT_EQ(default_cache_folder(), "");
}

TEST(CompilerIdentity, ChangesWithThePluginsFileAndXlasVariables) {
  const TemporaryFolder folder;
  overwrite(folder / "one.so", std::string(100, 'a'));
  overwrite(folder / "two.so", std::string(99, 'a') + "b");
  overwrite(folder / "same.so", std::string(100, 'a'));
  const auto time = fs::last_write_time(folder / "one.so");
  for (const char* name : {"two.so", "same.so"}) {
    fs::last_write_time(folder / name, time);
  }
  const std::string one = compiler_identity(folder / "one.so").value();
  EXPECT_EQ(compiler_identity(folder / "same.so"), one);
  EXPECT_NE(compiler_identity(folder / "two.so"), one);
  overwrite(folder / "later.so", std::string(100, 'a'));
  fs::last_write_time(folder / "later.so", time + std::chrono::seconds(1));
  EXPECT_NE(compiler_identity(folder / "later.so"), one);
  EXPECT_EQ(compiler_identity(folder / "none.so"), std::nullopt);
  const EnvironmentVariable flags("XLA_FLAGS", "--xla_something");
  EXPECT_NE(compiler_identity(folder / "one.so"), one);
  EXPECT_THAT(one, testing::AnyOf(HasSubstr("flags"), HasSubstr("Features")));
}

}  // namespace
}  // namespace topos::runtime

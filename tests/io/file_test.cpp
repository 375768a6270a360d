// Files as such: what is written replaces the old content whole or not at all.

#include "io/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "io/temporary_folder.h"
#include "topos/error.h"
#include "topos/io.h"

namespace topos {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

unsigned mode_of(const std::filesystem::path& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777u;
}

/// A disk that is full after so many bytes, for as long as it lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_DFL);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
};

TEST(ReadFile, GivesAllBytes) {
  const TemporaryFolder folder;
  std::string content;
  for (int i = 0; i < 200'000; ++i) content += static_cast<char>(i * 7);
  write_file_atomically(folder / "x", content);
  EXPECT_EQ(read_file(folder / "x"), content);
  write_file_atomically(folder / "x", "");
  EXPECT_EQ(read_file(folder / "x"), "");
  // A file that tells no size.
  EXPECT_NE(read_file("/proc/self/status"), "");
}

/// Waits for no writer and for no end.
TEST(ReadFile, TakesRegularFilesAlone) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path :
       {pipe, folder.path().string(), std::string("/dev/zero"),
        std::string("/dev/null")}) {
    const auto refused =
        ThrowsMessage<FileError>(StrEq(path + ": is not a regular file"));
    EXPECT_THAT([&] { read_file(path); }, refused);
    EXPECT_THAT([&] { read_safetensors(path); }, refused);
    EXPECT_THAT([&] { read_safetensors_metadata(path); }, refused);
  }
}

TEST(ReadFile, SaysWhyItCannot) {
  const TemporaryFolder folder;
  const std::string missing = folder / "missing";
  EXPECT_THAT([&] { return read_file(missing); },
              ThrowsMessage<FileError>(StrEq(
                  missing + ": cannot be opened: No such file or directory")));
  EXPECT_THAT([&] { return read_safetensors(missing); },
              ThrowsMessage<FileError>(StrEq(
                  missing + ": cannot be opened: No such file or directory")));
  EXPECT_THROW(read_safetensors(""), FileError);
}

TEST(AtomicWrite, ReplacesTheContentAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const auto path = folder / "x";
  write_file_atomically(path, "old and long");
  write_file_atomically(path, "new");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(folder.size(), 1);
  check_writable(path);
  check_writable(folder / "y");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(folder.size(), 1);
}

TEST(AtomicWrite, WritesIntoTheCurrentFolder) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  write_file_atomically("x", "here");
  std::filesystem::current_path(before);
  EXPECT_EQ(read_file(folder / "x"), "here");
}

TEST(AtomicWrite, KeepsPermissionsAndTakesTheUsualOnes) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  write_file_atomically(folder / "x", "new");
  ::umask(before);
  EXPECT_EQ(mode_of(folder / "x"), 0640u);
  ::chmod((folder / "x").c_str(), 0604);
  write_file_atomically(folder / "x", "newer");
  EXPECT_EQ(mode_of(folder / "x"), 0604u);
}

TEST(AtomicWrite, FollowsALink) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "run");
  write_file_atomically(folder / "run/x", "old");
  std::filesystem::create_symlink("run/x", folder / "latest");
  write_file_atomically(folder / "latest", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "latest"));
  EXPECT_EQ(read_file(folder / "run/x"), "new");
  EXPECT_EQ(folder.size(), 2);
}

TEST(AtomicWrite, SaysWhyItCannot) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  const auto refused = [&](const std::filesystem::path& path,
                           const std::string& why) {
    const std::string expected = path.string() + ": cannot be written: " + why;
    EXPECT_THAT([&] { write_file_atomically(path, "new"); },
                ThrowsMessage<FileError>(StrEq(expected)));
    EXPECT_THAT([&] { check_writable(path); },
                ThrowsMessage<FileError>(StrEq(expected)));
    EXPECT_THROW(write_safetensors(path, {}), FileError);
  };
  refused(folder / "missing/x", "No such file or directory");
  refused(folder / "missing/", "No such file or directory");
  refused(folder / "file/x", "Not a directory");
  refused(folder.path(), "Is a directory");
  refused("", "No such file or directory");
  refused(folder / std::string(300, 'x'), "File name too long");
  EXPECT_EQ(read_file(folder / "file"), "old");
  EXPECT_EQ(folder.size(), 1);
}

TEST(AtomicWrite, TakesTheLongestName) {
  const TemporaryFolder folder;
  write_file_atomically(folder / std::string(255, 'x'), "new");
  EXPECT_EQ(read_file(folder / std::string(255, 'x')), "new");
}

TEST(AtomicWrite, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  write_safetensors(path, {{{"a", Tensor::scalar(1.5f)}}});
  const std::string old = read_file(path);
  const Tensor large = Tensor::zeros({f32, {100'000}});
  std::string message;
  for (rlim_t bytes : {0, 8, 100, 4096, 300'000}) {
    SCOPED_TRACE(bytes);
    {
      const FullDisk disk(bytes);
      try {
        write_safetensors(path, {{{"a", large}}});
      } catch (const FileError& error) {
        message = error.message();
      }
    }
    EXPECT_EQ(message, path.string() + ": cannot be written: File too large");
    EXPECT_EQ(read_file(path), old);
    EXPECT_EQ(folder.size(), 1);
    message.clear();
  }
}

TEST(AtomicWrite, ADeviceIsWrittenAndNotReplaced) {
  EXPECT_THAT([] { write_file_atomically("/dev/full", "new"); },
              ThrowsMessage<FileError>(
                  StrEq("/dev/full: cannot be written: No space left on "
                        "device")));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  write_file_atomically("/dev/null", "new");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicWrite, UncommittedHasNotHappened) {
  const TemporaryFolder folder;
  const auto path = folder / "x";
  write_file_atomically(path, "old");
  {
    io::AtomicFile file(path);
    file.append(std::as_bytes(std::span("new")));
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.size(), 1);
}

bool has_unnamed_files(const std::filesystem::path& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (file >= 0) ::close(file);
  return file >= 0;
}

TEST(AtomicWrite, AKilledProcessLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  if (!has_unnamed_files(folder.path())) {
    GTEST_SKIP() << "[SKIP] " << folder.path()
                 << " is on a file system without unnamed files";
  }
  const auto path = folder / "x";
  write_file_atomically(path, "old");
  const pid_t child = ::fork();
  if (child == 0) {
    io::AtomicFile file(path);
    file.append(std::vector<std::byte>(1 << 20));
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(folder.size(), 1);
}

/// To ask whether a pipe can be written waits for no reader.
TEST(AtomicWrite, IsAskedOfAPipeWithoutOpeningIt) {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  check_writable(pipe);
}

TEST(AtomicWrite, SignalsDoNotDisturbIt) {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    std::ifstream in(pipe, std::ios::binary);
    std::vector<char> block(1 << 16);
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())) ||
           in.gcount() > 0) {
      received.append(block.data(), static_cast<std::size_t>(in.gcount()));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  struct sigaction action = {};
  action.sa_handler = [](int) {};  // without SA_RESTART: calls are interrupted
  struct sigaction before = {};
  ::sigaction(SIGALRM, &action, &before);
  const itimerval every = {{0, 500}, {0, 500}};
  ::setitimer(ITIMER_REAL, &every, nullptr);
  std::string content;
  for (int i = 0; i < 2'000'000; ++i) content += static_cast<char>(i * 7);
  write_file_atomically(pipe, content);
  const itimerval never = {};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  reader.join();
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_TRUE(received == content);
}

TEST(AtomicWrite, AReaderSeesTheOldContentOrTheNew) {
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  const auto write = [&](float value) {
    const Tensor all = Tensor::full({f32, {5000}}, value);
    write_safetensors(path, {{{"a", all}}},
                      {{"value", std::to_string(static_cast<int>(value))}});
  };
  write(0);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 1; i <= 100; ++i) write(static_cast<float>(i));
    done = true;
  });
  while (!done) {
    const TensorFile file = read_safetensors(path);
    const float value = std::stof(file.metadata.at("value"));
    EXPECT_TRUE(
        bits_equal(*file.find("a"), Tensor::full({f32, {5000}}, value)));
  }
  writer.join();
  EXPECT_EQ(folder.size(), 1);
}

TEST(AtomicWrite, WritersDoNotDisturbOneAnother) {
  const TemporaryFolder folder;
  const auto path = folder / "x";
  std::vector<std::thread> writers;
  for (char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&path, letter] {
      for (int i = 0; i < 50; ++i) {
        write_file_atomically(path, std::string(10'000, letter));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string content = read_file(path);
  EXPECT_EQ(content, std::string(10'000, content.at(0)));
  EXPECT_EQ(folder.size(), 1);
}

}  // namespace
}  // namespace topos

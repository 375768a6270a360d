#include "io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "topos/error.h"
#include "topos/io.h"

namespace topos {
namespace io {

namespace {

// One system call moves at most this much; Linux itself stops at 2 GiB.
constexpr std::size_t greatest_transfer = std::size_t{1} << 30;

[[noreturn]] void refuse(const std::string& name, const char* asked,
                         int error) {
  throw FileError(fmt::format("{}: {}: {}", name, asked,
                              std::generic_category().message(error)));
}

/// Repeats a system call that a signal interrupted.
template <class F>
auto uninterrupted(F&& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

Descriptor open_to_read(const std::string& name) {
  // Not blocked by a pipe that nobody writes to: what is read has an end.
  Descriptor file(uninterrupted(
      [&] { return ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!file.open()) refuse(name, "cannot be opened", errno);
  return file;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() noexcept { return std::exchange(number_, -1); }

int Descriptor::close() noexcept {
  if (!open()) return 0;
  // Not repeated when interrupted: the number may belong to another already.
  const int result = ::close(release());
  return result == 0 || errno == EINTR ? 0 : errno;
}

InputFile::InputFile(const std::filesystem::path& path)
    : name_(path.string()), file_(open_to_read(name_)) {
  struct stat status = {};
  if (::fstat(file_.number(), &status) != 0) {
    refuse(name_, "cannot be examined", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw FileError(fmt::format("{}: is not a regular file", name_));
  }
  size_bytes_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t InputFile::read_some(std::uint64_t at,
                                 std::span<std::byte> to) const {
  const auto got = uninterrupted([&] {
    return ::pread(file_.number(), to.data(),
                   std::min(to.size(), greatest_transfer),
                   static_cast<off_t>(at));
  });
  if (got < 0) refuse(name_, "cannot be read", errno);
  return static_cast<std::size_t>(got);
}

void InputFile::read(std::uint64_t at, std::span<std::byte> to) const {
  while (!to.empty()) {
    const std::size_t got = read_some(at, to);
    if (got == 0) {
      throw FileError(
          fmt::format("{}: ends at byte {} while it is read: it had {} bytes "
                      "when it was opened",
                      name_, at, size_bytes_));
    }
    to = to.subspan(got);
    at += got;
  }
}

AtomicFile::AtomicFile(const std::filesystem::path& path, unsigned mode)
    : target_(path), mode_(mode) {
  struct stat status = {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail("cannot be written", errno);
  if (exists && S_ISDIR(status.st_mode)) fail("cannot be written", EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    // Opened when there is something to say: a pipe would be waited for here,
    // and whoever reads it would take the closing for the end.
    direct_ = true;
    if (::access(target_.c_str(), W_OK) != 0) fail("cannot be written", errno);
    return;
  }
  if (target_.filename().empty()) fail("cannot be written", ENOENT);
  std::error_code error;
  if (exists && std::filesystem::is_symlink(target_, error)) {
    target_ = std::filesystem::canonical(target_, error);
    if (error) fail("cannot be followed", error.value());
  }
  if (exists && ::access(target_.c_str(), W_OK) != 0) {
    fail("cannot be written", errno);  // a rename would not ask
  }
  folder_ = target_.has_parent_path() ? target_.parent_path() : ".";
  if (exists) mode_ = status.st_mode & 07777u;
  open_beside_target(exists);
}

void AtomicFile::open_beside_target(bool keep_mode) {
#ifdef O_TMPFILE
  // Such a file gets its name through /proc.
  if (::access("/proc/self/fd", X_OK) == 0) {
    file_ = Descriptor(uninterrupted([&] {
      return ::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode_);
    }));
  }
#endif
  if (!file_.open()) name_temporary();  // whose error then counts
  if (keep_mode && ::fchmod(file_.number(), mode_) != 0) {
    fail("cannot be given its permissions", errno);
  }
}

/// Gives the open file a name beside the target; opens it if it is not.
void AtomicFile::name_temporary() {
  static std::atomic<unsigned> count = 0;
  for (int attempt = 0;; ++attempt) {
    // Not made from the target's name, which may be as long as names can be.
    const auto candidate =
        folder_ / fmt::format(".topos-{}-{}.tmp", ::getpid(), count++);
    int result = -1;
    if (file_.open()) {
      const auto self = fmt::format("/proc/self/fd/{}", file_.number());
      result = ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, candidate.c_str(),
                        AT_SYMLINK_FOLLOW);
    } else {
      result = ::open(candidate.c_str(),
                      O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode_);
      if (result >= 0) file_ = Descriptor(result);
    }
    if (result >= 0) {
      temporary_ = candidate;
      return;
    }
    // A name left by a process of this number; any other error is final.
    if ((errno != EEXIST && errno != EINTR) || attempt == 1000) {
      fail("cannot be written", errno);
    }
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::open_direct() {
  file_ = Descriptor(uninterrupted(
      [&] { return ::open(target_.c_str(), O_WRONLY | O_CLOEXEC); }));
  if (!file_.open()) fail("cannot be written", errno);
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  if (direct_ && !file_.open()) open_direct();
  while (!bytes.empty()) {
    const auto written = uninterrupted([&] {
      return ::write(file_.number(), bytes.data(),
                     std::min(bytes.size(), greatest_transfer));
    });
    if (written < 0) fail("cannot be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (direct_) {
    if (!file_.open()) open_direct();  // a pipe's reader waits for the end
    if (const int error = file_.close()) fail("cannot be written", error);
    return;
  }
  const auto sync = [](const Descriptor& file) {
    return uninterrupted([&] { return ::fsync(file.number()); });
  };
  if (sync(file_) != 0) fail("cannot be brought to the disk", errno);
  if (temporary_.empty()) name_temporary();
  if (const int error = file_.close()) fail("cannot be written", error);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail("cannot be replaced", errno);
  }
  temporary_.clear();
  // The new name must outlive a crash, too. Where folders cannot be synced,
  // there is nothing more to do.
  Descriptor folder(
      ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.open() && sync(folder) != 0 && errno == EIO) {
    fail("is replaced, but its folder cannot be brought to the disk", errno);
  }
}

void AtomicFile::fail(const char* asked, int error) const {
  refuse(target_.string(), asked, error);
}

}  // namespace io

std::string read_file(const std::filesystem::path& path) {
  const io::InputFile file(path);
  // A file may tell no size (those of /proc) or grow: the buffer does, too.
  std::string content;
  std::size_t used = 0;
  for (;;) {
    if (used == content.size()) {
      content.resize(used + std::max(used, std::size_t{1} << 16));
    }
    const std::size_t got = file.read_some(
        used, std::as_writable_bytes(std::span(content).subspan(used)));
    used += got;
    if (got == 0) break;
  }
  content.resize(used);
  return content;
}

void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::byte> bytes) {
  io::AtomicFile file(path);
  file.append(bytes);
  file.commit();
}

void write_file_atomically(const std::filesystem::path& path,
                           std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

void check_writable(const std::filesystem::path& path) { io::AtomicFile{path}; }

}  // namespace topos

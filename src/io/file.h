#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

/// \file
/// Files by descriptor: every error is a FileError that names the path, what
/// was asked and the system's reason.

namespace topos::io {

/// Owns a file descriptor, or none (-1).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  bool open() const noexcept { return number_ >= 0; }
  int number() const noexcept { return number_; }
  int release() noexcept;
  /// \return 0, or the errno: some file systems report a full disk here
  int close() noexcept;

 private:
  int number_ = -1;
};

/// A regular file, opened for reading at any place. A folder, a pipe or a
/// device is refused: it has no size to check, and some never end.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);

  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  const std::string& name() const noexcept { return name_; }
  /// Reads what there is from byte `at` on, at most as much as `to` holds.
  /// \return the bytes read; 0 at the end of the file
  std::size_t read_some(std::uint64_t at, std::span<std::byte> to) const;
  /// Fills `to` from byte `at` on. \throws FileError  the file ends before
  void read(std::uint64_t at, std::span<std::byte> to) const;

 private:
  std::string name_;
  Descriptor file_;
  std::uint64_t size_bytes_ = 0;
};

/// What will replace a file once it is complete. Written under no name where
/// the file system can do that, so that even a killed process leaves nothing
/// behind; under a name beside the target otherwise.
class AtomicFile {
 public:
  /// \param mode  of a file that is not there yet, less the process's umask;
  ///              one that is keeps its own
  explicit AtomicFile(const std::filesystem::path& path, unsigned mode = 0666);
  /// Without a commit: nothing has happened.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::span<const std::byte> bytes);
  /// To the disk, under the target's name.
  void commit();

 private:
  void open_direct();
  void open_beside_target(bool keep_mode);
  void name_temporary();
  [[noreturn]] void fail(const char* asked, int error) const;

  std::filesystem::path target_;
  std::filesystem::path folder_;
  std::filesystem::path temporary_;  // empty: it has no name (yet)
  Descriptor file_;
  unsigned mode_;
  bool direct_ = false;
};

}  // namespace topos::io

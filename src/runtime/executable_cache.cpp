#include "runtime/executable_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <span>
#include <system_error>
#include <thread>

#include "io/file.h"
#include "runtime/system.h"
#include "topos/error.h"

namespace topos::runtime {
namespace {

namespace fs = std::filesystem;

/// A checksum: against accidents, not against anybody. Four lanes of FNV's
/// step over words, with a rotation that brings high bits down; a plugin has
/// 200 MB.
class Checksum {
 public:
  /// All but the last piece must be whole blocks of 32 bytes.
  void add(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    while (!bytes.empty()) {
      std::array<std::uint64_t, 4> words = {};
      const std::size_t count = std::min(bytes.size(), sizeof(words));
      std::memcpy(words.data(), bytes.data(), count);
      for (std::size_t i = 0; i < words.size(); ++i) {
        lanes_[i] = step(lanes_[i], words[i]);
      }
      bytes = bytes.subspan(count);
    }
  }

  std::uint64_t value() const {
    std::uint64_t out = step(1, size_);
    for (const std::uint64_t lane : lanes_) out = step(out, lane);
    return out ^ (out >> 32U);
  }

 private:
  static std::uint64_t step(std::uint64_t state, std::uint64_t word) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    return std::rotl((state ^ word) * odd, 29);
  }

  std::array<std::uint64_t, 4> lanes_ = {1, 2, 3, 4};
  std::uint64_t size_ = 0;
};

std::uint64_t checksum(std::string_view bytes) {
  Checksum sum;
  sum.add(std::as_bytes(std::span(bytes)));
  return sum.value();
}

// A file: this, the key, the program.
struct FileHeader {
  std::array<char, 16> magic = {'t', 'o', 'p', 'o', 's', ' ', 'p', 'r',
                                'o', 'g', 'r', 'a', 'm', ' ', '1', '\n'};
  std::uint64_t key_size = 0;
  std::uint64_t program_size = 0;
  std::uint64_t program_checksum = 0;
};

// Whether nobody else can have written it.
bool is_ours(const fs::path& file) {
  struct stat status = {};
  return ::stat(file.c_str(), &status) == 0 && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Size, time, and blocks from all over the file: another build differs in
// almost every one, and all 200 MB of a plugin would take longer to read than
// most programs to compile.
std::string file_identity(const fs::path& path) {
  constexpr std::uint64_t block_size = 4096;
  constexpr std::uint64_t block_count = 256;
  const io::InputFile file(path);
  const std::uint64_t size = file.size_bytes();
  const std::uint64_t stride = std::max(size / block_count, block_size);
  Checksum sum;
  std::array<std::byte, block_size> block = {};
  for (std::uint64_t at = 0; at < size; at += stride) {
    const std::span piece(block.data(), std::min(block_size, size - at));
    file.read(at, piece);
    sum.add(piece);
  }
  return fmt::format("{} bytes of {}, {:016x}", size,
                     fs::last_write_time(path).time_since_epoch().count(),
                     sum.value());
}

// What the kernel says of the first processor, without what changes as it runs.
std::string processor_identity() {
  std::ifstream in("/proc/cpuinfo");
  std::string out;
  for (std::string line; std::getline(in, line) && !line.empty();) {
    for (const std::string_view name :
         {"vendor_id", "cpu family", "model", "stepping", "flags",
          "CPU implementer", "CPU part", "CPU variant", "Features"}) {
      if (line.starts_with(name)) {
        out += line + '\n';
        break;
      }
    }
  }
  return out;
}

}  // namespace

fs::path default_cache_folder() {
  if (const auto own = variable("TOPOS_CACHE_DIR")) return *own;
  if (const auto xdg = variable("XDG_CACHE_HOME"); xdg && !xdg->empty()) {
    return fs::path(*xdg) / "topos";
  }
  if (const auto home = variable("HOME"); home && !home->empty()) {
    return fs::path(*home) / ".cache" / "topos";
  }
  return {};
}

ExecutableCache::ExecutableCache(const fs::path& folder)
    : folder_(folder.empty() ? folder : folder / "programs") {}

fs::path ExecutableCache::file_of(std::string_view key) const {
  return folder_ / fmt::format("{:016x}.xla", checksum(key));
}

std::optional<std::string> ExecutableCache::load(std::string_view key) const {
  const fs::path path = file_of(key);
  if (!on() || !is_ours(path)) return std::nullopt;
  try {
    const io::InputFile file(path);
    const FileHeader wanted;
    FileHeader header;
    file.read(0, std::as_writable_bytes(std::span(&header, 1)));
    if (header.magic != wanted.magic || header.key_size != key.size() ||
        header.program_size !=
            file.size_bytes() - sizeof(header) - key.size()) {
      return std::nullopt;
    }
    std::string found(key.size(), '\0');
    file.read(sizeof(header), std::as_writable_bytes(std::span(found)));
    if (found != key) return std::nullopt;
    std::string program(header.program_size, '\0');
    file.read(sizeof(header) + key.size(),
              std::as_writable_bytes(std::span(program)));
    if (checksum(program) != header.program_checksum) return std::nullopt;
    return program;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

void ExecutableCache::store(std::string_view key,
                            std::string_view program) const {
  if (!on()) return;
  std::error_code error;
  if (fs::create_directories(folder_, error)) {
    fs::permissions(folder_, fs::perms::owner_all, error);
  }
  if (error) return;
  FileHeader header;
  header.key_size = key.size();
  header.program_size = program.size();
  header.program_checksum = checksum(program);
  try {
    const fs::path path = file_of(key);
    // What may not be taken is not overwritten in place, either: that would
    // keep its owner.
    if (!is_ours(path)) fs::remove(path, error);
    io::AtomicFile file(path, 0600);
    file.append(std::as_bytes(std::span(&header, 1)));
    file.append(std::as_bytes(std::span(key)));
    file.append(std::as_bytes(std::span(program)));
    file.commit();
  } catch (const Error&) {
    // Not kept.
  }
}

std::optional<std::string> compiler_identity(const fs::path& plugin) {
  std::string out;
  try {
    out = file_identity(plugin) + '\n' + processor_identity();
  } catch (const FileError&) {
    return std::nullopt;
  } catch (const fs::filesystem_error&) {
    return std::nullopt;
  }
  out += fmt::format("{} threads\n", std::thread::hardware_concurrency());
  for (const char* name : {"XLA_FLAGS", "PJRT_NPROC", "NPROC"}) {
    out += fmt::format("{}={}\n", name, variable(name).value_or(""));
  }
  return out;
}

}  // namespace topos::runtime

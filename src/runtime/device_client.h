#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "topos/tensor.h"

/// \file
/// What the XLA engines ask of whoever runs their text: memory on devices,
/// programs compiled from StableHLO, and one call that runs one of them. PJRT
/// in this process and a Python process with jax each implement it; neither
/// knows a plan.

namespace topos::runtime {

/// A tensor in the memory of one device, dense and row-major. The memory ends
/// with the handle. A buffer must not outlive its client.
class Buffer {
 public:
  virtual ~Buffer() = default;
};

/// What a program takes and gives, as its text declares it. Clients hold their
/// callers to it, since devices do not: XLA itself compares sizes alone.
struct Signature {
  std::vector<Type> arguments;
  std::vector<Type> results;
  /// For each argument, the result whose memory it becomes: it is donated.
  std::vector<std::optional<std::size_t>> donated_to;
};

struct CompileOptions {
  /// Devices that one program is partitioned over (by Shardy); its argument and
  /// result types are then those of one device.
  int partitions = 1;
  /// XLA's own options for this program, by the names of its DebugOptions.
  std::map<std::string, std::variant<bool, std::int64_t, double, std::string>>
      overrides;
};

/// What a compiled program needs, in bytes; as the compiler states it.
struct MemoryStats {
  std::int64_t argument_bytes = 0;
  std::int64_t result_bytes = 0;
  /// Of results that live in donated arguments.
  std::int64_t alias_bytes = 0;
  std::int64_t temporary_bytes = 0;
};

/// A program compiled for the first `partitions` devices of its client.
class Executable {
 public:
  virtual ~Executable() = default;

  /// Runs the program once and waits until it is done.
  ///
  /// \param arguments  [device][argument], flat
  /// \return           [device][result], flat. Donated arguments are gone:
  ///                   their handles may only be destroyed
  /// \throws UsageError    a count or a type differs from the signature
  /// \throws RuntimeError  the device's own words
  virtual std::vector<std::unique_ptr<Buffer>> execute(
      std::span<Buffer* const> arguments) = 0;

  /// Nothing where the client cannot tell.
  virtual std::optional<MemoryStats> memory() const = 0;
};

/// Devices that run StableHLO, and who reaches them.
class Client {
 public:
  virtual ~Client() = default;

  /// `cpu, 1 device, PJRT 0.115, XLA ..., /path/of/plugin.so`: for people.
  virtual std::string description() const = 0;
  virtual int device_count() const = 0;
  /// False once it has broken down for good: each call then says how.
  virtual bool alive() const { return true; }

  /// Copies row-major elements to a device; null will do where there are none.
  virtual std::unique_ptr<Buffer> put(const Type& type,
                                      const std::byte* elements,
                                      int device) = 0;

  /// As `put`, but the caller promises that the elements stay as they are until
  /// the buffer is destroyed: where alignment and device allow, nothing is
  /// copied. Such a buffer is never donated.
  virtual std::unique_ptr<Buffer> borrow(const Type& type,
                                         const std::byte* elements,
                                         int device) = 0;

  /// Copies a buffer's elements out, waiting until they are there.
  virtual void read(const Buffer& buffer, const Type& type,
                    std::byte* elements) = 0;

  /// \param text  a StableHLO module whose `@main` has this signature
  /// \throws RuntimeError  it does not compile: the compiler's own message,
  ///                       with the line of the text that it names
  virtual std::unique_ptr<Executable> compile(
      std::string_view text, const Signature& signature,
      const CompileOptions& options) = 0;
};

}  // namespace topos::runtime

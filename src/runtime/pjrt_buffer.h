#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device_client.h"
#include "runtime/pjrt_plugin.h"

/// \file
/// What the parts of the PJRT client share: the connection and its buffers.

namespace topos::runtime {

/// A client of a plugin. Whatever came from it holds it, so it goes last.
struct PjrtConnection {
  const Plugin& plugin;
  Handle<raw::ClientDestroy> client;
  std::vector<raw::Device*> devices;
  std::string platform;          // `cpu`
  std::string platform_version;  // the compiler's, for the cache

  bool on_cpu() const { return platform == "cpu"; }
};

raw::ElementType element_type(DType dtype);

class PjrtBuffer final : public Buffer {
 public:
  PjrtBuffer(std::shared_ptr<const PjrtConnection> connection,
             raw::Buffer* buffer, Type type, int device, bool borrowed)
      : connection_(std::move(connection)),
        handle_(connection_->plugin, buffer),
        type_(type),
        device_(device),
        borrowed_(borrowed) {}

  const PjrtConnection& connection() const noexcept { return *connection_; }
  raw::Buffer* raw() const noexcept { return handle_.get(); }
  const Type& type() const noexcept { return type_; }
  int device() const noexcept { return device_; }
  /// Over the caller's memory, which stays as it is.
  bool borrowed() const noexcept { return borrowed_; }
  /// Donated, and so without memory.
  bool gone() const noexcept { return gone_; }
  void set_gone() noexcept { gone_ = true; }

 private:
  std::shared_ptr<const PjrtConnection> connection_;
  Handle<raw::BufferDestroy> handle_;
  Type type_;
  int device_;
  bool borrowed_;
  bool gone_ = false;
};

/// \throws UsageError  another client's
const PjrtBuffer& pjrt_buffer(const Buffer& buffer);

}  // namespace topos::runtime

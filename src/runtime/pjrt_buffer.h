#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/arguments.h"
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

class PjrtBuffer final : public PlacedBuffer {
 public:
  PjrtBuffer(std::shared_ptr<const PjrtConnection> connection,
             raw::Buffer* buffer, const Type& type, int device, bool borrowed)
      : PlacedBuffer(connection.get(), type, device, borrowed),
        connection_(std::move(connection)),
        handle_(connection_->plugin, buffer) {}

  const PjrtConnection& connection() const noexcept { return *connection_; }
  raw::Buffer* raw() const noexcept { return handle_.get(); }

 private:
  std::shared_ptr<const PjrtConnection> connection_;
  Handle<raw::BufferDestroy> handle_;
};

/// \throws UsageError  another client's
const PjrtBuffer& pjrt_buffer(const Buffer& buffer);

}  // namespace topos::runtime

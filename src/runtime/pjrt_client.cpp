#include "runtime/pjrt_client.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "runtime/pjrt_buffer.h"
#include "runtime/pjrt_discovery.h"
#include "runtime/pjrt_executable.h"
#include "topos/error.h"

namespace topos::runtime {
namespace {

// Where XLA's plugins for CPUs work in memory that they are lent.
constexpr std::size_t zero_copy_alignment = 64;

constexpr const char* device_count_option = "cpu_device_count";

using CreateOptions = decltype(PjrtOptions::create);

raw::NamedValue named_value(const std::string& name,
                            const CreateOptions::mapped_type& value) {
  raw::NamedValue out = {};
  out.header.struct_size = sizeof(out);
  out.name = name.c_str();
  out.name_size = name.size();
  out.value_size = 1;
  std::visit(
      [&](const auto& held) {
        using T = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<T, bool>) {
          out.type = raw::NamedValueType::boolean;
          out.bool_value = held;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          out.type = raw::NamedValueType::int64;
          out.int64_value = held;
        } else if constexpr (std::is_same_v<T, float>) {
          out.type = raw::NamedValueType::float32;
          out.float_value = held;
        } else if constexpr (std::is_same_v<T, std::string>) {
          out.type = raw::NamedValueType::string;
          out.string_value = held.c_str();
          out.value_size = held.size();
        } else {
          out.type = raw::NamedValueType::int64_list;
          out.int64_array_value = held.data();
          out.value_size = held.size();
        }
      },
      value);
  return out;
}

template <class Query>
std::string text_of(const Plugin& plugin, raw::Client* client) {
  raw::Args<Query> arguments;
  arguments->client = client;
  plugin.call(arguments);
  return std::string(arguments->text, arguments->size);
}

PjrtConnection connect(const Plugin& plugin, const CreateOptions& options) {
  std::vector<raw::NamedValue> values;
  for (const auto& [name, value] : options) {
    values.push_back(named_value(name, value));
  }
  raw::Args<raw::ClientCreate> create;
  create->create_options = values.data();
  create->num_options = values.size();
  plugin.call(create);
  PjrtConnection out = {plugin, {plugin, create->client}, {}, {}, {}};

  raw::Args<raw::ClientAddressableDevices> query;
  query->client = create->client;
  plugin.call(query);
  const std::span found(query->devices, query->num_devices);
  out.devices.assign(found.begin(), found.end());
  out.platform = text_of<raw::ClientPlatformName>(plugin, create->client);
  out.platform_version =
      text_of<raw::ClientPlatformVersion>(plugin, create->client);
  return out;
}

// With as many devices as are wanted: a plugin for CPUs makes four of them
// unless told, and splits its threads over them.
PjrtConnection connect(const Plugin& plugin, const PjrtOptions& options) {
  const auto wanted = static_cast<std::size_t>(options.devices);
  PjrtConnection out = connect(plugin, options.create);
  if (out.on_cpu() && out.devices.size() != wanted &&
      !options.create.contains(device_count_option)) {
    CreateOptions counted = options.create;
    counted[device_count_option] = std::int64_t{options.devices};
    out.client = {};
    return connect(plugin, counted);
  }
  return out;
}

class PjrtClient final : public Client {
 public:
  PjrtClient(std::shared_ptr<const PjrtConnection> connection,
             ExecutableCache cache)
      : connection_(std::move(connection)), cache_(std::move(cache)) {}

  std::string description() const override {
    return fmt::format("{}, {} device{}, {}", connection_->platform,
                       device_count(), device_count() == 1 ? "" : "s",
                       connection_->plugin.text());
  }

  int device_count() const override {
    return static_cast<int>(connection_->devices.size());
  }

  std::unique_ptr<Buffer> put(const Type& type, const std::byte* elements,
                              int device) override {
    return upload(type, elements, device,
                  raw::HostBufferSemantics::immutable_only_during_call, false);
  }

  std::unique_ptr<Buffer> borrow(const Type& type, const std::byte* elements,
                                 int device) override {
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(elements) % zero_copy_alignment == 0;
    const bool shared = connection_->on_cpu() && aligned;
    return upload(
        type, elements, device,
        shared ? raw::HostBufferSemantics::immutable_zero_copy
               : raw::HostBufferSemantics::immutable_until_transfer_completes,
        true);
  }

  void read(const Buffer& buffer, const Type& type,
            std::byte* elements) override;

  std::unique_ptr<Executable> compile(std::string_view text,
                                      const Signature& signature,
                                      const CompileOptions& options) override {
    return pjrt_executable(connection_, cache_, text, signature, options);
  }

 private:
  std::unique_ptr<Buffer> upload(const Type& type, const std::byte* elements,
                                 int device, raw::HostBufferSemantics semantics,
                                 bool borrowed);
  bool is_in_reach(const Type& type) const;
  const std::byte* elements_in_reach(const PjrtBuffer& buffer) const;

  std::shared_ptr<const PjrtConnection> connection_;
  ExecutableCache cache_;
};

std::unique_ptr<Buffer> PjrtClient::upload(const Type& type,
                                           const std::byte* elements,
                                           int device,
                                           raw::HostBufferSemantics semantics,
                                           bool borrowed) {
  if (device < 0 || device >= device_count()) {
    throw UsageError(fmt::format("there is no device {}: the client has {}",
                                 device, device_count()));
  }
  // Without elements there may be no address; plugins want one.
  static constexpr std::byte nothing = {};
  const Plugin& plugin = connection_->plugin;
  raw::Args<raw::ClientBufferFromHostBuffer> upload;
  upload->client = connection_->client.get();
  upload->data = elements == nullptr ? &nothing : elements;
  upload->type = element_type(type.dtype);
  upload->dims = type.shape.begin();
  upload->num_dims = static_cast<std::size_t>(type.shape.rank());
  upload->host_buffer_semantics = semantics;
  upload->device = connection_->devices[static_cast<std::size_t>(device)];
  plugin.call(upload);
  auto buffer = std::make_unique<PjrtBuffer>(connection_, upload->buffer, type,
                                             device, borrowed);
  raw::Event* done = upload->done_with_host_buffer;
  if (semantics == raw::HostBufferSemantics::immutable_zero_copy) {
    // It would come when the buffer goes.
    plugin.destroy<raw::EventDestroy>(done);
  } else {
    plugin.await(done, raw::ClientBufferFromHostBuffer::entry);
  }
  return buffer;
}

// On a CPU the elements lie in this process's memory. A plugin copies them out
// on a thread of its own: to wait for that takes 14 to 40 us, a fifth of a
// small training step, for the four bytes of its loss. Up to rank 1 there is
// but one layout, so that nothing has to be asked.
bool PjrtClient::is_in_reach(const Type& type) const {
  const Plugin& plugin = connection_->plugin;
  return connection_->on_cpu() && type.shape.rank() <= 1 &&
         plugin.has(raw::BufferReadyEvent::entry) &&
         plugin.has(raw::BufferUnsafePointer::entry);
}

const std::byte* PjrtClient::elements_in_reach(const PjrtBuffer& buffer) const {
  raw::Args<raw::BufferReadyEvent> ready;
  ready->buffer = buffer.raw();
  connection_->plugin.call(ready);
  connection_->plugin.await(ready->event, raw::BufferReadyEvent::entry);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): PJRT gives it as a number.
  return reinterpret_cast<const std::byte*>(device_address(buffer));
}

void PjrtClient::read(const Buffer& buffer, const Type& type,
                      std::byte* elements) {
  const PjrtBuffer& from = pjrt_buffer(buffer);
  if (&from.connection() != connection_.get()) {
    throw UsageError("the buffer is another client's");
  }
  if (from.gone()) throw UsageError("the buffer was donated to a run");
  if (from.type() != type) {
    throw UsageError(fmt::format("the buffer is {}, not {}", from.type().text(),
                                 type.text()));
  }
  if (type.size_bytes() == 0) return;
  if (is_in_reach(type)) {
    std::memcpy(elements, elements_in_reach(from), type.size_bytes());
    return;
  }

  // Row-major, whatever the device prefers.
  std::array<std::int64_t, max_rank> minor_to_major = {};
  const int rank = type.shape.rank();
  for (int i = 0; i < rank; ++i) {
    minor_to_major[static_cast<std::size_t>(i)] = rank - 1 - i;
  }
  raw::Args<raw::MemoryLayout> layout;
  layout->tiled.header.struct_size = sizeof(layout->tiled);
  layout->tiled.minor_to_major = minor_to_major.data();
  layout->tiled.minor_to_major_size = static_cast<std::size_t>(rank);

  raw::Args<raw::BufferToHostBuffer> download;
  download->src = from.raw();
  download->host_layout = layout.get();
  download->dst = elements;
  download->dst_size = type.size_bytes();
  connection_->plugin.call(download);
  connection_->plugin.await(download->event, raw::BufferToHostBuffer::entry);
}

}  // namespace

raw::ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return raw::ElementType::f32;
    case DType::f64:
      return raw::ElementType::f64;
    case DType::bf16:
      return raw::ElementType::bf16;
    case DType::f16:
      return raw::ElementType::f16;
    case DType::i32:
      return raw::ElementType::s32;
    case DType::i64:
      return raw::ElementType::s64;
    case DType::boolean:
      return raw::ElementType::pred;
  }
  throw InternalError("a dtype without an element type");
}

const PjrtBuffer& pjrt_buffer(const Buffer& buffer) {
  const auto* ours = dynamic_cast<const PjrtBuffer*>(&buffer);
  if (ours == nullptr) throw UsageError("the buffer is another client's");
  return *ours;
}

std::unique_ptr<Client> pjrt_client(const PjrtOptions& options) {
  if (options.devices < 1) {
    throw UsageError(
        fmt::format("a client of {} devices cannot be", options.devices));
  }
  const Plugin& plugin = options.plugin.empty()
                             ? Plugin::load_first(plugin_candidates())
                             : Plugin::load(options.plugin);
  auto connection = std::make_shared<PjrtConnection>(connect(plugin, options));
  const auto wanted = static_cast<std::size_t>(options.devices);
  if (connection->devices.size() < wanted) {
    throw RuntimeError(fmt::format("{} devices are wanted, but {} has {} ({})",
                                   wanted, connection->platform,
                                   connection->devices.size(), plugin.text()));
  }
  connection->devices.resize(wanted);
  // What made a program must be known to find it again.
  const bool can_keep = plugin.compiler().has_value();
  return std::make_unique<PjrtClient>(
      std::move(connection),
      ExecutableCache(can_keep ? options.cache : std::filesystem::path()));
}

std::uintptr_t device_address(const Buffer& buffer) {
  const PjrtBuffer& from = pjrt_buffer(buffer);
  if (from.gone()) throw UsageError("the buffer was donated to a run");
  raw::Args<raw::BufferUnsafePointer> query;
  query->buffer = from.raw();
  from.connection().plugin.call(query);
  return query->pointer;
}

}  // namespace topos::runtime

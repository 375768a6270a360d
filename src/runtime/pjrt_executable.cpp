#include "runtime/pjrt_executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "runtime/arguments.h"
#include "runtime/compile_options.h"
#include "topos/error.h"

namespace topos::runtime {
namespace {

using LoadedHandle = Handle<raw::LoadedExecutableDestroy>;
using ExecutableHandle = Handle<raw::ExecutableDestroy>;

ExecutableHandle executable_of(const Plugin& plugin,
                               const LoadedHandle& loaded) {
  raw::Args<raw::LoadedExecutableGetExecutable> query;
  query->loaded_executable = loaded.get();
  plugin.call(query);
  return {plugin, query->executable};
}

LoadedHandle compile(const PjrtConnection& connection, std::string_view text,
                     const std::string& options) {
  constexpr std::string_view format = "mlir";
  raw::Args<raw::Program> program;
  program->code = text.data();
  program->code_size = text.size();
  program->format = format.data();
  program->format_size = format.size();
  raw::Args<raw::ClientCompile> call;
  call->client = connection.client.get();
  call->program = program.get();
  call->compile_options = options.data();
  call->compile_options_size = options.size();
  try {
    connection.plugin.call(call);
  } catch (const RuntimeError& error) {
    throw RuntimeError(with_line_quoted(error.message(), text));
  }
  return {connection.plugin, call->executable};
}

LoadedHandle deserialize(const PjrtConnection& connection,
                         const std::string& bytes) {
  raw::Args<raw::ExecutableDeserializeAndLoad> call;
  call->client = connection.client.get();
  call->serialized_executable = bytes.data();
  call->serialized_executable_size = bytes.size();
  connection.plugin.call(call);
  return {connection.plugin, call->loaded_executable};
}

void store(const ExecutableCache& cache, const std::string& key,
           const Plugin& plugin, const LoadedHandle& loaded) {
  try {
    const ExecutableHandle executable = executable_of(plugin, loaded);
    raw::Args<raw::ExecutableSerialize> call;
    call->executable = executable.get();
    plugin.call(call);
    cache.store(key, {call->bytes, call->size});
    if (call->deleter != nullptr) call->deleter(call->serialized);
  } catch (const RuntimeError&) {
    // A plugin that cannot serialize: its programs are compiled every time.
  }
}

LoadedHandle load_or_compile(const PjrtConnection& connection,
                             const ExecutableCache& cache,
                             std::string_view text,
                             const std::string& options) {
  if (!cache.on()) return compile(connection, text, options);
  const std::string key = fmt::format(
      "{}\n{}\n{}devices {}\noptions {}\n{}text\n{}", connection.platform,
      connection.platform_version, connection.plugin.compiler().value(),
      connection.devices.size(), options.size(), options, text);
  if (const auto bytes = cache.load(key)) {
    try {
      return deserialize(connection, *bytes);
    } catch (const RuntimeError&) {
      // Compiled anew, and replaced.
    }
  }
  LoadedHandle loaded = compile(connection, text, options);
  store(cache, key, connection.plugin, loaded);
  return loaded;
}

class PjrtExecutable final : public Executable {
 public:
  PjrtExecutable(std::shared_ptr<const PjrtConnection> connection,
                 LoadedHandle loaded, Signature signature, int partitions)
      : connection_(std::move(connection)),
        loaded_(std::move(loaded)),
        executable_(executable_of(connection_->plugin, loaded_)),
        signature_(std::move(signature)),
        devices_(static_cast<std::size_t>(partitions)) {
    check_results();
  }

  std::vector<std::unique_ptr<Buffer>> execute(
      std::span<Buffer* const> arguments) override;
  std::optional<MemoryStats> memory() const override;

 private:
  void check_results() const;
  std::vector<PjrtBuffer*> checked(std::span<Buffer* const> arguments) const;
  void mark_donated(std::span<PjrtBuffer* const> arguments, bool all) const;

  std::shared_ptr<const PjrtConnection> connection_;
  LoadedHandle loaded_;
  ExecutableHandle executable_;
  Signature signature_;
  std::size_t devices_;
};

// A program with more results than are expected would write past the list
// that it gets.
void PjrtExecutable::check_results() const {
  const Plugin& plugin = connection_->plugin;
  raw::Args<raw::ExecutableNumOutputs> count;
  count->executable = executable_.get();
  plugin.call(count);
  if (count->num_outputs != signature_.results.size()) {
    throw UsageError(fmt::format("the text has {} results, its signature {}",
                                 count->num_outputs,
                                 signature_.results.size()));
  }
  if (!plugin.has(raw::ExecutableOutputElementTypes::entry) ||
      !plugin.has(raw::ExecutableOutputDimensions::entry)) {
    return;
  }
  raw::Args<raw::ExecutableOutputElementTypes> types;
  types->executable = executable_.get();
  plugin.call(types);
  raw::Args<raw::ExecutableOutputDimensions> dimensions;
  dimensions->executable = executable_.get();
  plugin.call(dimensions);
  const std::int64_t* extents = dimensions->dims;
  for (std::size_t i = 0; i < signature_.results.size(); ++i) {
    const Type& wanted = signature_.results[i];
    const std::span found(extents, dimensions->dim_sizes[i]);
    extents += found.size();
    if (types->output_types[i] != element_type(wanted.dtype) ||
        !std::ranges::equal(found, wanted.shape)) {
      throw UsageError(
          fmt::format("result {} of the text is not {}, as its signature says",
                      i, wanted.text()));
    }
  }
}

std::vector<PjrtBuffer*> PjrtExecutable::checked(
    std::span<Buffer* const> arguments) const {
  check_arguments(signature_, devices_, connection_.get(), arguments);
  std::vector<PjrtBuffer*> out;
  out.reserve(arguments.size());
  for (Buffer* argument : arguments) {
    out.push_back(static_cast<PjrtBuffer*>(argument));
  }
  return out;
}

// After a run all that were to be; after one that the plugin refused, those
// that it took before it did.
void PjrtExecutable::mark_donated(std::span<PjrtBuffer* const> arguments,
                                  bool all) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!signature_.donated_to[i % signature_.arguments.size()]) continue;
    if (!all) {
      raw::Args<raw::BufferIsDeleted> query;
      query->buffer = arguments[i]->raw();
      connection_->plugin.call(query);
      if (!query->is_deleted) continue;
    }
    arguments[i]->set_gone();
  }
}

std::vector<std::unique_ptr<Buffer>> PjrtExecutable::execute(
    std::span<Buffer* const> arguments) {
  const std::vector<PjrtBuffer*> buffers = checked(arguments);
  const std::size_t results = signature_.results.size();

  std::vector<raw::Buffer*> inputs;
  inputs.reserve(buffers.size());
  for (const PjrtBuffer* buffer : buffers) inputs.push_back(buffer->raw());
  std::vector<raw::Buffer*> outputs(devices_ * results);
  std::vector<raw::Buffer* const*> input_lists;
  std::vector<raw::Buffer**> output_lists;
  for (std::size_t device = 0; device < devices_; ++device) {
    input_lists.push_back(inputs.data() + device * signature_.arguments.size());
    output_lists.push_back(outputs.data() + device * results);
  }
  std::vector<raw::Event*> events(devices_);

  raw::Args<raw::ExecuteOptions> options;
  raw::Args<raw::LoadedExecutableExecute> call;
  call->executable = loaded_.get();
  call->options = options.get();
  call->argument_lists = input_lists.data();
  call->num_devices = devices_;
  call->num_args = signature_.arguments.size();
  call->output_lists = output_lists.data();
  call->device_complete_events = events.data();
  try {
    connection_->plugin.call(call);
  } catch (const RuntimeError&) {
    mark_donated(buffers, false);
    throw;
  }
  mark_donated(buffers, true);

  // Owned before anything can go wrong.
  std::vector<std::unique_ptr<Buffer>> out;
  out.reserve(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    out.push_back(std::make_unique<PjrtBuffer>(
        connection_, outputs[i], signature_.results[i % results],
        static_cast<int>(i / results), false));
  }
  // All of them: a device may still be at work when another has failed.
  std::exception_ptr failure;
  for (raw::Event* event : events) {
    try {
      connection_->plugin.await(event, raw::LoadedExecutableExecute::entry);
    } catch (const RuntimeError&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return out;
}

std::optional<MemoryStats> PjrtExecutable::memory() const {
  raw::Args<raw::ExecutableGetCompiledMemoryStats> query;
  query->executable = executable_.get();
  try {
    connection_->plugin.call(query);
  } catch (const RuntimeError&) {
    return std::nullopt;
  }
  return MemoryStats{.argument_bytes = query->argument_size_in_bytes,
                     .result_bytes = query->output_size_in_bytes,
                     .alias_bytes = query->alias_size_in_bytes,
                     .temporary_bytes = query->temp_size_in_bytes};
}

}  // namespace

std::unique_ptr<Executable> pjrt_executable(
    std::shared_ptr<const PjrtConnection> connection,
    const ExecutableCache& cache, std::string_view text,
    const Signature& signature, const CompileOptions& options) {
  check_signature(signature);
  if (static_cast<std::size_t>(std::max(options.partitions, 0)) >
      connection->devices.size()) {
    throw UsageError(
        fmt::format("{} partitions need as many devices: the "
                    "client has {}",
                    options.partitions, connection->devices.size()));
  }
  LoadedHandle loaded =
      load_or_compile(*connection, cache, text,
                      compile_options_proto(options, connection->on_cpu()));
  return std::make_unique<PjrtExecutable>(
      std::move(connection), std::move(loaded), signature, options.partitions);
}

}  // namespace topos::runtime

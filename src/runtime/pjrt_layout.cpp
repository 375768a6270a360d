// The layout of PJRT's C header on a 64-bit machine, versions 0.63 to 0.114,
// number by number. A struct that drifts from it does not compile.

#include <type_traits>

#include "runtime/pjrt_api.h"

namespace topos::runtime::raw {
namespace {

// The struct is plain, and ends where its entry says, up to padding.
template <class T>
constexpr bool plain(std::size_t size) {
  return std::is_standard_layout_v<T> && std::is_trivial_v<T> &&
         T::entry.size == size && sizeof(T) == (size + 7) / 8 * 8;
}

#define TOPOS_AT(type, field, offset) \
  static_assert(offsetof(type, field) == (offset))

static_assert(sizeof(void*) == 8 && sizeof(std::size_t) == 8);
static_assert(sizeof(Header) == 16 && sizeof(Api) == 40);
TOPOS_AT(Api, version, 16);
TOPOS_AT(Api, version.major, 32);
TOPOS_AT(Api, version.minor, 36);

static_assert(sizeof(NamedValue) == 56);
TOPOS_AT(NamedValue, name, 16);
TOPOS_AT(NamedValue, name_size, 24);
TOPOS_AT(NamedValue, type, 32);
TOPOS_AT(NamedValue, string_value, 40);
TOPOS_AT(NamedValue, value_size, 48);

static_assert(plain<ErrorDestroy>(24));
TOPOS_AT(ErrorDestroy, object, 16);
static_assert(plain<ErrorMessage>(40));
TOPOS_AT(ErrorMessage, error, 16);
TOPOS_AT(ErrorMessage, message, 24);
TOPOS_AT(ErrorMessage, message_size, 32);
static_assert(plain<ErrorGetCode>(28));
TOPOS_AT(ErrorGetCode, error, 16);
TOPOS_AT(ErrorGetCode, code, 24);
static_assert(plain<EventDestroy>(24));
TOPOS_AT(EventDestroy, object, 16);
static_assert(plain<EventAwait>(24));
TOPOS_AT(EventAwait, event, 16);

static_assert(plain<PluginInitialize>(16));
static_assert(plain<PluginAttributes>(32));
TOPOS_AT(PluginAttributes, attributes, 16);
TOPOS_AT(PluginAttributes, num_attributes, 24);
static_assert(plain<ClientCreate>(88));
TOPOS_AT(ClientCreate, create_options, 16);
TOPOS_AT(ClientCreate, num_options, 24);
TOPOS_AT(ClientCreate, kv_get_callback, 32);
TOPOS_AT(ClientCreate, kv_get_user_arg, 40);
TOPOS_AT(ClientCreate, kv_put_callback, 48);
TOPOS_AT(ClientCreate, kv_put_user_arg, 56);
TOPOS_AT(ClientCreate, client, 64);
TOPOS_AT(ClientCreate, kv_try_get_callback, 72);
TOPOS_AT(ClientCreate, kv_try_get_user_arg, 80);
static_assert(plain<ClientDestroy>(24));
TOPOS_AT(ClientDestroy, object, 16);
static_assert(plain<ClientPlatformName>(40));
TOPOS_AT(ClientPlatformName, client, 16);
TOPOS_AT(ClientPlatformName, text, 24);
TOPOS_AT(ClientPlatformName, size, 32);
static_assert(plain<ClientPlatformVersion>(40));
TOPOS_AT(ClientPlatformVersion, client, 16);
TOPOS_AT(ClientPlatformVersion, text, 24);
TOPOS_AT(ClientPlatformVersion, size, 32);
static_assert(plain<ClientAddressableDevices>(40));
TOPOS_AT(ClientAddressableDevices, client, 16);
TOPOS_AT(ClientAddressableDevices, devices, 24);
TOPOS_AT(ClientAddressableDevices, num_devices, 32);

static_assert(sizeof(MemoryLayoutTiled) == 56);
TOPOS_AT(MemoryLayoutTiled, minor_to_major, 16);
TOPOS_AT(MemoryLayoutTiled, minor_to_major_size, 24);
TOPOS_AT(MemoryLayoutTiled, tile_dims, 32);
TOPOS_AT(MemoryLayoutTiled, tile_dim_sizes, 40);
TOPOS_AT(MemoryLayoutTiled, num_tiles, 48);
static_assert(plain<MemoryLayout>(76));
TOPOS_AT(MemoryLayout, tiled, 16);
TOPOS_AT(MemoryLayout, type, 72);
static_assert(plain<ClientBufferFromHostBuffer>(120));
TOPOS_AT(ClientBufferFromHostBuffer, client, 16);
TOPOS_AT(ClientBufferFromHostBuffer, data, 24);
TOPOS_AT(ClientBufferFromHostBuffer, type, 32);
TOPOS_AT(ClientBufferFromHostBuffer, dims, 40);
TOPOS_AT(ClientBufferFromHostBuffer, num_dims, 48);
TOPOS_AT(ClientBufferFromHostBuffer, byte_strides, 56);
TOPOS_AT(ClientBufferFromHostBuffer, num_byte_strides, 64);
TOPOS_AT(ClientBufferFromHostBuffer, host_buffer_semantics, 72);
TOPOS_AT(ClientBufferFromHostBuffer, device, 80);
TOPOS_AT(ClientBufferFromHostBuffer, memory, 88);
TOPOS_AT(ClientBufferFromHostBuffer, device_layout, 96);
TOPOS_AT(ClientBufferFromHostBuffer, done_with_host_buffer, 104);
TOPOS_AT(ClientBufferFromHostBuffer, buffer, 112);
static_assert(plain<BufferDestroy>(24));
TOPOS_AT(BufferDestroy, object, 16);
static_assert(plain<BufferIsDeleted>(25));
TOPOS_AT(BufferIsDeleted, buffer, 16);
TOPOS_AT(BufferIsDeleted, is_deleted, 24);
static_assert(plain<BufferToHostBuffer>(56));
TOPOS_AT(BufferToHostBuffer, src, 16);
TOPOS_AT(BufferToHostBuffer, host_layout, 24);
TOPOS_AT(BufferToHostBuffer, dst, 32);
TOPOS_AT(BufferToHostBuffer, dst_size, 40);
TOPOS_AT(BufferToHostBuffer, event, 48);
static_assert(plain<BufferReadyEvent>(32));
TOPOS_AT(BufferReadyEvent, buffer, 16);
TOPOS_AT(BufferReadyEvent, event, 24);
static_assert(plain<BufferUnsafePointer>(32));
TOPOS_AT(BufferUnsafePointer, buffer, 16);
TOPOS_AT(BufferUnsafePointer, pointer, 24);

static_assert(plain<Program>(48));
TOPOS_AT(Program, code, 16);
TOPOS_AT(Program, code_size, 24);
TOPOS_AT(Program, format, 32);
TOPOS_AT(Program, format_size, 40);
static_assert(plain<ClientCompile>(56));
TOPOS_AT(ClientCompile, client, 16);
TOPOS_AT(ClientCompile, program, 24);
TOPOS_AT(ClientCompile, compile_options, 32);
TOPOS_AT(ClientCompile, compile_options_size, 40);
TOPOS_AT(ClientCompile, executable, 48);
static_assert(plain<ExecutableDestroy>(24));
TOPOS_AT(ExecutableDestroy, object, 16);
static_assert(plain<ExecutableNumOutputs>(32));
TOPOS_AT(ExecutableNumOutputs, executable, 16);
TOPOS_AT(ExecutableNumOutputs, num_outputs, 24);
static_assert(plain<ExecutableSerialize>(56));
TOPOS_AT(ExecutableSerialize, executable, 16);
TOPOS_AT(ExecutableSerialize, bytes, 24);
TOPOS_AT(ExecutableSerialize, size, 32);
TOPOS_AT(ExecutableSerialize, serialized, 40);
TOPOS_AT(ExecutableSerialize, deleter, 48);
static_assert(plain<LoadedExecutableDestroy>(24));
TOPOS_AT(LoadedExecutableDestroy, object, 16);
static_assert(plain<LoadedExecutableGetExecutable>(32));
TOPOS_AT(LoadedExecutableGetExecutable, loaded_executable, 16);
TOPOS_AT(LoadedExecutableGetExecutable, executable, 24);
static_assert(plain<ExecuteOptions>(144));
TOPOS_AT(ExecuteOptions, send_callbacks, 16);
TOPOS_AT(ExecuteOptions, recv_callbacks, 24);
TOPOS_AT(ExecuteOptions, num_send_ops, 32);
TOPOS_AT(ExecuteOptions, num_recv_ops, 40);
TOPOS_AT(ExecuteOptions, launch_id, 48);
TOPOS_AT(ExecuteOptions, non_donatable_input_indices, 56);
TOPOS_AT(ExecuteOptions, num_non_donatable_input_indices, 64);
TOPOS_AT(ExecuteOptions, context, 72);
TOPOS_AT(ExecuteOptions, call_location, 80);
TOPOS_AT(ExecuteOptions, num_tasks, 88);
TOPOS_AT(ExecuteOptions, task_ids, 96);
TOPOS_AT(ExecuteOptions, incarnation_ids, 104);
TOPOS_AT(ExecuteOptions, multi_slice_config, 112);
TOPOS_AT(ExecuteOptions, use_major_to_minor_data_layout_for_callbacks, 120);
TOPOS_AT(ExecuteOptions, hlo_output_callbacks, 128);
TOPOS_AT(ExecuteOptions, num_hlo_output_callbacks, 136);
static_assert(plain<LoadedExecutableExecute>(80));
TOPOS_AT(LoadedExecutableExecute, executable, 16);
TOPOS_AT(LoadedExecutableExecute, options, 24);
TOPOS_AT(LoadedExecutableExecute, argument_lists, 32);
TOPOS_AT(LoadedExecutableExecute, num_devices, 40);
TOPOS_AT(LoadedExecutableExecute, num_args, 48);
TOPOS_AT(LoadedExecutableExecute, output_lists, 56);
TOPOS_AT(LoadedExecutableExecute, device_complete_events, 64);
TOPOS_AT(LoadedExecutableExecute, execute_device, 72);
static_assert(plain<ExecutableDeserializeAndLoad>(72));
TOPOS_AT(ExecutableDeserializeAndLoad, client, 16);
TOPOS_AT(ExecutableDeserializeAndLoad, serialized_executable, 24);
TOPOS_AT(ExecutableDeserializeAndLoad, serialized_executable_size, 32);
TOPOS_AT(ExecutableDeserializeAndLoad, loaded_executable, 40);
TOPOS_AT(ExecutableDeserializeAndLoad, overridden_serialized_compile_options,
         48);
TOPOS_AT(ExecutableDeserializeAndLoad,
         overridden_serialized_compile_options_size, 56);
TOPOS_AT(ExecutableDeserializeAndLoad, load_options, 64);
static_assert(plain<ExecutableOutputElementTypes>(40));
TOPOS_AT(ExecutableOutputElementTypes, executable, 16);
TOPOS_AT(ExecutableOutputElementTypes, output_types, 24);
TOPOS_AT(ExecutableOutputElementTypes, num_output_types, 32);
static_assert(plain<ExecutableOutputDimensions>(48));
TOPOS_AT(ExecutableOutputDimensions, executable, 16);
TOPOS_AT(ExecutableOutputDimensions, num_outputs, 24);
TOPOS_AT(ExecutableOutputDimensions, dims, 32);
TOPOS_AT(ExecutableOutputDimensions, dim_sizes, 40);
static_assert(plain<ExecutableGetCompiledMemoryStats>(144));
TOPOS_AT(ExecutableGetCompiledMemoryStats, executable, 16);
TOPOS_AT(ExecutableGetCompiledMemoryStats, generated_code_size_in_bytes, 24);
TOPOS_AT(ExecutableGetCompiledMemoryStats, argument_size_in_bytes, 32);
TOPOS_AT(ExecutableGetCompiledMemoryStats, output_size_in_bytes, 40);
TOPOS_AT(ExecutableGetCompiledMemoryStats, alias_size_in_bytes, 48);
TOPOS_AT(ExecutableGetCompiledMemoryStats, temp_size_in_bytes, 56);
TOPOS_AT(ExecutableGetCompiledMemoryStats, peak_memory_in_bytes, 104);
TOPOS_AT(ExecutableGetCompiledMemoryStats, peak_unpadded_heap_bytes, 136);

#undef TOPOS_AT

}  // namespace
}  // namespace topos::runtime::raw

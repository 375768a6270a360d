#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

/// \file
/// The binary interface of PJRT plugins, version 0, as far as topos calls it.
/// Declared here by its layout: a table of functions whose order only grows,
/// and for each of them one struct of arguments and results, whose fields only
/// grow. `pjrt_layout.cpp` holds every offset to the published numbers.

namespace topos::runtime::raw {

// Objects of the plugin.
struct Buffer;
struct Client;
struct Device;
struct DeviceDescription;
struct Error;
struct Event;
struct Executable;
struct LoadedExecutable;
struct Memory;
struct SerializedExecutable;

/// What every struct begins with.
struct Header {
  std::size_t struct_size;
  void* extension_start;
};

/// A function of the table: its place, its name in messages, and the size of
/// its arguments: up to the end of the last field, as plugins count.
struct Entry {
  int slot;
  const char* name;
  std::size_t size;
};

/// What `GetPjrtApi` points to; the functions follow.
struct Api {
  Header header;
  struct {
    Header header;
    int major;
    int minor;
  } version;
};

enum class ElementType : int {
  pred = 1,
  s32 = 4,
  s64 = 5,
  f16 = 10,
  f32 = 11,
  f64 = 12,
  bf16 = 13,
};

enum class HostBufferSemantics : int {
  immutable_only_during_call = 0,
  immutable_until_transfer_completes = 1,
  immutable_zero_copy = 2,
  mutable_zero_copy = 3,
};

enum class NamedValueType : int {
  string = 0,
  int64 = 1,
  int64_list = 2,
  float32 = 3,
  boolean = 4,
};

/// An element of an array: plugins step by their own size of it, so that it
/// gets no slack.
struct NamedValue {
  Header header;
  const char* name;
  std::size_t name_size;
  NamedValueType type;
  union {
    const char* string_value;
    std::int64_t int64_value;
    const std::int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  std::size_t value_size;
};

// Errors and events.

struct ErrorDestroy {
  static constexpr Entry entry = {0, "PJRT_Error_Destroy", 24};
  Header header;
  Error* object;
};

struct ErrorMessage {
  static constexpr Entry entry = {1, "PJRT_Error_Message", 40};
  Header header;
  const Error* error;
  const char* message;
  std::size_t message_size;
};

struct ErrorGetCode {
  static constexpr Entry entry = {2, "PJRT_Error_GetCode", 28};
  Header header;
  const Error* error;
  int code;
};

struct EventDestroy {
  static constexpr Entry entry = {5, "PJRT_Event_Destroy", 24};
  Header header;
  Event* object;
};

struct EventAwait {
  static constexpr Entry entry = {8, "PJRT_Event_Await", 24};
  Header header;
  Event* event;
};

// The plugin and its client.

struct PluginInitialize {
  static constexpr Entry entry = {3, "PJRT_Plugin_Initialize", 16};
  Header header;
};

struct PluginAttributes {
  static constexpr Entry entry = {4, "PJRT_Plugin_Attributes", 32};
  Header header;
  const NamedValue* attributes;
  std::size_t num_attributes;
};

struct ClientCreate {
  static constexpr Entry entry = {10, "PJRT_Client_Create", 88};
  Header header;
  const NamedValue* create_options;
  std::size_t num_options;
  void* kv_get_callback;
  void* kv_get_user_arg;
  void* kv_put_callback;
  void* kv_put_user_arg;
  Client* client;
  void* kv_try_get_callback;
  void* kv_try_get_user_arg;
};

struct ClientDestroy {
  static constexpr Entry entry = {11, "PJRT_Client_Destroy", 24};
  Header header;
  Client* object;
};

struct ClientPlatformName {
  static constexpr Entry entry = {12, "PJRT_Client_PlatformName", 40};
  Header header;
  Client* client;
  const char* text;
  std::size_t size;
};

struct ClientPlatformVersion {
  static constexpr Entry entry = {14, "PJRT_Client_PlatformVersion", 40};
  Header header;
  Client* client;
  const char* text;
  std::size_t size;
};

struct ClientAddressableDevices {
  static constexpr Entry entry = {16, "PJRT_Client_AddressableDevices", 40};
  Header header;
  Client* client;
  Device* const* devices;
  std::size_t num_devices;
};

// Buffers.

struct MemoryLayoutTiled {
  Header header;
  const std::int64_t* minor_to_major;
  std::size_t minor_to_major_size;
  const std::int64_t* tile_dims;
  const std::size_t* tile_dim_sizes;
  std::size_t num_tiles;
};

/// One of two forms; the other, by strides, is shorter and not used here.
struct MemoryLayout {
  static constexpr Entry entry = {-1, "PJRT_Buffer_MemoryLayout", 76};
  Header header;
  MemoryLayoutTiled tiled;
  int type;  // 0: tiled
};

struct ClientBufferFromHostBuffer {
  static constexpr Entry entry = {22, "PJRT_Client_BufferFromHostBuffer", 120};
  Header header;
  Client* client;
  const void* data;
  ElementType type;
  const std::int64_t* dims;
  std::size_t num_dims;
  const std::int64_t* byte_strides;
  std::size_t num_byte_strides;
  HostBufferSemantics host_buffer_semantics;
  Device* device;
  Memory* memory;
  MemoryLayout* device_layout;
  Event* done_with_host_buffer;
  Buffer* buffer;
};

struct BufferDestroy {
  static constexpr Entry entry = {58, "PJRT_Buffer_Destroy", 24};
  Header header;
  Buffer* object;
};

struct BufferIsDeleted {
  static constexpr Entry entry = {68, "PJRT_Buffer_IsDeleted", 25};
  Header header;
  Buffer* buffer;
  bool is_deleted;
};

struct BufferToHostBuffer {
  static constexpr Entry entry = {70, "PJRT_Buffer_ToHostBuffer", 56};
  Header header;
  Buffer* src;
  MemoryLayout* host_layout;
  void* dst;
  std::size_t dst_size;
  Event* event;
};

struct BufferReadyEvent {
  static constexpr Entry entry = {72, "PJRT_Buffer_ReadyEvent", 32};
  Header header;
  Buffer* buffer;
  Event* event;
};

struct BufferUnsafePointer {
  static constexpr Entry entry = {73, "PJRT_Buffer_UnsafePointer", 32};
  Header header;
  Buffer* buffer;
  std::uintptr_t pointer;
};

// Programs.

struct Program {
  static constexpr Entry entry = {-1, "PJRT_Program", 48};
  Header header;
  const char* code;
  std::size_t code_size;
  const char* format;
  std::size_t format_size;
};

struct ClientCompile {
  static constexpr Entry entry = {20, "PJRT_Client_Compile", 56};
  Header header;
  Client* client;
  const Program* program;
  const char* compile_options;
  std::size_t compile_options_size;
  LoadedExecutable* executable;
};

struct ExecutableDestroy {
  static constexpr Entry entry = {40, "PJRT_Executable_Destroy", 24};
  Header header;
  Executable* object;
};

struct ExecutableNumOutputs {
  static constexpr Entry entry = {44, "PJRT_Executable_NumOutputs", 32};
  Header header;
  Executable* executable;
  std::size_t num_outputs;
};

struct ExecutableSerialize {
  static constexpr Entry entry = {49, "PJRT_Executable_Serialize", 56};
  Header header;
  const Executable* executable;
  const char* bytes;
  std::size_t size;
  SerializedExecutable* serialized;
  void (*deleter)(SerializedExecutable*);
};

struct LoadedExecutableDestroy {
  static constexpr Entry entry = {50, "PJRT_LoadedExecutable_Destroy", 24};
  Header header;
  LoadedExecutable* object;
};

struct LoadedExecutableGetExecutable {
  static constexpr Entry entry = {51, "PJRT_LoadedExecutable_GetExecutable",
                                  32};
  Header header;
  LoadedExecutable* loaded_executable;
  Executable* executable;
};

struct ExecuteOptions {
  static constexpr Entry entry = {-1, "PJRT_ExecuteOptions", 144};
  Header header;
  void** send_callbacks;
  void** recv_callbacks;
  std::size_t num_send_ops;
  std::size_t num_recv_ops;
  int launch_id;
  const std::int64_t* non_donatable_input_indices;
  std::size_t num_non_donatable_input_indices;
  void* context;
  const char* call_location;
  std::size_t num_tasks;
  int* task_ids;
  std::int64_t* incarnation_ids;
  void* multi_slice_config;
  bool use_major_to_minor_data_layout_for_callbacks;
  void* hlo_output_callbacks;
  std::size_t num_hlo_output_callbacks;
};

struct LoadedExecutableExecute {
  static constexpr Entry entry = {55, "PJRT_LoadedExecutable_Execute", 80};
  Header header;
  LoadedExecutable* executable;
  ExecuteOptions* options;
  Buffer* const* const* argument_lists;
  std::size_t num_devices;
  std::size_t num_args;
  Buffer** const* output_lists;
  Event** device_complete_events;
  Device* execute_device;
};

struct ExecutableDeserializeAndLoad {
  static constexpr Entry entry = {56, "PJRT_Executable_DeserializeAndLoad", 72};
  Header header;
  Client* client;
  const char* serialized_executable;
  std::size_t serialized_executable_size;
  LoadedExecutable* loaded_executable;
  const char* overridden_serialized_compile_options;
  std::size_t overridden_serialized_compile_options_size;
  void* load_options;
};

struct ExecutableOutputElementTypes {
  static constexpr Entry entry = {90, "PJRT_Executable_OutputElementTypes", 40};
  Header header;
  Executable* executable;
  const ElementType* output_types;
  std::size_t num_output_types;
};

struct ExecutableOutputDimensions {
  static constexpr Entry entry = {91, "PJRT_Executable_OutputDimensions", 48};
  Header header;
  Executable* executable;
  std::size_t num_outputs;
  const std::int64_t* dims;
  const std::size_t* dim_sizes;
};

struct ExecutableGetCompiledMemoryStats {
  static constexpr Entry entry = {96, "PJRT_Executable_GetCompiledMemoryStats",
                                  144};
  Header header;
  Executable* executable;
  std::int64_t generated_code_size_in_bytes;
  std::int64_t argument_size_in_bytes;
  std::int64_t output_size_in_bytes;
  std::int64_t alias_size_in_bytes;
  std::int64_t temp_size_in_bytes;
  std::int64_t host_generated_code_size_in_bytes;
  std::int64_t host_argument_size_in_bytes;
  std::int64_t host_output_size_in_bytes;
  std::int64_t host_alias_size_in_bytes;
  std::int64_t host_temp_size_in_bytes;
  std::int64_t peak_memory_in_bytes;
  std::int64_t total_size_in_bytes;
  std::int64_t total_allocation_bytes;
  std::int64_t indefinite_allocations;
  std::int64_t peak_unpadded_heap_bytes;
};

/// The arguments of one call, all zero, with room behind them for the fields
/// of newer plugins, which take zero for "absent". A plugin refuses a struct
/// that is smaller than its own and accepts one that is larger: so the room is
/// declared as part of the struct.
template <class T>
class Args {
 public:
  static constexpr std::size_t room = 128;

  Args() { (*this)->header.struct_size = T::entry.size + room; }

  T* operator->() { return get(); }
  T* get() { return std::launder(reinterpret_cast<T*>(bytes_.data())); }

 private:
  alignas(T) std::array<std::byte, sizeof(T) + room> bytes_ = {};
};

}  // namespace topos::runtime::raw

// A PJRT plugin without a compiler: it makes a client of one device unless its
// options say `fail`, holds its callers to the sizes of its structs, and lacks
// every other function.

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/pjrt_api.h"

namespace raw = topos::runtime::raw;

// The plugin's side of the opaque types.
struct raw::Error {
  int code;
  std::string message;
};

namespace {

constexpr int invalid_argument = 3;
constexpr int resource_exhausted = 8;

template <class T>
raw::Error* fit(const T* arguments) {
  if (arguments->header.struct_size >= T::entry.size) return nullptr;
  return new raw::Error{invalid_argument, "a struct is too small"};
}

void destroy_error(raw::ErrorDestroy* arguments) { delete arguments->object; }

void error_message(raw::ErrorMessage* arguments) {
  arguments->message = arguments->error->message.data();
  arguments->message_size = arguments->error->message.size();
}

raw::Error* error_code(raw::ErrorGetCode* arguments) {
  arguments->code = arguments->error->code;
  return nullptr;
}

raw::Error* initialize(raw::PluginInitialize* arguments) {
  return fit(arguments);
}

raw::Error* create_client(raw::ClientCreate* arguments) {
  if (raw::Error* error = fit(arguments)) return error;
  for (std::size_t i = 0; i < arguments->num_options; ++i) {
    const raw::NamedValue& option = arguments->create_options[i];
    if (std::string_view(option.name, option.name_size) != "fail") {
      return new raw::Error{invalid_argument, "no such option"};
    }
    return new raw::Error{resource_exhausted,
                          std::string(option.string_value, option.value_size)};
  }
  arguments->client = reinterpret_cast<raw::Client*>(new char);
  return nullptr;
}

raw::Error* destroy_client(raw::ClientDestroy* arguments) {
  delete reinterpret_cast<char*>(arguments->object);
  return nullptr;
}

raw::Error* platform_name(raw::ClientPlatformName* arguments) {
  arguments->text = "fake";
  arguments->size = std::strlen(arguments->text);
  return fit(arguments);
}

raw::Error* platform_version(raw::ClientPlatformVersion* arguments) {
  arguments->text = "1";
  arguments->size = 1;
  return fit(arguments);
}

raw::Error* devices(raw::ClientAddressableDevices* arguments) {
  static char device = 0;
  static raw::Device* const list[] = {reinterpret_cast<raw::Device*>(&device)};
  arguments->devices = list;
  arguments->num_devices = 1;
  return fit(arguments);
}

// The table ends before the functions for results: they are not even null.
struct Table {
  raw::Api api;
  std::array<void*, 60> functions;
};

template <class T, class Result>
void set(Table& table, Result (*function)(T*)) {
  table.functions[static_cast<std::size_t>(T::entry.slot)] =
      reinterpret_cast<void*>(function);
}

}  // namespace

extern "C" const raw::Api* GetPjrtApi() {
  static const Table table = [] {
    Table out = {};
    out.api.header.struct_size = sizeof(Table);
    out.api.version.major = 0;
    out.api.version.minor = TOPOS_FAKE_MINOR;
    set(out, destroy_error);
    set(out, error_message);
    set(out, error_code);
    set(out, initialize);
    set(out, create_client);
    set(out, destroy_client);
    set(out, platform_name);
    set(out, platform_version);
    set(out, devices);
    return out;
  }();
  return &table.api;
}

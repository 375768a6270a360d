#include "server/server_fixture.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "topos/error.h"

namespace topos::runtime::test {

const std::string& why_no_jax() {
  static const std::string why = []() -> std::string {
    try {
      std::cout << open_server()->description() << '\n';
      return "";
    } catch (const RuntimeError& error) {
      return error.message();
    }
  }();
  return why;
}

std::unique_ptr<Buffer> put(Client& client, const Tensor& tensor, int device) {
  return client.put(tensor.type(), tensor.data(), device);
}

Tensor read(Client& client, const Buffer& buffer, const Type& type) {
  std::byte* data = nullptr;
  Tensor tensor = Tensor::uninitialized(type, data);
  client.read(buffer, type, data);
  return tensor;
}

std::string tensor_type(const Type& type) {
  std::string text = "tensor<";
  for (const std::int64_t extent : type.shape)
    text += fmt::format("{}x", extent);
  return text + (type.dtype == boolean ? "i1" : std::string(name(type.dtype))) +
         ">";
}

Program identity(const Type& type) {
  return {fmt::format("module {{\n"
                      "  func.func @main(%x: {0}) -> {0} {{\n"
                      "    return %x : {0}\n"
                      "  }}\n"
                      "}}\n",
                      tensor_type(type)),
          {{type}, {type}, {std::nullopt}}};
}

Program accumulate(std::int64_t extent) {
  const Type state = {f32, {extent}};
  const Type scalar = {f32, {}};
  return {fmt::format(
              R"(module {{
  func.func @main(%state: {0} {{tf.aliasing_output = 0 : i32}}, %x: {1})
      -> ({0}, {1}) {{
    %xs = stablehlo.broadcast_in_dim %x, dims = [] : ({1}) -> {0}
    %sum = stablehlo.add %state, %xs : {0}
    %twice = stablehlo.add %x, %x : {1}
    return %sum, %twice : {0}, {1}
  }}
}}
)",
              tensor_type(state), tensor_type(scalar)),
          {{state, scalar}, {state, scalar}, {0, std::nullopt}}};
}

Program count_up() {
  const Type type = {i64, {}};
  return {R"(module {
  func.func @main(%end: tensor<i64>) -> tensor<i64> {
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %count:2 = stablehlo.while(%i = %zero, %n = %end)
        : tensor<i64>, tensor<i64>
      cond {
        %more = stablehlo.compare LT, %i, %n
            : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %next = stablehlo.add %i, %one : tensor<i64>
        stablehlo.return %next, %n : tensor<i64>, tensor<i64>
      }
    return %count#0 : tensor<i64>
  }
}
)",
          {{type}, {type}, {std::nullopt}}};
}

int process_of(const Client& client) {
  const std::string text = client.description();
  return std::stoi(text.substr(text.rfind("process ") + 8));
}

bool is_running(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  if (!std::getline(file, line)) return false;
  const char state = line.at(line.rfind(')') + 2);
  return state != 'Z' && state != 'X';
}

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
}

int open_descriptors() {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}

}  // namespace topos::runtime::test

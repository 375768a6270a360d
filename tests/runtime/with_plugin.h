#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/pjrt_client.h"
#include "topos/error.h"
#include "topos/tensor.h"

namespace topos::runtime {

/// Tests that run programs on whatever plugin this machine has, and are
/// skipped, saying why, where it has none.
class WithPlugin : public testing::Test {
 protected:
  void SetUp() override {
    try {
      client_ = make_client();
    } catch (const RuntimeError& error) {
      // One that was asked for by name is no accident.
      const char* named = std::getenv("TOPOS_PJRT_PLUGIN");
      if (named != nullptr && *named != '\0') throw;
      GTEST_SKIP() << error.message();
    }
    static bool said = false;
    if (!std::exchange(said, true)) {
      fmt::print("plugin: {}\n", client_->description());
    }
  }

  // No test may meet what another run has kept.
  static std::unique_ptr<Client> make_client(
      int devices = 1, const std::filesystem::path& cache = {}) {
    PjrtOptions options;
    options.devices = devices;
    options.cache = cache;
    return pjrt_client(options);
  }

  std::unique_ptr<Buffer> put(const Tensor& tensor, int device = 0) {
    const Tensor dense = tensor.contiguous();
    return client_->put(dense.type(), dense.data(), device);
  }

  Tensor read(const Buffer& buffer, const Type& type) {
    std::byte* elements = nullptr;
    Tensor out = Tensor::uninitialized(type, elements);
    client_->read(buffer, type, elements);
    return out;
  }

  // Puts, runs once on one device, reads.
  std::vector<Tensor> run(Executable& program, const Signature& signature,
                          const std::vector<Tensor>& tensors) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Buffer*> arguments;
    for (const Tensor& tensor : tensors) {
      buffers.push_back(put(tensor));
      arguments.push_back(buffers.back().get());
    }
    const auto results = program.execute(arguments);
    std::vector<Tensor> out;
    for (std::size_t i = 0; i < results.size(); ++i) {
      out.push_back(read(*results[i], signature.results[i]));
    }
    return out;
  }

  std::unique_ptr<Client> client_;
};

/// `f(x) = x + constant` on `f32[4]`; its argument may become its result.
inline std::string add_text(const std::string& constant, bool donated = false) {
  return fmt::format(R"(module {{
  func.func public @main(%x: tensor<4xf32>{}) -> tensor<4xf32> {{
    %c = stablehlo.constant dense<{}> : tensor<4xf32>
    %y = stablehlo.add %x, %c : tensor<4xf32>
    return %y : tensor<4xf32>
  }}
}}
)",
                     donated ? " {tf.aliasing_output = 0 : i32}" : "",
                     constant);
}

inline Signature add_signature(bool donated = false) {
  Signature out = {{{f32, {4}}}, {{f32, {4}}}, {std::nullopt}};
  if (donated) out.donated_to[0] = 0;
  return out;
}

}  // namespace topos::runtime

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device_client.h"
#include "runtime/server_client.h"
#include "topos/tensor.h"

/// \file
/// Programs and tensors for a server with jax, and what a test of processes
/// wants to know of its own.

namespace topos::runtime::test {

/// Why there is no Python with jax here; empty if there is one. Asked once.
const std::string& why_no_jax();

/// A test that needs jax begins with this.
#define TOPOS_NEEDS_JAX()                            \
  if (!::topos::runtime::test::why_no_jax().empty()) \
  GTEST_SKIP() << ::topos::runtime::test::why_no_jax()

std::unique_ptr<Buffer> put(Client& client, const Tensor& tensor,
                            int device = 0);
Tensor read(Client& client, const Buffer& buffer, const Type& type);

/// A type as StableHLO writes it: `tensor<2x3xf32>`.
std::string tensor_type(const Type& type);

/// `@main` of one function body.
struct Program {
  std::string text;
  Signature signature;
};

/// Gives its argument back.
Program identity(const Type& type);
/// state, x [] -> state + x, x + x; the state is donated.
Program accumulate(std::int64_t extent);
/// i64[] -> i64[]: counts up to its argument, one by one.
Program count_up();

/// The process of a client's server, from its description.
int process_of(const Client& client);
/// Whether there is such a process and it has not ended.
bool is_running(int process);
bool has_children();
int open_descriptors();

}  // namespace topos::runtime::test

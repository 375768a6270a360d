#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/group.h"
#include "engine/tile.h"
#include "kernels/thread_pool.h"
#include "ops/catalog.h"

/// \file
/// What runs an operation that is no part of a tile. Kernels divide their
/// outputs among threads, never a chain.

namespace topos::engines {

/// The first index out of range that a step computed.
struct IndexFault {
  bool found = false;
  std::uint32_t node = 0;  // of the simplified program
  std::int64_t index = 0;
  std::int64_t position = 0;
  std::int64_t extent = 0;
};

/// The operation and where its operands lie.
struct SingleNode {
  std::uint32_t id;
  const ops::Any& op;
  Type type;
  std::vector<Access> operands;
  std::vector<Type> types;  // of the operands
  int threads;
};

struct SingleCall {
  const Addresses& addresses;
  std::byte* scratch;
  IndexFault& fault;

  /// The element that a layout's offset counts from.
  const std::byte* base(const Access& access) const {
    return addresses[access.root];
  }
};

class SingleKernel {
 public:
  virtual ~SingleKernel() = default;
  virtual const char* name() const noexcept = 0;
  virtual std::size_t scratch_bytes() const noexcept { return 0; }
  /// An operand whose place the result may have, if nobody reads it later and
  /// no other operand reads that root; -1 if there is none.
  virtual int replaced_operand() const noexcept { return -1; }
  virtual void run(const SingleCall& call) const = 0;
};

/// The kernels; null where the operation is none of theirs.
std::unique_ptr<SingleKernel> moving_kernel(const SingleNode& node);
std::unique_ptr<SingleKernel> indexed_kernel(const SingleNode& node);
std::unique_ptr<SingleKernel> row_kernel(const SingleNode& node);

/// Less work than this, in nanoseconds, is not worth a second thread.
inline constexpr double worth_a_thread = 20000;

/// The parts of work of that many nanoseconds.
inline int parts_of(double cost, int threads) {
  return cost > worth_a_thread ? threads : 1;
}

/// f(part) for each part, on as many threads.
template <class F>
void for_each_part(int parts, F f) {
  if (parts == 1) {
    f(0);
  } else {
    kernels::ThreadPool::instance().parallel_for(parts, f, parts);
  }
}

}  // namespace topos::engines

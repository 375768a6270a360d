#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/group.h"
#include "engine/tile.h"

namespace topos::engines {

/// The first index out of range that a step computed.
struct IndexFault {
  bool found = false;
  std::uint32_t node = 0;  // of the simplified program
  std::int64_t index = 0;
  std::int64_t position = 0;
  std::int64_t extent = 0;
};

/// An operation that runs on its own, not in tiles: by a kernel where there
/// is one, else by its reference code into place.
class SingleProgram {
 public:
  SingleProgram(const Program& program, const Grouping& grouping,
                std::uint32_t node);

  bool by_reference() const noexcept { return by_reference_; }
  const char* kernel() const noexcept { return kernel_; }
  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }

  void run(const Addresses& addresses, std::byte* scratch,
           IndexFault& fault) const;

 private:
  struct Call {
    const Addresses& addresses;
    std::byte* scratch;
    IndexFault& fault;
  };

  void choose_kernel();
  void copy(const Call& call) const;
  void check_indices(const Call& call) const;
  void gather(const Call& call) const;
  void scatter_add(const Call& call) const;
  template <class T>
  void scatter_add_as(const Call& call) const;
  void sum_leading(const Call& call) const;
  void row_formula(const Call& call) const;
  void reference(const Call& call) const;

  /// Index `at` of the row-major index tensor, clamped; a fault if it was out.
  std::int64_t index(const Call& call, std::int64_t at,
                     std::int64_t extent) const;

  void (SingleProgram::*run_)(const Call&) const = nullptr;
  std::uint32_t node_;
  ops::Any op_;
  Type type_;
  std::vector<Access> operands_;
  std::vector<Type> operand_types_;
  const char* kernel_ = "";
  bool by_reference_ = false;
  std::size_t scratch_bytes_ = 0;
  RowSpace rows_;
  /// The operands as the reference code takes them; a session runs one step at
  /// a time.
  mutable std::vector<Tensor> tensors_;
};

}  // namespace topos::engines

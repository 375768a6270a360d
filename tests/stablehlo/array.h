#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stablehlo/tensor_type.h"
#include "topos/tensor.h"

namespace topos::stablehlo_text {

/// The elements of one value while a module runs: row-major, without gaps,
/// shared by copies, written only by whoever made it.
class Array {
 public:
  Array() = default;
  /// Elements unspecified.
  explicit Array(const TensorType& type);

  static Array from(const Tensor& tensor);
  Tensor to_tensor() const;

  const TensorType& type() const { return type_; }
  std::int64_t count() const { return count_; }

  const std::byte* data() const { return data_.get(); }
  std::byte* data() { return data_.get(); }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }

  /// The same bytes under another type of as many bytes.
  Array viewed(const TensorType& type) const;
  /// Elements of its own.
  Array copied() const;
  /// Element `at` of an integer array.
  std::int64_t integer(std::int64_t at) const;

 private:
  TensorType type_;
  std::int64_t count_ = 0;
  std::shared_ptr<std::byte[]> data_;
};

using Arrays = std::vector<Array>;

}  // namespace topos::stablehlo_text

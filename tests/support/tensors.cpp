#include "support/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "tensor/visit.h"

namespace topos {

void PrintTo(const Tensor& tensor, std::ostream* out) {
  *out << test::text(tensor);
}

void PrintTo(const Type& type, std::ostream* out) { *out << type.text(); }

namespace test {
namespace {

/// Reads a list of types or tensors from left to right.
class Reader {
 public:
  explicit Reader(std::string_view text) : all_(text), left_(text) {
    skip_spaces();
  }

  bool done() const { return left_.empty(); }

  bool take(char c) {
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }

  Type type() {
    Type result;
    const std::string_view word = left_.substr(0, left_.find('['));
    bool found = false;
    for (DType dtype : {f32, f64, bf16, f16, i32, i64, boolean}) {
      if (word == name(dtype)) {
        result.dtype = dtype;
        found = true;
      }
    }
    if (!found) fail("a dtype");
    left_.remove_prefix(word.size());
    expect('[');
    while (!take(']')) {
      result.shape.push_back(integer<std::int64_t>());
      if (!left_.starts_with(']')) expect(',');
      skip_spaces();
    }
    return result;
  }

  /// The elements in braces, if they are there.
  std::optional<Tensor> elements(const Type& type) {
    if (!take('{')) return std::nullopt;
    return visit_dtype(type.dtype, [&]<class T>() {
      std::vector<T> result;
      skip_spaces();
      while (!take('}')) {
        result.push_back(element<T>());
        skip_spaces();
      }
      if (static_cast<std::int64_t>(result.size()) !=
          type.shape.element_count()) {
        fail("as many elements as the shape has");
      }
      return std::optional(Tensor(type.shape, result));
    });
  }

  void skip_spaces() {
    while (take(' ')) {
    }
  }

 private:
  template <class T>
  T integer() {
    T result = 0;
    const auto [end, error] =
        std::from_chars(left_.data(), left_.data() + left_.size(), result);
    if (error != std::errc()) fail("an integer");
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return result;
  }

  template <class T>
  T element() {
    if constexpr (!std::integral<T>) {
      const std::string word(left_.substr(0, left_.find_first_of(" }")));
      char* end = nullptr;
      T result{};
      if constexpr (std::same_as<T, float>) {
        result = std::strtof(word.c_str(), &end);
      } else {
        result = static_cast<T>(std::strtod(word.c_str(), &end));
      }
      if (word.empty() || *end != '\0') fail("a number");
      left_.remove_prefix(word.size());
      return result;
    } else if constexpr (std::same_as<T, bool>) {
      if (take('1')) return true;
      if (take('0')) return false;
      fail("0 or 1");
    } else {
      return integer<T>();
    }
  }

  void expect(char c) {
    if (!take(c)) fail(std::string("a ") + c);
  }

  [[noreturn]] void fail(const std::string& wanted) const {
    throw std::invalid_argument(
        fmt::format("not {} at \"{}\" in \"{}\"", wanted, left_, all_));
  }

  std::string_view all_;
  std::string_view left_;
};

template <class T>
std::string element_text(T x) {
  if constexpr (sizeof(T) == 2) {
    return element_text(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return "nan";
    // What a short decimal says exactly need not be in hexadecimal.
    if (std::isinf(x) || (x == std::trunc(x) && std::abs(x) < 1e6)) {
      return fmt::format("{}", x);
    }
    return fmt::format("{:a}", x);
  } else if constexpr (std::same_as<T, bool>) {
    return x ? "1" : "0";
  } else {
    return fmt::format("{}", x);
  }
}

/// Floats in order: neighbours differ by one.
template <class T>
std::int64_t ordinal(T x) {
  using Bits = std::conditional_t<
      sizeof(T) == 2, std::int16_t,
      std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;
  const Bits bits = std::bit_cast<Bits>(x);
  return bits >= 0 ? bits
                   : std::int64_t{std::numeric_limits<Bits>::min()} - bits;
}

}  // namespace

std::vector<Tensor> tensors(std::string_view text) {
  OptionalTensors result = optional_tensors(text);
  for (bool present : result.present) {
    if (!present) throw std::invalid_argument("a tensor is missing");
  }
  return std::move(result.tensors);
}

OptionalTensors optional_tensors(std::string_view text) {
  OptionalTensors result;
  for (Reader reader(text); !reader.done(); reader.skip_spaces()) {
    if (reader.take('-')) {
      result.tensors.emplace_back();
      result.present.push_back(false);
      continue;
    }
    const std::optional<Tensor> tensor = reader.elements(reader.type());
    if (!tensor) throw std::invalid_argument("a tensor has no elements");
    result.tensors.push_back(*tensor);
    result.present.push_back(true);
  }
  return result;
}

Tensor tensor(std::string_view text) {
  const std::vector<Tensor> all = tensors(text);
  if (all.size() != 1) throw std::invalid_argument("not exactly one tensor");
  return all[0];
}

std::vector<Type> types(std::string_view text) {
  std::vector<Type> result;
  for (Reader reader(text); !reader.done(); reader.skip_spaces()) {
    result.push_back(reader.type());
    reader.elements(result.back());
  }
  return result;
}

bool has_elements(std::string_view text) {
  for (Reader reader(text); !reader.done(); reader.skip_spaces()) {
    if (!reader.elements(reader.type())) return false;
  }
  return true;
}

bool is_types(std::string_view text) {
  try {
    types(text);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::string text(const Tensor& tensor) {
  std::string result = tensor.type().text() + "{";
  visit_dtype(tensor.dtype(), [&]<class T>() {
    bool first = true;
    for (T element : tensor.to_vector<T>()) {
      if (!first) result += ' ';
      first = false;
      result += element_text(element);
    }
  });
  return result + "}";
}

std::int64_t ulps_between(const Tensor& left, const Tensor& right) {
  constexpr auto far = std::numeric_limits<std::int64_t>::max();
  if (left.type() != right.type()) return far;
  return visit_dtype(left.dtype(), [&]<class T>() -> std::int64_t {
    if constexpr (!std::integral<T>) {
      const std::vector<T> x = left.to_vector<T>();
      const std::vector<T> y = right.to_vector<T>();
      std::int64_t greatest = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if ((x[i] != x[i]) && (y[i] != y[i])) continue;
        if ((x[i] != x[i]) || (y[i] != y[i])) return far;
        std::int64_t distance = 0;
        if (__builtin_sub_overflow(ordinal(x[i]), ordinal(y[i]), &distance)) {
          return far;
        }
        greatest = std::max(greatest, std::abs(distance));
      }
      // +0 and -0 are one ordinal, but not the same bits.
      return greatest == 0 && !bits_equal(left, right) ? 1 : greatest;
    } else {
      return bits_equal(left, right) ? 0 : far;
    }
  });
}

}  // namespace test
}  // namespace topos

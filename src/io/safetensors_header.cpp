#include "io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "topos/error.h"

namespace topos::io {

namespace {

struct DTypeName {
  DType dtype;
  std::string_view name;
};

constexpr std::array<DTypeName, dtype_count> dtype_names = {{
    {f32, "F32"},
    {f64, "F64"},
    {bf16, "BF16"},
    {f16, "F16"},
    {i32, "I32"},
    {i64, "I64"},
    {boolean, "BOOL"},
}};

constexpr std::string_view metadata_key = "__metadata__";

std::string_view format_name(DType dtype) {
  for (const DTypeName& known : dtype_names) {
    if (known.dtype == dtype) return known.name;
  }
  throw InternalError("a dtype without a name in safetensors");
}

/// Receives the JSON, piece by piece, and takes only what a header is made of:
/// whatever nests deeper than that is refused where it begins. Each member
/// returns whether to go on; `fault` says why not.
class HeaderReader {
 public:
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  Header take() && { return std::move(header_); }
  const std::string& fault() const { return fault_; }

  bool null() { return unexpected("null"); }
  bool boolean(bool value) { return unexpected(value ? "true" : "false"); }
  bool binary(binary_t&) { return unexpected("binary data"); }
  bool number_integer(number_integer_t value) {
    return unexpected(fmt::format("{}", value));
  }
  bool number_float(number_float_t, const string_t& text) {
    return unexpected(text);
  }

  bool number_unsigned(number_unsigned_t value) {
    if (place_ == Place::shape) {
      if (value > std::numeric_limits<std::int64_t>::max()) {
        return unexpected(fmt::format("{}", value));
      }
      if (tensor_.type.shape.rank() == max_rank) {
        return refuse_tensor(fmt::format(
            "has more than {} axes, which is all that a tensor of topos may "
            "have",
            max_rank));
      }
      tensor_.type.shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (place_ == Place::offsets && offset_count_ < 2) {
      (offset_count_++ == 0 ? tensor_.begin : tensor_.end) = value;
      return true;
    }
    return unexpected(fmt::format("{}", value));
  }

  bool string(string_t& value) {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = std::move(value);
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") {
      return unexpected(display_name(value));
    }
    for (const DTypeName& known : dtype_names) {
      if (known.name == value) {
        tensor_.type.dtype = known.dtype;
        return true;
      }
    }
    return refuse_tensor(
        fmt::format("has the dtype {}, which topos cannot hold: it reads F32, "
                    "F64, BF16, F16, I32, I64 and BOOL",
                    display_name(value)));
  }

  bool start_object(std::size_t) {
    if (place_ == Place::before) {
      place_ = Place::file;
    } else if (place_ == Place::file) {
      place_ = key_ == metadata_key ? Place::metadata : Place::tensor;
      members_.clear();
      tensor_ = {key_, {}, 0, 0};
      offset_count_ = 0;
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool key(string_t& key) {
    key_ = std::move(key);
    const bool fresh = place_ == Place::file ? names_.insert(key_).second
                                             : members_.insert(key_).second;
    if (!fresh) return refuse(fmt::format("repeats {}", display_name(key_)));
    if (place_ == Place::tensor && key_ != "dtype" && key_ != "shape" &&
        key_ != "data_offsets") {
      return refuse_tensor(
          fmt::format("has a member {}, which the format does not know",
                      display_name(key_)));
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::tensor) {
      for (const char* member : {"dtype", "shape", "data_offsets"}) {
        if (!members_.contains(member)) {
          return refuse_tensor(fmt::format("has no {}", member));
        }
      }
      header_.tensors.push_back(std::move(tensor_));
    }
    place_ = Place::file;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::tensor && key_ == "shape") {
      place_ = Place::shape;
    } else if (place_ == Place::tensor && key_ == "data_offsets") {
      place_ = Place::offsets;
    } else {
      return unexpected("an array");
    }
    return true;
  }

  bool end_array() {
    if (place_ == Place::offsets && offset_count_ != 2) {
      return refuse_tensor(
          fmt::format("has {} data_offsets, not 2", offset_count_));
    }
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) {
    return refuse(
        fmt::format("is not JSON at byte {} of the file",
                    length_bytes + std::max<std::size_t>(position, 1) - 1));
  }

 private:
  enum class Place { before, file, metadata, tensor, shape, offsets };

  bool refuse(std::string fault) {
    fault_ = "the header " + std::move(fault);
    return false;
  }

  bool refuse_tensor(const std::string& fault) {
    fault_ = fmt::format("the tensor {} {}", display_name(tensor_.name), fault);
    return false;
  }

  bool unexpected(std::string_view found) {
    switch (place_) {
      case Place::before:
        return refuse(fmt::format("is {}, not an object", found));
      case Place::file:
        return refuse(fmt::format("gives {} as {}, not an object",
                                  display_name(key_), found));
      case Place::metadata:
        return refuse(fmt::format("gives the metadata {} as {}, not a string",
                                  display_name(key_), found));
      case Place::tensor:
        return refuse_tensor(fmt::format("has {} as its {}", found, key_));
      case Place::shape:
        return refuse_tensor(fmt::format("has {} in its shape", found));
      case Place::offsets:
        return refuse_tensor(fmt::format("has {} in its data_offsets", found));
    }
    return false;
  }

  Header header_;
  std::string fault_;
  Place place_ = Place::before;
  std::string key_;
  Declaration tensor_;
  int offset_count_ = 0;
  std::unordered_set<std::string> names_;
  std::set<std::string> members_;  // of the object at hand
};

[[noreturn]] void refuse(const std::string& origin, const std::string& fault) {
  throw FileError(fmt::format("{}: {}", origin, fault));
}

/// Each range has the bytes of its type, inside the data.
void check_range(const std::string& origin, const Declaration& tensor,
                 std::uint64_t data_bytes) {
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    refuse(origin, fmt::format("the tensor {} has the bytes [{}, {}) of {} "
                               "bytes of data",
                               display_name(tensor.name), tensor.begin,
                               tensor.end, data_bytes));
  }
  std::uint64_t needed = 0;
  try {
    needed = tensor.type.size_bytes();
  } catch (const ShapeError& error) {
    refuse(origin, fmt::format("the tensor {}: {}", display_name(tensor.name),
                               error.message()));
  }
  if (needed != tensor.end - tensor.begin) {
    refuse(origin,
           fmt::format("the tensor {} is {}, which takes {} bytes, but has the "
                       "bytes [{}, {})",
                       display_name(tensor.name), tensor.type.text(), needed,
                       tensor.begin, tensor.end));
  }
}

/// The ranges follow one another from the first byte to the last.
void check_tiling(const std::string& origin,
                  const std::vector<Declaration>& tensors,
                  std::uint64_t data_bytes) {
  std::vector<const Declaration*> sorted;
  sorted.reserve(tensors.size());
  for (const Declaration& tensor : tensors) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  const Declaration* last = nullptr;
  std::uint64_t reached = 0;
  for (const Declaration* tensor : sorted) {
    if (tensor->begin < reached) {
      refuse(origin,
             fmt::format("the tensors {} and {} overlap: they have the "
                         "bytes [{}, {}) and [{}, {}) of the data",
                         display_name(last->name), display_name(tensor->name),
                         last->begin, last->end, tensor->begin, tensor->end));
    }
    if (tensor->begin > reached) {
      refuse(origin,
             fmt::format("no tensor has the bytes [{}, {}) of the "
                         "data, before the tensor {}",
                         reached, tensor->begin, display_name(tensor->name)));
    }
    last = tensor;
    reached = tensor->end;
  }
  if (reached != data_bytes) {
    refuse(origin, fmt::format("no tensor has the bytes [{}, {}) at the end of "
                               "the data",
                               reached, data_bytes));
  }
}

}  // namespace

std::string display_name(std::string_view name) {
  constexpr std::size_t limit = 100;
  std::size_t shown = std::min(name.size(), limit);
  if (shown < name.size()) {  // not within a character of UTF-8
    while (shown > 0 && (name[shown] & 0xC0) == 0x80) --shown;
  }
  std::string result = "\"";
  for (char c : name.substr(0, shown)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    result += control ? '?' : c;
  }
  return result + (shown < name.size() ? "...\"" : "\"");
}

std::uint64_t header_length(const std::string& origin,
                            std::span<const std::byte, length_bytes> length,
                            std::uint64_t file_bytes) {
  std::uint64_t result = 0;
  std::memcpy(&result, length.data(), length_bytes);
  if (result > file_bytes - length_bytes) {
    refuse(origin, fmt::format("the header's length, bytes 0 to 7, is {}, but "
                               "only {} bytes follow it",
                               result, file_bytes - length_bytes));
  }
  if (result > greatest_header) {
    refuse(origin, fmt::format("the header's length, bytes 0 to 7, is {}; at "
                               "most {} are read",
                               result, greatest_header));
  }
  return result;
}

Header parse_header(const std::string& origin, std::span<const std::byte> json,
                    std::uint64_t data_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(json.data()),
                              json.size());
  // Both would pass below: the parser skips a byte order mark and white space,
  // and takes a zero byte for the end.
  if (text.empty() || text.front() != '{') {
    refuse(origin, fmt::format("the header does not begin with {{ (byte {})",
                               length_bytes));
  }
  if (const auto zero = text.find('\0'); zero != text.npos) {
    refuse(origin, fmt::format("the header is not JSON at byte {} of the file",
                               length_bytes + zero));
  }
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) {
    refuse(origin, reader.fault());
  }
  Header header = std::move(reader).take();
  for (const Declaration& tensor : header.tensors) {
    check_range(origin, tensor, data_bytes);
  }
  check_tiling(origin, header.tensors, data_bytes);
  return header;
}

std::string header_text(const std::string& origin, const Header& header) {
  const auto literal = [&](const std::string& text, const std::string& of) {
    try {
      return nlohmann::json(text).dump();
    } catch (const nlohmann::json::exception&) {
      refuse(origin, fmt::format("cannot be written: {} is not UTF-8", of));
    }
  };
  std::string json;
  const auto begin_member = [&json] { json += json.empty() ? "{" : ","; };

  if (!header.metadata.empty()) {
    begin_member();
    json += fmt::format("\"{}\":", metadata_key);
    char separator = '{';
    for (const auto& [key, value] : header.metadata) {
      json += separator;
      json += literal(key, "a key of the metadata") + ":" +
              literal(value, fmt::format("the metadata {}", display_name(key)));
      separator = ',';
    }
    json += '}';
  }
  std::unordered_set<std::string_view> names;
  for (const Declaration& tensor : header.tensors) {
    if (tensor.name == metadata_key) {
      refuse(origin, fmt::format("cannot be written: the name {} belongs to "
                                 "the format",
                                 display_name(tensor.name)));
    }
    if (!names.insert(tensor.name).second) {
      refuse(origin, fmt::format("cannot be written: two tensors have the name "
                                 "{}",
                                 display_name(tensor.name)));
    }
    begin_member();
    json += fmt::format(
        R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
        literal(tensor.name, fmt::format("the name of the tensor {}",
                                         display_name(tensor.name))),
        format_name(tensor.type.dtype), tensor.type.shape.text(), tensor.begin,
        tensor.end);
  }
  json += json.empty() ? "{}" : "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');

  const std::uint64_t length = json.size();
  if (length > greatest_header) {
    refuse(origin, fmt::format("cannot be written: its header would take {} "
                               "bytes; at most {} are read",
                               length, greatest_header));
  }
  std::string result(length_bytes, '\0');
  std::memcpy(result.data(), &length, length_bytes);
  return result + json;
}

}  // namespace topos::io

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "io/file.h"
#include "io/safetensors_header.h"
#include "topos/error.h"
#include "topos/io.h"

namespace topos {

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little-endian, and copied as it is");

namespace {

using io::Declaration;
using io::Header;
using io::length_bytes;

/// Bytes that can be read from any place: a file, or memory.
struct Source {
  std::string origin;
  std::uint64_t size_bytes;
  std::function<void(std::uint64_t at, std::span<std::byte> to)> read;
};

Source source_of(const io::InputFile& file) {
  return {file.name(), file.size_bytes(),
          [&file](std::uint64_t at, std::span<std::byte> to) {
            file.read(at, to);
          }};
}

struct Opened {
  Header header;
  std::uint64_t data_at;
};

Opened open_header(const Source& source) {
  if (source.size_bytes < length_bytes) {
    throw FileError(
        fmt::format("{}: has {} bytes; the length of a safetensors header "
                    "alone takes {}",
                    source.origin, source.size_bytes, length_bytes));
  }
  std::array<std::byte, length_bytes> length;
  source.read(0, length);
  const std::uint64_t header_bytes =
      io::header_length(source.origin, length, source.size_bytes);
  std::vector<std::byte> json(header_bytes);
  source.read(length_bytes, json);
  const std::uint64_t data_at = length_bytes + header_bytes;
  return {io::parse_header(source.origin, json, source.size_bytes - data_at),
          data_at};
}

/// A bool of C++ that is neither 0 nor 1 would be undefined behaviour.
void check_booleans(const Source& source, const Declaration& tensor,
                    std::span<const std::byte> bytes) {
  const auto bad = std::find_if(bytes.begin(), bytes.end(),
                                [](std::byte b) { return b > std::byte{1}; });
  if (bad != bytes.end()) {
    throw FileError(fmt::format(
        "{}: the tensor {} is BOOL, but its byte {} is {}, not 0 or 1",
        source.origin, io::display_name(tensor.name), bad - bytes.begin(),
        std::to_integer<int>(*bad)));
  }
}

TensorFile read_tensors(const Source& source) {
  Opened opened = open_header(source);
  TensorFile result;
  result.tensors.reserve(opened.header.tensors.size());
  for (const Declaration& declared : opened.header.tensors) {
    std::byte* data = nullptr;
    const Tensor tensor = Tensor::uninitialized(declared.type, data);
    const std::span bytes(data, declared.type.size_bytes());
    source.read(opened.data_at + declared.begin, bytes);
    if (declared.type.dtype == boolean) {
      check_booleans(source, declared, bytes);
    }
    result.tensors.push_back({declared.name, tensor});
  }
  result.metadata = std::move(opened.header.metadata);
  return result;
}

}  // namespace

const Tensor* TensorFile::find(std::string_view name) const noexcept {
  for (const NamedTensor& item : tensors) {
    if (item.name == name) return &item.tensor;
  }
  return nullptr;
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  const io::InputFile file(path);
  return read_tensors(source_of(file));
}

TensorFile parse_safetensors(std::span<const std::byte> bytes,
                             std::string_view origin) {
  return read_tensors({std::string(origin), bytes.size(),
                       [bytes](std::uint64_t at, std::span<std::byte> to) {
                         const auto part = bytes.subspan(
                             static_cast<std::size_t>(at), to.size());
                         std::copy(part.begin(), part.end(), to.begin());
                       }});
}

Metadata read_safetensors_metadata(const std::filesystem::path& path) {
  const io::InputFile file(path);
  return open_header(source_of(file)).header.metadata;
}

void write_safetensors(const std::filesystem::path& path,
                       std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  Header header;
  header.metadata = metadata;
  for (const NamedTensor& item : tensors) {
    header.tensors.push_back({item.name, item.tensor.type()});
  }
  // Wide elements first: each tensor is then aligned to its elements without
  // the gaps that the format forbids.
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) {
                     return size_bytes(tensors[a].tensor.dtype()) >
                            size_bytes(tensors[b].tensor.dtype());
                   });
  std::uint64_t end = 0;
  for (std::size_t at : order) {
    Declaration& declared = header.tensors[at];
    declared.begin = end;
    end += declared.type.size_bytes();
    declared.end = end;
  }

  const std::string text = io::header_text(path.string(), header);
  io::AtomicFile file(path);
  file.append(std::as_bytes(std::span(text)));
  for (std::size_t at : order) {
    const Tensor tensor = tensors[at].tensor.contiguous();
    file.append({tensor.data(), tensor.type().size_bytes()});
  }
  file.commit();
}

}  // namespace topos

#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topos/tensor.h"

/// \file
/// Files of named tensors, and files as such. Knows names, tensors and bytes,
/// and no network: `checkpoint.h` joins the two.

namespace topos {

/// What a file says beside its tensors, such as a step count.
using Metadata = std::map<std::string, std::string>;

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// The content of a file of tensors.
struct TensorFile {
  /// In the order in which the file's header names them.
  std::vector<NamedTensor> tensors;
  Metadata metadata;

  /// The tensor of that name, or nullptr.
  const Tensor* find(std::string_view name) const noexcept;
};

/// Reads a safetensors file: F32, F64, I32, I64 and BOOL, to the bit (payloads
/// of NaN too), wherever in the file a tensor lies.
///
/// The file is not trusted. Its header is checked in full before memory for
/// tensors is asked for, and that is never more than the file's size. Refused
/// is what the format's reference reader refuses (gaps, overlaps, trailing
/// bytes, a length that is not the shape's, a header above 100 MB), and also a
/// repeated name, a member that the format does not know, and a BOOL byte
/// above 1.
///
/// \throws FileError     cannot be read or is malformed; names the path, and
///                       the byte or the tensor at fault; also of a dtype or a
///                       rank that topos does not hold
/// \throws RuntimeError  the memory cannot be had
/// \see    github.com/safetensors/safetensors, "Format"
TensorFile read_safetensors(const std::filesystem::path& path);

/// The same from memory; `origin` stands for the path in messages.
TensorFile parse_safetensors(std::span<const std::byte> bytes,
                             std::string_view origin = "safetensors");

/// The metadata alone: the header is read and checked, the tensors are not
/// read.
/// \throws FileError  as read_safetensors
Metadata read_safetensors_metadata(const std::filesystem::path& path);

/// Writes a safetensors file, atomically as `write_file_atomically`. Each
/// tensor is aligned to its element size, the first one to 8 bytes. The header
/// keeps the given order; equal content gives equal bytes.
///
/// \throws FileError  cannot be written; a name is given twice, is
///                    `__metadata__` or is not UTF-8
void write_safetensors(const std::filesystem::path& path,
                       std::span<const NamedTensor> tensors,
                       const Metadata& metadata = {});

/// All bytes of a regular file.
/// \throws FileError  it cannot be read, or is a folder, a pipe or a device,
///                    which might never end
std::string read_file(const std::filesystem::path& path);

/// Replaces the content of a file, or creates it: a reader sees the old one or
/// the new one and never a part, even after a crash of the machine. On an
/// error, or if the process is killed, the old one stays, and nothing else is
/// left in its folder.
///
/// An existing file keeps its permissions, a link its target. A device or a
/// pipe (`/dev/stdout`) has no old content to keep and is written directly.
///
/// \throws FileError  it cannot be written; says why
void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path,
                           std::string_view text);

/// Whether `write_file_atomically` can begin, for programs that ask before
/// they work for an hour. Changes nothing.
/// \throws FileError  it cannot; says why
void check_writable(const std::filesystem::path& path);

}  // namespace topos

#include "runtime/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "topos/error.h"

namespace topos::runtime {
namespace {

/// What is wrong with an argument; empty if nothing is.
std::string fault(const Signature& signature, std::size_t at, int device,
                  const void* owner, const Buffer* given) {
  if (given == nullptr) return "is no buffer";
  const auto* buffer = dynamic_cast<const PlacedBuffer*>(given);
  if (buffer == nullptr || buffer->owner() != owner) {
    return "is another client's";
  }
  if (buffer->gone()) return "was donated to an earlier run";
  const Type& wanted = signature.arguments[at];
  if (buffer->type() != wanted) {
    return fmt::format("is {}, not {}", buffer->type().text(), wanted.text());
  }
  if (buffer->device() != device) {
    return fmt::format("lies on device {}", buffer->device());
  }
  if (signature.donated_to[at] && buffer->borrowed()) {
    return "is donated, but its memory is borrowed";
  }
  return "";
}

}  // namespace

void check_signature(const Signature& signature) {
  if (signature.donated_to.size() == signature.arguments.size()) return;
  throw UsageError(fmt::format(
      "the signature has {} arguments, but says of {} whether they are donated",
      signature.arguments.size(), signature.donated_to.size()));
}

void check_arguments(const Signature& signature, std::size_t devices,
                     const void* owner, std::span<Buffer* const> arguments) {
  const std::size_t per_device = signature.arguments.size();
  if (arguments.size() != devices * per_device) {
    throw UsageError(fmt::format(
        "the program takes {} arguments on each of {} devices, not {} in all",
        per_device, devices, arguments.size()));
  }
  std::vector<const Buffer*> donated;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::size_t at = i % per_device;
    const std::size_t device = i / per_device;
    const std::string clause =
        fault(signature, at, static_cast<int>(device), owner, arguments[i]);
    if (!clause.empty()) {
      throw UsageError(
          fmt::format("argument {} of device {} {}", at, device, clause));
    }
    if (signature.donated_to[at]) donated.push_back(arguments[i]);
  }
  if (donated.empty()) return;
  // Twice donated, or donated and read.
  std::vector<const Buffer*> all(arguments.begin(), arguments.end());
  std::ranges::sort(all);
  for (const Buffer* buffer : donated) {
    if (std::ranges::equal_range(all, buffer).size() > 1) {
      throw UsageError("a donated buffer is given as two arguments");
    }
  }
}

std::string with_line_quoted(const std::string& message,
                             std::string_view text) {
  constexpr std::string_view mark = "-:";
  for (auto at = message.find(mark); at != std::string::npos;
       at = message.find(mark, at + 1)) {
    const char* first = message.data() + at + mark.size();
    const char* last = message.data() + message.size();
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(first, last, number);
    if (error != std::errc() || end == last || *end != ':' || number == 0) {
      continue;
    }
    std::string_view rest = text;
    for (std::size_t line = 1; line < number; ++line) {
      const auto newline = rest.find('\n');
      if (newline == std::string_view::npos) return message;
      rest.remove_prefix(newline + 1);
    }
    return fmt::format("{}\nline {} of the text: {}", message, number,
                       rest.substr(0, rest.find('\n')));
  }
  return message;
}

}  // namespace topos::runtime

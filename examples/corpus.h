#pragma once

#include <topos/error.h>
#include <topos/io.h>
#include <topos/random.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Word lists as data for models that predict the next character.

namespace examples {

/// The vocabulary: `.` ends a word and is 0, a to z are 1 to 26.
inline constexpr int vocabulary = 27;

inline char letter(int token) {
  return token == 0 ? '.' : static_cast<char>('a' + token - 1);
}

/// The first character of a text for a message: 'é' (U+00E9), or byte 0xE9 if
/// it is not UTF-8.
inline std::string character_at_front(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  char buffer[40];
  if (byte(0) >= 0x20 && byte(0) < 0x7F) return {'\'', text[0], '\''};
  const std::size_t length = byte(0) >= 0xF0   ? 4
                             : byte(0) >= 0xE0 ? 3
                             : byte(0) >= 0xC2 ? 2
                                               : 1;
  std::uint32_t code = byte(0) & (0x7Fu >> length);
  bool is_utf8 = length > 1;
  for (std::size_t i = 1; i < length; ++i) {
    is_utf8 = is_utf8 && (byte(i) & 0xC0u) == 0x80u;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  if (!is_utf8) {
    std::snprintf(buffer, sizeof buffer, "byte 0x%02X", byte(0));
    return buffer;
  }
  std::snprintf(buffer, sizeof buffer, " (U+%04X)", code);
  return "'" + std::string(text.substr(0, length)) + "'" + buffer;
}

/// The words of a file, one a line, letters a to z. Empty lines do not count; a
/// line may end as on Windows.
///
/// \throws topos::FileError  the file cannot be read, has no word, or another
///                           character: names the line and the character
inline std::vector<std::string> read_words(const std::filesystem::path& path) {
  const std::string text = topos::read_file(path);
  std::vector<std::string> words;
  std::string_view rest = text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.ends_with('\r')) word.remove_suffix(1);
    const auto foreign = std::find_if(
        word.begin(), word.end(), [](char c) { return c < 'a' || c > 'z'; });
    if (foreign != word.end()) {
      const auto at = static_cast<std::size_t>(foreign - word.begin());
      throw topos::FileError(path.string() + ":" + std::to_string(line) + ": " +
                             character_at_front(word.substr(at)) +
                             " is not a letter from a to z");
    }
    if (!word.empty()) words.emplace_back(word);
  }
  if (words.empty()) {
    throw topos::FileError(path.string() + ": there is no word in it");
  }
  return words;
}

/// What a model learns from: after these characters comes that one.
struct Samples {
  int context = 0;                     ///< characters of history
  std::vector<std::int32_t> contexts;  ///< [count, context]
  std::vector<std::int32_t> targets;   ///< [count]

  std::size_t count() const { return targets.size(); }

  /// `rows` samples from `start` on, without a copy.
  std::span<const std::int32_t> contexts_at(std::size_t start,
                                            std::size_t rows) const {
    const auto width = static_cast<std::size_t>(context);
    return std::span(contexts).subspan(start * width, rows * width);
  }
  std::span<const std::int32_t> targets_at(std::size_t start,
                                           std::size_t rows) const {
    return std::span(targets).subspan(start, rows);
  }
};

/// One sample for each character of each word and for its end; what comes
/// before a word reads as `.`.
inline Samples make_samples(const std::vector<std::string>& words,
                            int context) {
  Samples samples;
  samples.context = context;
  std::vector<std::int32_t> history(static_cast<std::size_t>(context));
  for (const std::string& word : words) {
    std::fill(history.begin(), history.end(), 0);
    for (std::size_t i = 0; i <= word.size(); ++i) {
      const std::int32_t next = i < word.size() ? word[i] - 'a' + 1 : 0;
      samples.contexts.insert(samples.contexts.end(), history.begin(),
                              history.end());
      samples.targets.push_back(next);
      std::rotate(history.begin(), history.begin() + 1, history.end());
      history.back() = next;
    }
  }
  return samples;
}

/// The Fisher-Yates shuffle, from the last sample down [Knuth, TAOCP vol. 2,
/// 3.4.2, algorithm P]: i changes places with floor(u (i + 1)).
inline void shuffle(Samples& samples, topos::SplitMix& random) {
  const auto width = static_cast<std::size_t>(samples.context);
  const std::span<std::int32_t> contexts = samples.contexts;
  for (std::size_t i = samples.count(); i-- > 1;) {
    const auto j =
        static_cast<std::size_t>(random.unit() * static_cast<double>(i + 1));
    std::swap(samples.targets[i], samples.targets[j]);
    std::ranges::swap_ranges(contexts.subspan(i * width, width),
                             contexts.subspan(j * width, width));
  }
}

}  // namespace examples

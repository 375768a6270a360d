#pragma once

#include <string>

namespace topos {

/// A place in the user's source. As a default argument `Site::here()` is the
/// caller's line.
struct Site {
  const char* file = "";
  int line = 0;

  static constexpr Site here(const char* file = __builtin_FILE(),
                             int line = __builtin_LINE()) noexcept {
    return {file, line};
  }

  constexpr bool known() const noexcept { return line > 0; }

  /// `file.cpp:12`, without the folders; empty if not known.
  std::string text() const;
};

/// Marks a layer or a reading: while a Frame lives, what its thread records
/// carries the line of the outermost frame beside its own, and errors name the
/// user's line first, then the layer's.
///
///     Value Linear::operator()(Operand x) const {
///       Frame frame(x.site);
///       return matmul(x, weight) + bias;
///     }
class Frame {
 public:
  explicit Frame(Site site) noexcept;
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  /// The outermost frame's line on this thread; not known without a frame.
  static Site outermost() noexcept;

 private:
  bool opened_;
};

}  // namespace topos

#pragma once

#include <stdexcept>
#include <string>
#include <utility>

/// \file
/// One exception family. Every message says what was asked, what was found,
/// and where the user wrote it. The child tells whose fault it is.

namespace topos {

/// The root of everything that topos throws.
///
/// Context is added on the way up to the same exception: a rule states its
/// bare clause, the recorder puts line, operation and types around it.
class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}

  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const noexcept { return message_; }

  /// Puts `before`, which names the line, in front of the message and `after`
  /// behind it. Once: what called the caller adds nothing.
  void add_context(const std::string& before, const std::string& after = {}) {
    if (placed_) return;
    message_ = before + message_ + after;
    placed_ = true;
  }

 private:
  std::string message_;
  bool placed_ = false;
};

/// Shapes, extents, ranks or axes that do not fit.
class ShapeError : public Error {
  using Error::Error;
};

/// Data types that do not fit, or a number that its type cannot hold.
class DTypeError : public Error {
  using Error::Error;
};

/// An index outside its axis, found in data.
class IndexError : public Error {
  using Error::Error;
};

/// A value, symbol, feed, plan or session used where it cannot be.
class UsageError : public Error {
  using Error::Error;
};

/// A file that cannot be read, written or understood; names the file and the
/// byte or the tensor at fault.
class FileError : public Error {
  using Error::Error;
};

/// The machine's: memory, threads, a device.
class RuntimeError : public Error {
  using Error::Error;
};

/// Ours. It says so, and no test expects it.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message)
      : Error("internal error of topos, please report it: " + message) {}
};

}  // namespace topos

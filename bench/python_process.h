#pragma once

#include <sys/types.h>

#include <cstdio>
#include <span>
#include <string>
#include <vector>

/// \file
/// A Python program beside this one, asked a line at a time.

namespace topos::bench {

class PythonProcess {
 public:
  /// \throws std::runtime_error  it cannot be started
  explicit PythonProcess(std::vector<std::string> command);
  /// Its input ends, and so does it.
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  void write(std::span<const std::byte> bytes);
  template <class T>
  void write_elements(const std::vector<T>& elements) {
    write(std::as_bytes(std::span(elements)));
  }

  /// The next line of its output.
  /// \throws std::runtime_error  it has ended; its own words are on stderr
  std::string line();
  std::string ask(const std::string& request);

 private:
  pid_t id_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace topos::bench

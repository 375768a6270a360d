#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/file.h"

/// \file
/// A program that runs beside this one and never outlives it.

namespace topos::runtime::server {

/// A child process whose standard input is a socket and whose output, both
/// kinds, is kept: the last of it, for error messages.
///
/// However this process ends, the child is gone: by the destructor, by the end
/// of its socket, or by the kernel, which kills it when its parent dies.
class Process {
 public:
  /// \param command   the program, found on PATH if it has no slash, and its
  ///                  arguments
  /// \param socket    becomes standard input
  /// \param program   becomes descriptor 3
  /// \throws RuntimeError  it cannot be started: the system's reason
  Process(std::vector<std::string> command, io::Descriptor socket,
          io::Descriptor program);
  /// Ends it if `end` did not.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }

  /// Waits until it has ended by itself or `grace` is over, then asks it to
  /// end, then kills it. \return  `ended with status 3`, `was killed by signal
  /// 9 (Killed)`, `had to
  ///          be stopped`
  const std::string& end(std::chrono::milliseconds grace);

  /// What it wrote last, at most some twenty lines, each indented. After `end`
  /// that is all of it.
  std::string last_words();

  /// After a fork: the child is not this process's.
  void abandon();

 private:
  void watch(const char* path, std::vector<char*> arguments);
  int start(const char* path, char* const* arguments);
  bool wait(std::chrono::milliseconds limit);
  void keep(std::string_view output);

  std::vector<std::string> command_;
  io::Descriptor socket_;
  io::Descriptor program_;
  io::Descriptor output_;  // the end that we read
  io::Descriptor childs_output_;
  io::Descriptor stop_;  // an eventfd: the watcher returns
  pid_t id_ = -1;
  std::string ending_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  int start_error_ = 0;
  bool output_ended_ = false;
  std::string output_tail_;
  std::thread watcher_;
};

}  // namespace topos::runtime::server

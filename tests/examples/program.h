#pragma once

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// \file
/// Runs built programs as a shell would.

namespace topos {

using Arguments = std::vector<std::string>;

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What a program leaves behind.
struct Finished {
  int exit_code = -1;  ///< 128 plus the signal that killed it
  std::string out;
  std::string err;
};

/// A program that runs in a folder of the test's own, which takes its output.
class Process {
 public:
  Process(const std::filesystem::path& folder, const std::string& program,
          const Arguments& arguments)
      : folder_(folder) {
    child_ = ::fork();
    if (child_ < 0) throw std::runtime_error("fork failed");
    if (child_ == 0) run(folder, program, arguments);
  }
  ~Process() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits until the program has written `text`.
  void wait_for(const std::string& text) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (text_of(folder_ / "out").find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > end) {
        throw std::runtime_error("never written: " + text + "\nbut:\n" +
                                 text_of(folder_ / "out"));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  void send(int signal) const { ::kill(child_, signal); }

  Finished finish() {
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            text_of(folder_ / "out"), text_of(folder_ / "err")};
  }

  /// Becomes the program. Never returns.
  [[noreturn]] static void execute(const std::string& program,
                                   const Arguments& arguments) {
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }

 private:
  [[noreturn]] static void run(const std::filesystem::path& folder,
                               const std::string& program,
                               const Arguments& arguments) {
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
    if (::chdir(folder.c_str()) != 0 ||
        ::dup2(::open("out", flags, 0600), STDOUT_FILENO) < 0 ||
        ::dup2(::open("err", flags, 0600), STDERR_FILENO) < 0) {
      ::_exit(126);
    }
    execute(program, arguments);
  }

  std::filesystem::path folder_;
  pid_t child_ = -1;
};

inline Finished run(const std::filesystem::path& folder,
                    const std::string& program, const Arguments& arguments) {
  return Process(folder, program, arguments).finish();
}

/// Everything that the program writes to a terminal.
inline Finished run_on_terminal(const std::filesystem::path& folder,
                                const std::string& program,
                                const Arguments& arguments) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child < 0) throw std::runtime_error("forkpty failed");
  if (child == 0) {
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    Process::execute(program, arguments);
  }
  Finished result;
  char buffer[4096];
  // The end of a terminal is an error (EIO).
  for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) {
    result.out.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace topos

#include "python_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

extern char** environ;

namespace topos::bench {

PythonProcess::PythonProcess(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  // Closed in the child but for the copies that it gets as 0 and 1.
  std::array<int, 2> in = {-1, -1};
  std::array<int, 2> out = {-1, -1};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 ||
      ::pipe2(out.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe can be had");
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int error = ::posix_spawnp(&id_, arguments[0], &actions, nullptr,
                                   arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  to_ = ::fdopen(in[1], "w");
  from_ = ::fdopen(out[0], "r");
  if (error != 0) id_ = -1;
}

PythonProcess::~PythonProcess() {
  std::fclose(to_);
  std::fclose(from_);
  if (id_ > 0) ::waitpid(id_, nullptr, 0);
}

void PythonProcess::write(std::span<const std::byte> bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), to_);
}

std::string PythonProcess::line() {
  std::fflush(to_);
  std::string result;
  for (int c; (c = std::fgetc(from_)) != '\n';) {
    if (c == EOF) throw std::runtime_error("the Python program has ended");
    result += static_cast<char>(c);
  }
  return result;
}

std::string PythonProcess::ask(const std::string& request) {
  write(std::as_bytes(std::span(request)));
  return line();
}

}  // namespace topos::bench

#include "runtime/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/system.h"
#include "topos/error.h"

namespace topos::runtime::server {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kept_output_bytes = 4096;
constexpr std::size_t kept_output_lines = 20;

[[noreturn]] void refuse(std::string_view what, int error) {
  throw RuntimeError(fmt::format("{}: {}", what, reason(error)));
}

/// The same file under a number that no standard stream of the child has, even
/// where this process was started without its own.
io::Descriptor raised(const io::Descriptor& file) {
  io::Descriptor copy(::fcntl(file.number(), F_DUPFD_CLOEXEC, 10));
  if (!copy.open()) refuse("a descriptor cannot be had", errno);
  return copy;
}

std::pair<io::Descriptor, io::Descriptor> make_pipe() {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    refuse("a pipe cannot be had", errno);
  }
  return {io::Descriptor(ends[0]), io::Descriptor(ends[1])};
}

std::string killed_by(int signal) {
  const char* name = ::strsignal(signal);
  return fmt::format("was killed by signal {} ({})", signal,
                     name != nullptr ? name : "unknown");
}

bool is_program(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) &&
         ::access(path.c_str(), X_OK) == 0;
}

/// The path of a program as a shell would find it.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;  // exec tells the rest
  const std::string folders = variable("PATH").value_or("/usr/bin:/bin");
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const auto candidate =
        std::filesystem::path(folders.substr(at, end - at)) / name;
    if (is_program(candidate)) return candidate.string();
    at = end + 1;
  }
  throw RuntimeError(fmt::format("{} is not on PATH", name));
}

/// Between fork and exec: only what is safe there in a process with threads.
[[noreturn]] void become(const char* path, char* const* arguments, pid_t parent,
                         int socket, int output, int program, int report) {
  const bool ready = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
                     ::getppid() == parent && ::dup2(socket, 0) >= 0 &&
                     ::dup2(output, 1) >= 0 && ::dup2(output, 2) >= 0 &&
                     ::dup2(program, 3) >= 0;
  if (ready) {
    // What others here opened without O_CLOEXEC is not the child's. Old kernels
    // refuse, and then it is.
    constexpr unsigned cloexec = 1U << 2;  // CLOSE_RANGE_CLOEXEC
    ::syscall(SYS_close_range, 4U, ~0U, cloexec);
    // A group of its own, to be killed with all that it may start; and
    // Control-C at a terminal is for this process to understand.
    ::setpgid(0, 0);
    ::signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(path, arguments, environ);
  }
  const int error = errno;
  [[maybe_unused]] const auto told = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

Process::Process(std::vector<std::string> command, io::Descriptor socket,
                 io::Descriptor program)
    : command_(std::move(command)),
      socket_(raised(socket)),
      program_(raised(program)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_.open()) refuse("an eventfd cannot be had", errno);
  auto [output, childs_output] = make_pipe();
  output_ = std::move(output);
  childs_output_ = raised(childs_output);
  const std::string path = find_program(command_.front());
  std::vector<char*> arguments;
  for (std::string& argument : command_) arguments.push_back(argument.data());
  arguments.push_back(nullptr);

  watcher_ = std::thread([&] { watch(path.c_str(), std::move(arguments)); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return started_; });
  if (start_error_ == 0) return;
  lock.unlock();
  watcher_.join();
  refuse(fmt::format("{} cannot be started", command_.front()), start_error_);
}

Process::~Process() {
  if (!watcher_.joinable()) return;
  end(0ms);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto told = ::write(stop_.number(), &one, sizeof one);
  watcher_.join();
}

void Process::abandon() {
  // The thread stayed behind in the other process.
  if (watcher_.joinable()) watcher_.detach();
}

/// The child is killed when the *thread* that started it ends, whatever becomes
/// of the process: so it is started here, on a thread that stays with it.
void Process::watch(const char* path, std::vector<char*> arguments) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  const int error = start(path, arguments.data());
  {
    const std::lock_guard lock(mutex_);
    started_ = true;
    start_error_ = error;
  }
  changed_.notify_all();  // path and arguments end here
  if (error != 0) return;

  std::array<pollfd, 2> files = {pollfd{stop_.number(), POLLIN, 0},
                                 pollfd{output_.number(), POLLIN, 0}};
  std::array<char, 4096> buffer;
  for (;;) {
    if (::poll(files.data(), files.size(), -1) < 0) continue;
    if (files[0].revents != 0) return;
    const auto got = ::read(output_.number(), buffer.data(), buffer.size());
    if (got > 0) {
      keep({buffer.data(), static_cast<std::size_t>(got)});
    } else if (got == 0 || errno != EINTR) {
      files[1].fd = -1;
      const std::lock_guard lock(mutex_);
      output_ended_ = true;
      changed_.notify_all();
    }
  }
}

/// \return 0, or why there is no child
int Process::start(const char* path, char* const* arguments) {
  std::array<int, 2> report = {};
  if (::pipe2(report.data(), O_CLOEXEC) != 0) return errno;
  io::Descriptor read_end(report[0]);
  io::Descriptor write_end(::fcntl(report[1], F_DUPFD_CLOEXEC, 10));
  ::close(report[1]);
  if (!write_end.open()) return errno;
  const pid_t parent = ::getpid();
  id_ = ::fork();
  if (id_ == 0) {
    become(path, arguments, parent, socket_.number(), childs_output_.number(),
           program_.number(), write_end.number());
  }
  const int fork_error = id_ < 0 ? errno : 0;
  write_end.close();
  socket_.close();
  program_.close();
  childs_output_.close();
  if (fork_error != 0) return fork_error;
  // Closed by a successful exec: then there is nothing to read.
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(read_end.number(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof error) return 0;
  ::waitpid(id_, nullptr, 0);
  return error != 0 ? error : ECHILD;
}

void Process::keep(std::string_view output) {
  const std::lock_guard lock(mutex_);
  output_tail_ += output;
  if (output_tail_.size() > 2 * kept_output_bytes) {
    output_tail_.erase(0, output_tail_.size() - kept_output_bytes);
  }
}

/// \return whether it has ended; how, is then in `ending_`
bool Process::wait(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (auto pause = 100us;; pause = std::min(2 * pause, 10'000us)) {
    // Looked at before it is taken: until then nobody else has its number, nor
    // the group's.
    siginfo_t seen = {};
    const int result = ::waitid(P_PID, static_cast<id_t>(id_), &seen,
                                WEXITED | WNOHANG | WNOWAIT);
    if (result < 0 && errno == ECHILD) {
      ending_ = "ended";  // somebody else here waits for all children
      return true;
    }
    if (result == 0 && seen.si_pid == id_) {
      ending_ = seen.si_code == CLD_EXITED
                    ? fmt::format("ended with status {}", seen.si_status)
                    : killed_by(seen.si_status);
      ::kill(-id_, SIGKILL);
      ::waitpid(id_, nullptr, 0);
      return true;
    }
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
  }
}

const std::string& Process::end(std::chrono::milliseconds grace) {
  if (!ending_.empty() || wait(grace)) return ending_;
  ::kill(-id_, SIGTERM);
  if (!wait(1s)) {
    ::kill(-id_, SIGKILL);
    while (!wait(1s)) {
    }
  }
  ending_ = "had to be stopped";
  return ending_;
}

std::string Process::last_words() {
  std::unique_lock lock(mutex_);
  // Its own children may have inherited the pipe: not for ever.
  if (!ending_.empty()) {
    changed_.wait_for(lock, 300ms, [&] { return output_ended_; });
  }
  std::string_view rest = output_tail_;
  if (rest.size() > kept_output_bytes) {
    rest.remove_prefix(rest.size() - kept_output_bytes);
    rest.remove_prefix(std::min(rest.find('\n') + 1, rest.size()));
  }
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  std::size_t start = rest.size();
  for (std::size_t lines = 0; lines < kept_output_lines && start > 0; ++lines) {
    const std::size_t before = rest.rfind('\n', start - 1);
    start = before == std::string_view::npos ? 0 : before;
  }
  std::string words;
  rest.remove_prefix(start);
  if (rest.empty()) return words;
  if (!rest.starts_with('\n')) words += "\n  ";
  for (const char c : rest) {
    if (c == '\n') {
      words += "\n  ";
    } else if (static_cast<unsigned char>(c) >= ' ' || c == '\t') {
      words += c;
    }
  }
  return words;
}

}  // namespace topos::runtime::server

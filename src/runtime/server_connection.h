#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "runtime/server_frames.h"
#include "runtime/server_process.h"

namespace topos::runtime::server {

/// Asks a server, in order, from any thread.
///
/// What goes wrong between the two ends the server and the connection: that
/// request and every later one is a RuntimeError which says what was asked, how
/// the server ended and what it wrote last. A refusal ends nothing.
class Connection {
 public:
  using Limit = std::chrono::milliseconds;

  /// Starts a server. \param command  a Python and its arguments
  explicit Connection(std::vector<std::string> command);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends what is not answered, at the latest with the next question. Never
  /// throws: that next question does, or `expect_alive`.
  void post(Frame frame, const io::Descriptor* file = nullptr) noexcept;

  /// Asks and waits.
  ///
  /// \param what  for messages: `a program cannot be compiled`
  /// \param take  reads the answer
  void ask(std::string_view what, Frame frame, Limit limit,
           const std::function<void(Fields&)>& take,
           const io::Descriptor* file = nullptr);

  /// Ends the server, which has nothing to do any more.
  void close() noexcept;

  /// Whether there is still a server to ask, as far as is known: waits for
  /// nothing.
  bool alive();
  /// \throws RuntimeError  there is none
  /// \throws UsageError    this is a fork of the process that has it
  void expect_alive(std::string_view what);

  pid_t process() const { return process_->id(); }

 private:
  using Clock = std::chrono::steady_clock;

  void check_owner(std::string_view what) const;
  void check_known_alive(std::string_view what) const;
  bool hangs_up() const;
  void send(const io::Descriptor* file, Clock::time_point deadline);
  std::string_view receive(Clock::time_point deadline);
  void receive_some(Clock::time_point deadline);
  void await(short events, Clock::time_point deadline);
  [[noreturn]] void fail(std::string_view what, const std::string& why,
                         std::chrono::milliseconds grace);

  std::mutex mutex_;
  std::string name_;
  std::unique_ptr<Process> process_;
  io::Descriptor socket_;
  pid_t owner_;
  std::uint64_t request_ = 0;
  std::string outgoing_;
  std::vector<char> incoming_;
  std::size_t received_ = 0;
  /// Why there is no server any more; empty while there is one.
  std::string dead_;
};

/// A file that has no name and is gone with its last descriptor.
io::Descriptor make_shared_file();
/// \throws RuntimeError  the memory cannot be had; or, of reading, the file
/// ends
void write_shared(const io::Descriptor& file, std::span<const std::byte> from);
void read_shared(const io::Descriptor& file, std::span<std::byte> to);

}  // namespace topos::runtime::server

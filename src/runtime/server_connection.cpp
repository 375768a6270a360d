#include "runtime/server_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "runtime/server_program.h"
#include "runtime/system.h"
#include "topos/error.h"

namespace topos::runtime::server {
namespace {

using namespace std::chrono_literals;

// Answers are elements of at most a few small results, or a text.
constexpr std::uint64_t greatest_answer_bytes = 64U << 20U;
// What is posted goes out when this much has gathered.
constexpr std::size_t gathered_bytes = 1U << 16U;
// A server that has closed its end is about to end: it may say how.
constexpr auto last_grace = 2s;

// Reads the program from where Process puts it. Its name is for tracebacks.
constexpr std::string_view bootstrap =
    "exec(compile(open(3, encoding='utf-8').read(), 'xla_server.py', 'exec'))";

/// What went wrong with the server or the way to it.
struct Broken {
  std::string why;
  /// How long the server may take to end by itself.
  std::chrono::milliseconds grace;
};

std::vector<std::string> with_bootstrap(std::vector<std::string> command) {
  command.insert(command.end(), {"-c", std::string(bootstrap)});
  return command;
}

/// A server's socket and, of the two ends, ours.
std::pair<io::Descriptor, io::Descriptor> make_sockets() {
  std::array<int, 2> ends = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw RuntimeError(
        fmt::format("a socket cannot be had: {}", reason(errno)));
  }
  return {io::Descriptor(ends[0]), io::Descriptor(ends[1])};
}

}  // namespace

io::Descriptor make_shared_file() {
  io::Descriptor file(::memfd_create("topos", MFD_CLOEXEC));
  if (!file.open()) {
    throw RuntimeError(
        fmt::format("shared memory cannot be had: {}", reason(errno)));
  }
  return file;
}

void write_shared(const io::Descriptor& file, std::span<const std::byte> from) {
  while (!from.empty()) {
    const auto written = ::write(file.number(), from.data(), from.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      throw RuntimeError(
          fmt::format("{} bytes of shared memory cannot be had: "
                      "{}",
                      from.size(), reason(errno)));
    }
    from = from.subspan(static_cast<std::size_t>(written));
  }
}

void read_shared(const io::Descriptor& file, std::span<std::byte> to) {
  for (off_t at = 0; !to.empty();) {
    const auto got = ::pread(file.number(), to.data(), to.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Fields::Malformed{
          fmt::format("{} bytes too few in shared memory", to.size())};
    }
    to = to.subspan(static_cast<std::size_t>(got));
    at += got;
  }
}

Connection::Connection(std::vector<std::string> command)
    : name_(fmt::format("{}", fmt::join(command, " "))), owner_(::getpid()) {
  auto [ours, servers] = make_sockets();
  socket_ = std::move(ours);
  io::Descriptor text = make_shared_file();
  write_shared(text, std::as_bytes(std::span(program)));
  ::lseek(text.number(), 0, SEEK_SET);
  try {
    process_ = std::make_unique<Process>(with_bootstrap(std::move(command)),
                                         std::move(servers), std::move(text));
  } catch (const RuntimeError& error) {
    throw RuntimeError(
        "xla-server: the server cannot be started (TOPOS_XLA_PYTHON names a "
        "Python with jax): " +
        error.message());
  }
  incoming_.resize(std::size_t{1} << 16U);
}

Connection::~Connection() { close(); }

void Connection::close() noexcept {
  if (owner_ != ::getpid()) {
    if (process_ != nullptr) process_->abandon();
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!socket_.open()) return;
  // Not only closed: a forked copy of this process may hold it, too.
  ::shutdown(socket_.number(), SHUT_RDWR);
  socket_.close();
  dead_ = "it was closed";
  try {
    process_->end(1s);
  } catch (const std::bad_alloc&) {
    // Then it is killed at once.
  }
  process_.reset();
}

bool Connection::alive() {
  if (owner_ != ::getpid()) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return true;  // somebody is being answered
  return dead_.empty() && socket_.open() && !hangs_up();
}

/// Nobody may have asked since it ended.
bool Connection::hangs_up() const {
  pollfd look = {socket_.number(), 0, 0};
  return ::poll(&look, 1, 0) > 0;
}

void Connection::expect_alive(std::string_view what) {
  check_owner(what);
  const std::lock_guard lock(mutex_);
  check_known_alive(what);
  if (hangs_up()) fail(what, "it took no more requests", last_grace);
}

void Connection::check_known_alive(std::string_view what) const {
  if (dead_.empty()) return;
  throw RuntimeError(
      fmt::format("xla-server: {}: the server is gone: {}", what, dead_));
}

void Connection::check_owner(std::string_view what) const {
  if (owner_ == ::getpid()) return;
  throw UsageError(
      fmt::format("xla-server: {}: the server belongs to process {}, and this "
                  "is a fork of it",
                  what, owner_));
}

void Connection::post(Frame frame, const io::Descriptor* file) noexcept {
  if (owner_ != ::getpid()) return;
  const std::lock_guard lock(mutex_);
  if (!dead_.empty()) return;
  constexpr std::string_view what = "sending";
  try {
    frame.seal(++request_, file != nullptr, outgoing_);
    if (file == nullptr && outgoing_.size() < gathered_bytes) return;
    send(file, Clock::now() + 60s);
  } catch (const Broken& broken) {
    try {
      fail(what, broken.why, broken.grace);
    } catch (const std::exception&) {
    }
  } catch (const std::bad_alloc&) {
    dead_ = "the memory for a request could not be had";
  }
}

void Connection::ask(std::string_view what, Frame frame, Limit limit,
                     const std::function<void(Fields&)>& take,
                     const io::Descriptor* file) {
  check_owner(what);
  const std::lock_guard lock(mutex_);
  check_known_alive(what);
  const auto start = Clock::now();
  std::string refusal;
  try {
    frame.seal(++request_, file != nullptr, outgoing_);
    send(file, start + limit);
    const std::string_view payload = receive(start + limit);
    FrameHeader header;
    std::memcpy(&header, incoming_.data(), sizeof header);
    if (header.kind == Kind::answer) {
      Fields fields(payload);
      take(fields);
      fields.end();
      return;
    }
    refusal = payload;
  } catch (const Fields::Malformed& malformed) {
    fail(what, "its answer is malformed: " + malformed.why, 0ms);
  } catch (const Broken& broken) {
    const std::chrono::duration<double> waited = Clock::now() - start;
    fail(what, fmt::format("{} after {:.1f} s", broken.why, waited.count()),
         broken.grace);
  }
  throw RuntimeError(fmt::format("xla-server: {}: {}", what, refusal));
}

void Connection::fail(std::string_view what, const std::string& why,
                      std::chrono::milliseconds grace) {
  ::shutdown(socket_.number(), SHUT_RDWR);
  socket_.close();
  const std::string& ending = process_->end(grace);
  const std::string words = process_->last_words();
  dead_ = fmt::format(
      "{} {}: {}{}{}", name_, ending, why,
      words.empty() ? "; it wrote nothing" : "; the last that it wrote:",
      words);
  process_.reset();
  throw RuntimeError(fmt::format("xla-server: {}: {}", what, dead_));
}

void Connection::await(short events, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd file = {socket_.number(), events, 0};
    const auto most = std::chrono::milliseconds(1h);
    const auto count =
        left.count() <= 0
            ? 0
            : ::poll(&file, 1, static_cast<int>(std::min(left, most).count()));
    if (count > 0) return;
    if (count == 0 && Clock::now() >= deadline) {
      throw Broken{"no answer within the limit,", 0ms};
    }
  }
}

void Connection::send(const io::Descriptor* file, Clock::time_point deadline) {
  std::string_view rest = outgoing_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  while (!rest.empty()) {
    // sendmsg does not write to what it is given.
    iovec bytes = {const_cast<char*>(rest.data()), rest.size()};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (file != nullptr) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      const int number = file->number();
      std::memcpy(CMSG_DATA(header), &number, sizeof number);
    }
    const auto sent =
        ::sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      file = nullptr;  // it went with the first byte
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      await(POLLOUT, deadline);
    } else if (errno != EINTR) {
      throw Broken{"it took no more requests", last_grace};
    }
  }
  outgoing_.clear();
}

void Connection::receive_some(Clock::time_point deadline) {
  for (;;) {
    await(POLLIN, deadline);
    const auto got = ::recv(socket_.number(), incoming_.data() + received_,
                            incoming_.size() - received_, MSG_DONTWAIT);
    if (got > 0) {
      received_ += static_cast<std::size_t>(got);
      return;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      throw Broken{
          received_ == 0 ? "no answer" : "its answer broke off in the middle",
          last_grace};
    }
  }
}

/// The payload of the next answer, which stays until the next request.
std::string_view Connection::receive(Clock::time_point deadline) {
  received_ = 0;
  FrameHeader header;
  while (received_ < sizeof header) receive_some(deadline);
  std::memcpy(&header, incoming_.data(), sizeof header);
  const auto refuse = [](std::string why) {
    throw Broken{std::move(why), 0ms};
  };
  if (header.magic != frame_magic) {
    refuse(fmt::format("it answered with something else than a frame: {:#010x}",
                       header.magic));
  }
  if (header.protocol != protocol_version) {
    refuse(fmt::format("it speaks protocol {}, this library protocol {}",
                       header.protocol, protocol_version));
  }
  if (header.kind != Kind::answer && header.kind != Kind::refusal) {
    refuse(fmt::format("its answer is of no known kind: {}",
                       static_cast<int>(header.kind)));
  }
  if (header.request != request_) {
    refuse(fmt::format("it answered request {} instead of {}", header.request,
                       request_));
  }
  if (header.length > greatest_answer_bytes) {
    refuse(fmt::format("it announced an answer of {} bytes, at most {} can be",
                       header.length, greatest_answer_bytes));
  }
  const std::size_t size =
      sizeof header + static_cast<std::size_t>(header.length);
  if (incoming_.size() < size) incoming_.resize(size);
  while (received_ < size) receive_some(deadline);
  if (received_ > size) refuse("it sent more than its answer");
  return {incoming_.data() + sizeof header, size - sizeof header};
}

}  // namespace topos::runtime::server

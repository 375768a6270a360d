#include "runtime/server_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "runtime/arguments.h"
#include "runtime/compile_options.h"
#include "runtime/server_connection.h"
#include "runtime/system.h"
#include "topos/error.h"

namespace topos::runtime {
namespace {

using server::Connection;
using server::Fields;
using server::Frame;
using server::Kind;

// Smaller tensors travel in their frame. There and back, 64 KiB take 0.1 ms in
// a frame and 0.2 ms in shared memory, 256 KiB about the same in both.
constexpr std::size_t shared_from_bytes = 1U << 18U;
// A result of this size is sent along with the answer of the execution, so that
// reading a loss asks nothing more.
constexpr std::size_t answered_up_to_bytes = 1024;
// What may be under way to the server before somebody waits for it: beyond,
// memory would be taken twice, or the system run out of descriptors.
constexpr std::size_t unanswered_bytes = 64U << 20U;
constexpr int unanswered_files = 32;

/// What buffers, programs and the client share.
struct Shared {
  explicit Shared(const ServerOptions& given)
      : connection(server_command(given)), options(given) {}

  Connection connection;
  ServerOptions options;
  std::atomic<std::uint64_t> next_number = 1;
  std::atomic<std::size_t> bytes_under_way = 0;
  std::atomic<int> files_under_way = 0;
  std::string platform;
  int devices = 0;
};

class ServerBuffer final : public PlacedBuffer {
 public:
  ServerBuffer(std::shared_ptr<Shared> shared, std::uint64_t number,
               const Type& type, int device, bool borrowed = false)
      : PlacedBuffer(shared.get(), type, device, borrowed),
        shared_(std::move(shared)),
        number_(number) {}
  ~ServerBuffer() override {
    if (gone()) return;
    shared_->connection.post(std::move(Frame(Kind::free) << number_));
  }

  std::uint64_t number() const { return number_; }
  const std::string& elements() const { return elements_; }
  void elements(std::string_view elements) { elements_ = elements; }

 private:
  std::shared_ptr<Shared> shared_;
  std::uint64_t number_;
  /// If they came with the answer of the execution.
  std::string elements_;
};

class ServerExecutable final : public Executable {
 public:
  ServerExecutable(std::shared_ptr<Shared> shared, std::uint64_t number,
                   Signature signature, int partitions)
      : shared_(std::move(shared)),
        number_(number),
        signature_(std::move(signature)),
        partitions_(static_cast<std::size_t>(partitions)) {}
  ~ServerExecutable() override {
    shared_->connection.post(std::move(Frame(Kind::unload) << number_));
  }

  std::vector<std::unique_ptr<Buffer>> execute(
      std::span<Buffer* const> arguments) override;
  std::optional<MemoryStats> memory() const override { return memory_; }

  static bool is_answered(const Signature& signature, std::size_t result) {
    // Not what is carried on: jax would keep what it has shown, and XLA copy it
    // at the next donation.
    return signature.results[result].size_bytes() <= answered_up_to_bytes &&
           std::ranges::find(signature.donated_to, result) ==
               signature.donated_to.end();
  }
  void memory(const MemoryStats& stats) { memory_ = stats; }

 private:
  std::shared_ptr<Shared> shared_;
  std::uint64_t number_;
  Signature signature_;
  std::size_t partitions_;
  std::optional<MemoryStats> memory_;
};

std::vector<std::unique_ptr<Buffer>> ServerExecutable::execute(
    std::span<Buffer* const> arguments) {
  check_arguments(signature_, partitions_, shared_.get(), arguments);
  const std::size_t arity = signature_.arguments.size();
  const std::size_t results = signature_.results.size();
  const std::uint64_t first =
      shared_->next_number.fetch_add(results * partitions_);
  Frame frame(Kind::execute);
  frame << number_ << first;
  for (Buffer* argument : arguments) {
    frame << static_cast<ServerBuffer*>(argument)->number();
  }
  std::vector<std::unique_ptr<Buffer>> out(results * partitions_);
  const auto take = [&](Fields& fields) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (signature_.donated_to[i % arity]) {
        static_cast<ServerBuffer*>(arguments[i])->set_gone();
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Type& type = signature_.results[i % results];
      auto made = std::make_unique<ServerBuffer>(shared_, first + i, type,
                                                 static_cast<int>(i / results));
      ServerBuffer& buffer = *made;
      // Stays if the next line throws: a buffer that ends asks the connection,
      // which is busy with us.
      out[i] = std::move(made);
      if (is_answered(signature_, i % results)) {
        buffer.elements(fields.take(type.size_bytes()));
      }
    }
  };
  shared_->connection.ask("a program cannot be run", std::move(frame),
                          shared_->options.request_limit, take);
  return out;
}

class ServerClient final : public Client {
 public:
  explicit ServerClient(const ServerOptions& options)
      : shared_(std::make_shared<Shared>(options)) {
    greet();
  }
  // Buffers and programs may still hold their share; the server ends now.
  ~ServerClient() override { shared_->connection.close(); }

  std::string description() const override { return description_; }
  int device_count() const override { return shared_->devices; }
  bool alive() const override { return shared_->connection.alive(); }

  std::unique_ptr<Buffer> put(const Type& type, const std::byte* elements,
                              int device) override {
    return put(type, elements, device, 0);
  }
  // Into memory that the device may then use as it is, where it is the CPU.
  std::unique_ptr<Buffer> borrow(const Type& type, const std::byte* elements,
                                 int device) override {
    return put(type, elements, device, server::borrowed);
  }
  void read(const Buffer& buffer, const Type& type,
            std::byte* elements) override;
  std::unique_ptr<Executable> compile(std::string_view text,
                                      const Signature& signature,
                                      const CompileOptions& options) override;

 private:
  void greet();
  std::unique_ptr<Buffer> put(const Type& type, const std::byte* elements,
                              int device, std::uint8_t flags);

  std::shared_ptr<Shared> shared_;
  std::string description_;
};

std::chrono::milliseconds start_limit(const ServerOptions& options) {
  if (options.start_limit) return *options.start_limit;
  const auto given = variable("TOPOS_XLA_START_TIMEOUT_S").value_or("");
  if (given.empty()) return std::chrono::minutes(1);
  char* end = nullptr;
  const double seconds = std::strtod(given.c_str(), &end);
  if (*end != '\0' || !(seconds > 0) || seconds > 1e6) {
    throw UsageError(fmt::format(
        "TOPOS_XLA_START_TIMEOUT_S: \"{}\" is no number of seconds", given));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

void ServerClient::greet() {
  Frame frame(Kind::hello);
  frame << static_cast<std::uint32_t>(shared_->options.cpu_devices);
  frame.append(shared_->options.platform);
  const auto take = [&](Fields& fields) {
    shared_->devices = static_cast<int>(fields.take<std::uint32_t>());
    const std::string python = fields.text();
    const std::string jax = fields.text();
    const std::string jaxlib = fields.text();
    shared_->platform = fields.text();
    const std::string program = fields.text();
    description_ = fmt::format(
        "{}, {} device{}, jax {}, jaxlib {}, Python {}, {} (process {})",
        shared_->platform, shared_->devices, shared_->devices == 1 ? "" : "s",
        jax, jaxlib, python, program, shared_->connection.process());
  };
  shared_->connection.ask("the server cannot be started", std::move(frame),
                          start_limit(shared_->options), take);
}

std::unique_ptr<Buffer> ServerClient::put(const Type& type,
                                          const std::byte* elements, int device,
                                          std::uint8_t flags) {
  if (device < 0 || device >= shared_->devices) {
    throw UsageError(fmt::format("there is no device {}, only {}", device,
                                 shared_->devices));
  }
  const std::uint64_t number = shared_->next_number++;
  const std::size_t size = type.size_bytes();
  Frame frame(Kind::put);
  frame << number << static_cast<std::uint32_t>(device);
  frame.append(type, flags);
  auto buffer = std::make_unique<ServerBuffer>(shared_, number, type, device,
                                               flags == server::borrowed);
  constexpr std::string_view what = "a tensor cannot be put on the device";
  if (size < shared_from_bytes) {
    shared_->connection.post(std::move(frame.append(elements, size)));
    shared_->connection.expect_alive(what);
    return buffer;
  }
  const io::Descriptor file = server::make_shared_file();
  server::write_shared(file, {elements, size});
  shared_->connection.post(std::move(frame), &file);
  shared_->connection.expect_alive(what);
  shared_->bytes_under_way += size;
  ++shared_->files_under_way;
  if (shared_->bytes_under_way > unanswered_bytes ||
      shared_->files_under_way > unanswered_files) {
    shared_->bytes_under_way = 0;
    shared_->files_under_way = 0;
    shared_->connection.ask(what, Frame(Kind::sync),
                            shared_->options.request_limit, [](Fields&) {});
  }
  return buffer;
}

void ServerClient::read(const Buffer& buffer, const Type& type,
                        std::byte* elements) {
  constexpr std::string_view what = "a buffer cannot be read";
  const auto* found = dynamic_cast<const ServerBuffer*>(&buffer);
  if (found == nullptr || found->owner() != shared_.get()) {
    throw UsageError("the buffer is another client's");
  }
  const ServerBuffer& ours = *found;
  if (ours.gone()) throw UsageError("the buffer was donated");
  if (type != ours.type()) {
    throw UsageError(fmt::format("the buffer is {}, not {}", ours.type().text(),
                                 type.text()));
  }
  const std::size_t size = type.size_bytes();
  if (size == 0) return;
  if (!ours.elements().empty()) {
    std::memcpy(elements, ours.elements().data(), size);
    return;
  }
  Frame frame(Kind::read);
  frame << ours.number();
  const auto limit = shared_->options.request_limit;
  if (size < shared_from_bytes) {
    shared_->connection.ask(what, std::move(frame), limit, [&](Fields& fields) {
      std::memcpy(elements, fields.take(size).data(), size);
    });
    return;
  }
  const io::Descriptor file = server::make_shared_file();
  shared_->connection.ask(
      what, std::move(frame), limit,
      [&](Fields&) {
        server::read_shared(file, {elements, size});
      },
      &file);
}

std::unique_ptr<Executable> ServerClient::compile(
    std::string_view text, const Signature& signature,
    const CompileOptions& options) {
  const std::string proto =
      compile_options_proto(options, shared_->platform == "cpu");
  check_signature(signature);
  if (options.partitions > shared_->devices) {
    throw UsageError(
        fmt::format("a program for {} devices, of which there are {}",
                    options.partitions, shared_->devices));
  }
  std::vector<std::uint32_t> donated;
  for (std::size_t i = 0; i < signature.donated_to.size(); ++i) {
    if (signature.donated_to[i]) donated.push_back(static_cast<unsigned>(i));
  }
  const std::uint64_t number = shared_->next_number++;
  Frame frame(Kind::compile);
  frame << number << static_cast<std::uint32_t>(options.partitions)
        << static_cast<std::uint32_t>(proto.size())
        << static_cast<std::uint32_t>(donated.size())
        << static_cast<std::uint32_t>(signature.results.size());
  for (const std::uint32_t i : donated) frame << i;
  for (std::size_t i = 0; i < signature.results.size(); ++i) {
    const bool is_answered = ServerExecutable::is_answered(signature, i);
    frame.append(signature.results[i], is_answered ? server::answered : 0);
  }
  frame.append(text).append(proto);

  auto program = std::make_unique<ServerExecutable>(shared_, number, signature,
                                                    options.partitions);
  const auto take = [&](Fields& fields) {
    const bool known = fields.take<std::uint8_t>() != 0;
    MemoryStats stats;
    stats.argument_bytes = fields.take<std::int64_t>();
    stats.result_bytes = fields.take<std::int64_t>();
    stats.alias_bytes = fields.take<std::int64_t>();
    stats.temporary_bytes = fields.take<std::int64_t>();
    if (known) program->memory(stats);
  };
  try {
    shared_->connection.ask("a program cannot be compiled", std::move(frame),
                            shared_->options.compile_limit, take);
  } catch (const RuntimeError& error) {
    throw RuntimeError(with_line_quoted(error.message(), text));
  }
  return program;
}

}  // namespace

std::unique_ptr<Client> open_server(const ServerOptions& options) {
  return std::make_unique<ServerClient>(options);
}

}  // namespace topos::runtime

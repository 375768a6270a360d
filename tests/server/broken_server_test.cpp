#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "runtime/server_client.h"
#include "server/server_fixture.h"
#include "topos/error.h"

namespace topos::runtime::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

/// A folder for the scripts of one test.
class Scripts {
 public:
  Scripts() {
    std::string name = testing::TempDir() + "topos-server-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  ~Scripts() { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  /// A program of the shell, in place of a Python.
  std::string write(const std::string& name, const std::string& lines) const {
    std::ofstream(path(name)) << "#!/bin/sh\n" << lines;
    ::chmod(path(name).c_str(), 0700);
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// Why no server starts; that it took no longer than allowed and has left
/// nothing behind.
std::string why_not(const ServerOptions& options, double most_seconds) {
  const int descriptors = open_descriptors();
  const auto start = Clock::now();
  std::string why = "it started";
  try {
    open_server(options);
  } catch (const RuntimeError& error) {
    why = error.message();
  }
  const std::chrono::duration<double> taken = Clock::now() - start;
  EXPECT_LT(taken.count(), most_seconds) << why;
  EXPECT_FALSE(has_children()) << why;
  EXPECT_EQ(open_descriptors(), descriptors) << why;
  return why;
}

std::string why_not(const std::string& python) {
  ServerOptions options;
  options.python = python;
  options.start_limit = 5s;
  return why_not(options, 4);
}

bool has_python() { return std::system("python3 -I -S -c '' 2>&1") == 0; }

TEST(BrokenServer, ProgramsThatAreNoneSaySo) {
  EXPECT_THAT(why_not("/nonexistent/python"),
              HasSubstr("/nonexistent/python cannot be started: No such file"));
  EXPECT_THAT(why_not("no-such-python"),
              HasSubstr("no-such-python is not on PATH"));
  EXPECT_THAT(why_not("/tmp"),
              HasSubstr("/tmp cannot be started: Permission denied"));
}

TEST(BrokenServer, ProgramsThatEndAreQuoted) {
  const Scripts scripts;
  EXPECT_THAT(why_not("/bin/false"),
              AllOf(HasSubstr("the server cannot be started: /bin/false ended "
                              "with status 1"),
                    HasSubstr("it wrote nothing")));
  const auto status =
      scripts.write("status", "echo first; echo 'second one' >&2; exit 3\n");
  EXPECT_THAT(why_not(status),
              AllOf(HasSubstr("status ended with status 3"),
                    HasSubstr("wrote:\n  first\n  second one")));
  const auto chatty =
      scripts.write("chatty",
                    "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); "
                    "done; exit 4\n");
  EXPECT_THAT(why_not(chatty),
              AllOf(HasSubstr("ended with status 4"), HasSubstr("line 19999"),
                    HasSubstr("line 19980\n"), Not(HasSubstr("line 19979\n"))));
  const auto one_line = scripts.write(
      "one_line", "head -c 100000 /dev/zero | tr '\\0' x; exit 5\n");
  EXPECT_THAT(why_not(one_line), HasSubstr("ended with status 5"));
  EXPECT_THAT(why_not(scripts.write("killed", "kill -9 $$\n")),
              HasSubstr("was killed by signal 9 (Killed)"));
}

TEST(BrokenServer, SlowStartsHaveALimit) {
  const Scripts scripts;
  ServerOptions options;
  options.python = scripts.write("slow", "echo still here; exec sleep 1000\n");
  options.start_limit = 1s;
  EXPECT_THAT(why_not(options, 1.9),
              AllOf(HasSubstr("slow had to be stopped: no answer within the "
                              "limit, after 1.0 s"),
                    HasSubstr("\n  still here")));
  options.start_limit.reset();
  const Variable limit("TOPOS_XLA_START_TIMEOUT_S", "0.5");
  EXPECT_THAT(why_not(options, 1.4), HasSubstr("after 0.5 s"));
  // It does not hear SIGTERM either.
  options.python = scripts.write(
      "stubborn", "trap '' TERM; while true; do sleep 0.1; done\n");
  EXPECT_THAT(why_not(options, 2.9), HasSubstr("had to be stopped"));
}

TEST(BrokenServer, WhatItStartedEndsWithIt) {
  const Scripts scripts;
  const std::string file = scripts.path("child");
  const std::string start = fmt::format("sleep 1000 &\necho $! > {}\n", file);
  for (const char* then : {"wait\n", "exit 0\n"}) {
    ServerOptions options;
    options.python = scripts.write("wrapper", start + then);
    options.start_limit = 500ms;
    EXPECT_THAT(why_not(options, 1.9), HasSubstr("wrapper"));
    int child = 0;
    std::ifstream(file) >> child;
    ASSERT_NE(child, 0);
    for (int i = 0; i < 200 && is_running(child); ++i) {
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_FALSE(is_running(child)) << then;
  }
}

TEST(BrokenServer, TheLimitIsANumberOfSeconds) {
  for (const char* text : {"soon", "-1", "0", "5s", "nan"}) {
    const Variable limit("TOPOS_XLA_START_TIMEOUT_S", text);
    ServerOptions options;
    options.python = "/bin/false";
    EXPECT_THROW(open_server(options), UsageError) << text;
    EXPECT_FALSE(has_children());
  }
}

TEST(BrokenServer, ThePythonIsNamedInTheEnvironment) {
  {
    const Variable python("TOPOS_XLA_PYTHON", "  /bin/false  -x ");
    EXPECT_EQ(server_command({}),
              (std::vector<std::string>{"/bin/false", "-x"}));
    EXPECT_THAT(why_not(ServerOptions{}, 4), HasSubstr("/bin/false -x ended"));
    ServerOptions options;
    options.python = "/bin/true";
    EXPECT_EQ(server_command(options), std::vector<std::string>{"/bin/true"});
  }
  const Variable python("TOPOS_XLA_PYTHON", "");
  EXPECT_THAT(server_command({}).front(), HasSubstr("python"));
}

TEST(BrokenServer, APythonWithoutJaxSaysHowToInstallIt) {
  if (!has_python()) GTEST_SKIP() << "there is no python3 on PATH";
  EXPECT_THAT(
      why_not("python3 -I -S"),
      AllOf(HasSubstr("cannot import jax: No module named 'jax'"),
            HasSubstr("-m pip install jax"), HasSubstr("TOPOS_XLA_PYTHON")));
}

// What a server could send in answer to the first request, as printf writes it;
// bytes are octal.
TEST(BrokenServer, GarbageIsNotUnderstood) {
  const std::string zeros = R"(\000\000\000\000\000\000\000)";
  const std::string request = R"(\001)" + zeros;
  const std::string good = R"(TOPS\001\000\144\000)" + request;
  struct Row {
    const char* note;
    std::string answer;
    const char* expected;
  };
  const std::vector<Row> rows = {
      {"text", "Python 3.11.7 (main) on linux",
       "something else than a frame: 0x68747950"},
      {"protocol", R"(TOPS\002\000\144\000)" + request + R"(\000)" + zeros,
       "speaks protocol 2, this library protocol 1"},
      {"kind", R"(TOPS\001\000\003\000)" + request + R"(\000)" + zeros,
       "of no known kind: 3"},
      {"request", R"(TOPS\001\000\144\000\007)" + zeros + R"(\000)" + zeros,
       "answered request 7 instead of 1"},
      {"oversized", good + R"(\000\000\000\000\001\000\000\000)",
       "announced an answer of 4294967296 bytes, at most"},
      {"huge", good + R"(\377\377\377\377\377\377\377\377)",
       "announced an answer of 18446744073709551615 bytes"},
      {"too much", good + R"(\000)" + zeros + "more", "more than its answer"},
      {"header cut", R"(TOPS\001\000\144)", "broke off in the middle"},
      {"payload cut", good + R"(\010)" + zeros + "abc",
       "broke off in the middle"},
      {"short", good + R"(\002)" + zeros + "ab", "is malformed: a field of 4"},
      {"text cut",
       good + R"(\010)" + zeros + R"(\001\000\000\000\377\377\377\377)",
       "is malformed: a field of 4294967295 bytes"},
      {"refusal",
       R"(TOPS\001\000\145\000)" + request + R"(\003)" + zeros + "no!",
       "the server cannot be started: no!"},
  };
  const Scripts scripts;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.note);
    // In the second form the server stays; it must not be waited for.
    for (const char* then : {"", "sleep 1000\n"}) {
      const bool cut = std::string_view(row.note).ends_with(" cut");
      if (cut && *then != '\0' && std::string_view(row.note) != "text cut") {
        continue;  // the rest may yet come: see below
      }
      const auto script = scripts.write(
          "fake", fmt::format("head -c 28 >/dev/null; printf '{}' >&0\n{}",
                              row.answer, then));
      EXPECT_THAT(why_not(script), HasSubstr(row.expected));
    }
  }
  ServerOptions options;
  options.start_limit = 300ms;
  options.python = scripts.write(
      "dripping", fmt::format("printf '{}\\377\\000\\000\\000\\000\\000\\000"
                              "\\000' >&0\nwhile true; do printf x >&0; "
                              "sleep 0.1; done\n",
                              good));
  EXPECT_THAT(why_not(options, 2.4),
              HasSubstr("no answer within the limit, after 0.3 s"));
}

/// The error of a call, which has to come within the limit.
std::string failure(double most_seconds, const std::function<void()>& call) {
  const auto start = Clock::now();
  std::string why = "no error";
  try {
    call();
  } catch (const RuntimeError& error) {
    why = error.message();
  }
  const std::chrono::duration<double> taken = Clock::now() - start;
  EXPECT_LT(taken.count(), most_seconds) << why;
  return why;
}

// Knows the frames, and of the answers only the first two.
constexpr const char* impostor = R"(
import socket, struct
end = socket.socket(fileno=0)
def take(size):
    data = b""
    while len(data) < size:
        data += end.recv(size - len(data)) or exit()
    return data
text = struct.pack("<I4s", 4, b"fake")
answers = {1: struct.pack("<I", 1) + 5 * text, 4: bytes(33), 5: b"ab"}
while True:
    magic, protocol, kind, files, request, size = struct.unpack(
        "<IHBBQQ", take(24))
    take(size)
    if kind in answers:
        answer = answers[kind]
        end.sendall(struct.pack("<IHBBQQ", magic, protocol, 100, 0, request,
                                len(answer)) + answer)
)";

TEST(BrokenServer, ResultsThatAreCutShortAreNoResults) {
  if (!has_python()) GTEST_SKIP() << "there is no python3 on PATH";
  const Scripts scripts;
  std::ofstream(scripts.path("impostor.py")) << impostor;
  ServerOptions options;
  options.python = "python3 -I -S " + scripts.path("impostor.py");
  const auto client = open_server(options);
  EXPECT_THAT(client->description(),
              HasSubstr("fake, 1 device, jax fake, jaxlib fake, Python fake"));
  const Program program = identity({f32, {}});
  const auto step = client->compile(program.text, program.signature, {});
  EXPECT_FALSE(step->memory());
  const auto x = put(*client, Tensor());
  Buffer* const argument = x.get();
  EXPECT_THAT(
      failure(2,
              [&] {
                step->execute({&argument, 1});
              }),
      HasSubstr("malformed: a field of 4 bytes where its answer has 2"));
  EXPECT_FALSE(has_children());
}

TEST(BrokenServer, PlatformsThatJaxDoesNotKnowAreRefused) {
  TOPOS_NEEDS_JAX();
  ServerOptions options;
  options.platform = "abacus";
  EXPECT_THAT(why_not(options, 20), HasSubstr("abacus"));
  const Variable platforms("JAX_PLATFORMS", "slide_rule");
  EXPECT_THAT(why_not(ServerOptions{}, 20), HasSubstr("slide_rule"));
}

TEST(BrokenServer, OneKilledInTheMiddleOfAStepIsReportedForGood) {
  TOPOS_NEEDS_JAX();
  const int descriptors = open_descriptors();
  {
    const auto client = open_server();
    const int process = process_of(*client);
    const Program program = count_up();
    const auto step = client->compile(program.text, program.signature, {});
    const auto few = put(*client, Tensor::scalar(std::int64_t{1000}));
    Buffer* argument = few.get();
    const auto counted = step->execute({&argument, 1});
    EXPECT_EQ(read(*client, *counted[0], {i64, {}}).item(), 1000);

    const auto many = put(*client, Tensor::scalar(std::int64_t{1} << 60));
    argument = many.get();
    std::thread killer([&] {
      std::this_thread::sleep_for(300ms);
      ::kill(process, SIGKILL);
    });
    EXPECT_THAT(failure(4,
                        [&] {
                          step->execute({&argument, 1});
                        }),
                AllOf(HasSubstr("a program cannot be run"),
                      HasSubstr("was killed by signal 9 (Killed): no answer "
                                "after 0.")));
    killer.join();
    EXPECT_FALSE(is_running(process));
    EXPECT_FALSE(has_children());
    EXPECT_THAT(failure(0.1,
                        [&] {
                          read(*client, *many, {i64, {}});
                        }),
                AllOf(HasSubstr("a buffer cannot be read: the server is gone"),
                      HasSubstr("was killed by signal 9")));
    EXPECT_THAT(failure(0.1, [&] { client->compile(program.text, {}, {}); }),
                HasSubstr("a program cannot be compiled: the server is gone"));
    EXPECT_THAT(failure(0.1, [&] { put(*client, Tensor::scalar(1.f)); }),
                HasSubstr("a tensor cannot be put on the device: the server is "
                          "gone"));
  }
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(BrokenServer, OneThatEndedUnnoticedTakesNoTensor) {
  TOPOS_NEEDS_JAX();
  const auto client = open_server();
  const int process = process_of(*client);
  EXPECT_TRUE(client->alive());
  ::kill(process, SIGKILL);
  // Its threads end one after the other.
  for (int i = 0; i < 500 && client->alive(); ++i) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_THAT(failure(1, [&] { put(*client, Tensor::scalar(1.f)); }),
              AllOf(HasSubstr("a tensor cannot be put on the device"),
                    HasSubstr("was killed by signal 9 (Killed)")));
  EXPECT_FALSE(client->alive());
}

TEST(BrokenServer, StepsHaveALimit) {
  TOPOS_NEEDS_JAX();
  ServerOptions options;
  options.request_limit = 500ms;
  const auto client = open_server(options);
  const int process = process_of(*client);
  const Program program = count_up();
  const auto step = client->compile(program.text, program.signature, {});
  const auto many = put(*client, Tensor::scalar(std::int64_t{1} << 60));
  Buffer* const argument = many.get();
  EXPECT_THAT(failure(3,
                      [&] {
                        step->execute({&argument, 1});
                      }),
              HasSubstr("had to be stopped: no answer within the limit, after "
                        "0.5 s"));
  EXPECT_FALSE(is_running(process));
}

TEST(BrokenServer, OneThatIsStoppedIsKilled) {
  TOPOS_NEEDS_JAX();
  ServerOptions options;
  options.request_limit = 300ms;
  const auto client = open_server(options);
  const int process = process_of(*client);
  const Type type = {f32, {1000, 1000}};
  const auto buffer = put(*client, Tensor::zeros(type));
  ::kill(process, SIGSTOP);
  EXPECT_THAT(failure(4, [&] { read(*client, *buffer, type); }),
              HasSubstr("no answer within the limit"));
  EXPECT_FALSE(is_running(process));
}

TEST(BrokenServer, ItOutlivesTheThreadThatOpenedIt) {
  TOPOS_NEEDS_JAX();
  std::unique_ptr<Client> client;
  std::thread([&] { client = open_server(); }).join();
  std::this_thread::sleep_for(50ms);
  const auto buffer = put(*client, Tensor::scalar(3.f));
  EXPECT_EQ(read(*client, *buffer, {f32, {}}).item(), 3);
}

TEST(BrokenServer, AForkMayNotUseItAndDoesNotHarmIt) {
  TOPOS_NEEDS_JAX();
  auto client = open_server();
  auto buffer = put(*client, Tensor::scalar(3.f));
  const pid_t fork = ::fork();
  if (fork == 0) {
    int status = 1;
    try {
      read(*client, *buffer, {f32, {}});
    } catch (const UsageError&) {
      status = 0;
    }
    buffer.reset();
    client.reset();
    ::_exit(status);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(fork, &status, 0), fork);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read(*client, *buffer, {f32, {}}).item(), 3);
}

TEST(BrokenServer, ItDiesWithItsParent) {
  // One that would neither read its input nor end by itself.
  const Scripts scripts;
  ServerOptions options;
  const std::string file = scripts.path("process");
  options.python =
      scripts.write("orphan", fmt::format("echo $$ > {0}.new; mv {0}.new {0}\n"
                                          "exec sleep 1000\n",
                                          file));
  const pid_t parent = ::fork();
  if (parent == 0) {
    try {
      open_server(options);
    } catch (const Error&) {
    }
    ::_exit(1);
  }
  int server = 0;
  for (int i = 0; i < 500 && server == 0; ++i) {
    std::this_thread::sleep_for(10ms);
    std::ifstream(file) >> server;
  }
  ASSERT_NE(server, 0);
  EXPECT_TRUE(is_running(server));
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  for (int i = 0; i < 200 && is_running(server); ++i) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_FALSE(is_running(server));
}

}  // namespace
}  // namespace topos::runtime::test

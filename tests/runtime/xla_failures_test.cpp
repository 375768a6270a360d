// What the XLA engines say when something is missing, broken or ended.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "engine/message.h"
#include "engine/on_engine.h"
#include "io/temporary_folder.h"
#include "runtime/environment.h"
#include "runtime/makemore_step.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const fs::path plugins = TOPOS_FAKE_PLUGINS;

/// The process that the description of `xla-server` names.
int server_process(const Engine& engine) {
  const std::string text = engine.description();
  return std::stoi(text.substr(text.rfind("process ") + 8));
}

bool is_running(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  if (!std::getline(file, line)) return false;
  const char state = line.at(line.rfind(')') + 2);
  return state != 'Z' && state != 'X';
}

bool ends_soon(int process) {
  for (int i = 0; i < 500 && is_running(process); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return !is_running(process);
}

/// Runs a disabled test of this program, or of a copy of it, in a process of
/// its own. \return  what it wrote
std::string output_of(const std::string& test, const TemporaryFolder& folder,
                      const fs::path& program, const std::string& before = "") {
  const fs::path output = folder / "output";
  const std::string command = fmt::format(
      "{} {} --gtest_also_run_disabled_tests --gtest_filter='{}' > {} 2>&1",
      before, program.string(), test, output.string());
  const int status = std::system(command.c_str());
  if (status == -1) return "it cannot be run";
  std::ifstream file(output);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path this_program() { return fs::read_symlink("/proc/self/exe"); }

Network nothing() {
  Tape tape;
  return tape.seal();
}

// ---- The plugin ------------------------------------------------------------

// Run by the next test, where there is no plugin to be found.
TEST(XlaFailures, DISABLED_FindsNoPlugin) {
  const Engine engine = topos::engine("xla");
  const Network network = nothing();
  const auto expected =
      AllOf(HasSubstr("no PJRT plugin was found. TOPOS_PJRT_PLUGIN may name "
                      "one"),
            HasSubstr("pip install --no-deps lammps-jax-pjrt-cpu"),
            HasSubstr("lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"));
  EXPECT_THAT(message_of<RuntimeError>([&] { engine.description(); }),
              AllOf(StartsWith("xla: "), expected));
  EXPECT_THAT(message_of<RuntimeError>([&] { engine.open(network); }),
              AllOf(StartsWith("place: "), expected));
  EXPECT_THAT(
      message_of<RuntimeError>([&] { engine.place(network, Parameters()); }),
      AllOf(StartsWith("place: "), expected));
}

TEST(XlaFailures, WithoutAPluginAllSayWhatWasLookedForAndWhatToInstall) {
  const TemporaryFolder folder;
  // Plugins are looked for above the program, too.
  const fs::path copy = folder / "program";
  fs::copy_file(this_program(), copy);
  EXPECT_THAT(
      output_of("XlaFailures.DISABLED_FindsNoPlugin", folder, copy,
                fmt::format("cd {0} && env -u VIRTUAL_ENV -u CONDA_PREFIX -u "
                            "TOPOS_PJRT_PLUGIN HOME={0}",
                            folder.path().string())),
      HasSubstr("[       OK ] XlaFailures.DISABLED_FindsNoPlugin"));
}

TEST(XlaFailures, APluginThatIsNamedIsTakenOrRefused) {
  const Network network = nothing();
  EXPECT_THAT(message_of<RuntimeError>([&] {
                xla::open(network, XlaOptions{.plugin = "/no/such/plugin.so"});
              }),
              AllOf(StartsWith("place: "), HasSubstr("/no/such/plugin.so")));
  const std::string old = (plugins / "topos_old_plugin.so").string();
  EXPECT_THAT(message_of<RuntimeError>(
                  [&] { xla::engine({.plugin = old}).description(); }),
              AllOf(StartsWith("xla: "), HasSubstr(old),
                    HasSubstr("speaks PJRT 0.40")));
  const EnvironmentVariable variable("TOPOS_PJRT_PLUGIN", old);
  EXPECT_THAT(message_of<RuntimeError>(
                  [&] { xla::open(network, XlaOptions{.cache = ""}); }),
              HasSubstr("(TOPOS_PJRT_PLUGIN)"));
}

TEST(XlaFailures, APlacementIsOpenedByTheEngineOfItsOptions) {
  const Network network = nothing();
  XlaOptions options;
  options.plugin = (plugins / "topos_fake_plugin.so").string();
  const Placement placement = xla::engine(options).place(network, Parameters());
  EXPECT_NO_THROW(xla::open(placement, options).reset());
  const std::string refusal =
      message_of<UsageError>([&] { xla::open(placement); });
  EXPECT_THAT(refusal, StartsWith("open: "));
  EXPECT_THROW(xla_server::open(placement, options), UsageError);
}

TEST(XlaFailures, MoreDevicesThanThereAreAreRefused) {
  const Network network = nothing();
  XlaOptions options;
  options.plugin = (plugins / "topos_fake_plugin.so").string();
  options.devices = 2;
  EXPECT_THAT(message_of<RuntimeError>([&] { xla::open(network, options); }),
              StartsWith("place: 2 devices are wanted, but fake has 1"));
  options.devices = 0;
  EXPECT_THAT(message_of<UsageError>([&] { xla::open(network, options); }),
              StartsWith("place: 0 devices are too few"));
  EXPECT_THAT(
      message_of<UsageError>([&] { xla_server::open(network, options); }),
      StartsWith("place: 0 devices are too few"));
}

// ---- The server ------------------------------------------------------------

TEST(XlaFailures, APythonWithoutJaxIsRefused) {
  const Network network = nothing();
  EXPECT_THAT(message_of<RuntimeError>([&] {
                xla_server::open(network, XlaOptions{.python = "/no/python"});
              }),
              AllOf(StartsWith("place: xla-server: the server cannot be "
                               "started (TOPOS_XLA_PYTHON names"),
                    HasSubstr("/no/python cannot be started: No such file")));
}

class XlaServerFailures : public OnEngine {};
INSTANTIATE_TEST_SUITE_P(Engines, XlaServerFailures,
                         testing::Values("xla-server"), test_name);

TEST_P(XlaServerFailures, AServerThatIsKilledIsReportedAndReplaced) {
  const MakemoreStep m(8);
  Session session = tested().open(*m.network);
  const double first = session.step(*m.train, m.feeds(0)).scalar(m.loss);
  const int process = server_process(tested());
  ASSERT_EQ(::kill(process, SIGKILL), 0);
  ASSERT_TRUE(ends_soon(process));
  EXPECT_THAT(
      message_of<RuntimeError>([&] { session.step(*m.train, m.feeds(1)); }),
      AllOf(StartsWith("step: xla-server: "),
            HasSubstr("was killed by signal 9 (Killed)")));
  EXPECT_THAT(message_of<UsageError>([&] { session.state(m.parameters[0]); }),
              HasSubstr("a step of this session failed"));
  // Its memory is gone with it; a new session is another server's.
  Session again = tested().open(*m.network);
  EXPECT_NE(server_process(tested()), process);
  EXPECT_EQ(again.step(*m.train, m.feeds(0)).scalar(m.loss), first);
}

TEST_P(XlaServerFailures, WithoutItsServerASessionCannotBeResetOrSet) {
  const MakemoreStep m(8);
  Session session = tested().open(*m.network);
  session.step(*m.train, m.feeds(0));
  const int process = server_process(tested());
  ASSERT_EQ(::kill(process, SIGKILL), 0);
  // Nobody is given it any more once all of its threads have ended.
  for (int i = 0; i < 500 && server_process(tested()) == process; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(message_of<RuntimeError>([&] { session.reset(); }),
                AllOf(StartsWith("reset: xla-server: a tensor cannot be put"),
                      HasSubstr("was killed by signal 9 (Killed)")));
  }
  const Tensor value = *m.network->parameters().items()[0].payload;
  EXPECT_THAT(
      message_of<RuntimeError>([&] { session.set(m.parameters[0], value); }),
      HasSubstr("was killed by signal 9 (Killed)"));
}

TEST_P(XlaServerFailures, ItsLimitsAreOptions) {
  Tape tape;
  const Value x = tape.input("x", f32, {2000, 2000});
  const Value y = sum(matmul(x, matmul(x, x)));
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  const Tensor fed = Tensor::full({f32, {2000, 2000}}, 0.5);
  for (const char* what : {"compiled", "run"}) {
    XlaOptions options;
    (what == std::string("run") ? options.request_limit
                                : options.compile_limit) =
        std::chrono::milliseconds(1);
    Session session = xla_server::open(network, options);
    EXPECT_THAT(message_of<RuntimeError>([&] {
                  session.step(plan, {{x, fed}});
                }),
                AllOf(HasSubstr(fmt::format("a program cannot be {}", what)),
                      HasSubstr("no answer within the limit, after 0.0 s")));
  }
  XlaOptions none;
  none.request_limit = std::chrono::milliseconds(0);
  EXPECT_THAT(message_of<UsageError>([&] { xla_server::open(network, none); }),
              StartsWith("place: a limit of 0 ms is too short"));
}

// Run by the next test: an interrupt, as Ctrl-C sends it, ends it in the
// middle.
TEST_P(XlaServerFailures, DISABLED_TrainsUntilItIsInterrupted) {
  const MakemoreStep m(8);
  Session session = tested().open(*m.network);
  std::cout << "server " << server_process(tested()) << std::endl;
  std::thread interrupt([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::kill(::getpid(), SIGINT);
  });
  for (;;) session.step(*m.train, m.feeds(0));
}

TEST_P(XlaServerFailures, AnInterruptLeavesNoProcess) {
  const TemporaryFolder folder;
  const std::string output =
      output_of("*XlaServerFailures.DISABLED_TrainsUntilItIsInterrupted/*",
                folder, this_program());
  const std::size_t at = output.find("server ");
  ASSERT_NE(at, std::string::npos) << output;
  EXPECT_TRUE(ends_soon(std::stoi(output.substr(at + 7))));
}

// ---- The compiler and its cache --------------------------------------------

class XlaCompiler : public OnEngine {
 protected:
  static Session open(const Network& network, const XlaOptions& options,
                      Site site = Site::here()) {
    return GetParam() == "xla" ? xla::open(network, options, site)
                               : xla_server::open(network, options, site);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, XlaCompiler,
                         testing::Values("xla", "xla-server"), test_name);

TEST_P(XlaCompiler, OptionsThatItDoesNotKnowAreItsOwnToRefuse) {
  const MakemoreStep m(8);
  XlaOptions options;
  options.compiler["xla_no_such_option"] = true;
  Session session = open(*m.network, options);
  EXPECT_THAT(
      message_of<RuntimeError>([&] { session.step(*m.train, m.feeds(0)); }),
      AllOf(StartsWith("step: "), HasSubstr("xla_no_such_option")));
  // Nothing ran: the session has not failed.
  EXPECT_THAT(session.state(m.parameters[0]),
              HasBitsOf(*m.network->parameters().items()[0].payload));
  options.compiler = {{"xla_backend_optimization_level", std::int64_t{0}}};
  EXPECT_GT(open(*m.network, options).step(*m.train, m.feeds(0)).scalar(m.loss),
            0);
  options.compiler = {{"list", std::vector<std::int64_t>{1}}};
  EXPECT_THAT(message_of<UsageError>([&] { open(*m.network, options); }),
              StartsWith("place: the compiler's option list cannot be a list"));
}

class XlaCache : public OnEngine {
 protected:
  static constexpr const char* variable = "TOPOS_TEST_XLA_CACHE";

  static double train(const fs::path& cache) {
    const MakemoreStep m(8);
    Session session =
        xla::open(*m.network, XlaOptions{.cache = cache.string()});
    return session.step(*m.train, m.feeds(0)).scalar(m.loss);
  }

  static std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, XlaCache, testing::Values("xla"), test_name);

// Run by the next test, in a process of its own.
TEST_P(XlaCache, DISABLED_FindsWhatAnotherProcessKept) {
  const char* folder = std::getenv(variable);
  ASSERT_NE(folder, nullptr);
  EXPECT_GT(train(folder), 0);
}

TEST_P(XlaCache, ASecondProcessCompilesNothing) {
  const TemporaryFolder folder;
  const fs::path cache = folder / "cache";
  const double loss = train(cache);
  const auto files = files_in(cache);
  ASSERT_EQ(files.size(), 1u);
  const auto written = fs::last_write_time(files[0]);
  const EnvironmentVariable tell(variable, cache.string());
  EXPECT_THAT(output_of("*XlaCache.DISABLED_FindsWhatAnotherProcessKept/*",
                        folder, this_program()),
              HasSubstr("[       OK ] Engines/XlaCache.DISABLED_FindsWhat"));
  // What is compiled is kept: another text would be another file, the same one
  // written again.
  EXPECT_EQ(files_in(cache), files);
  EXPECT_EQ(fs::last_write_time(files[0]), written);

  fs::resize_file(files[0], fs::file_size(files[0]) / 2);
  const auto cut = fs::file_size(files[0]);
  EXPECT_EQ(train(cache), loss);
  EXPECT_GT(fs::file_size(files[0]), cut);
}

TEST_P(XlaCache, OnePlacementCompilesAPlanOnce) {
  const TemporaryFolder folder;
  const MakemoreStep m(8);
  const Engine engine = xla::engine({.cache = folder.path().string()});
  const Placement placement = engine.place(*m.network, m.network->parameters());
  Session one = engine.open(placement);
  Session two = engine.open(placement);
  const double loss = one.step(*m.train, m.feeds(0)).scalar(m.loss);
  ASSERT_EQ(files_in(folder.path()).size(), 1u);
  // Compiled again, it would be kept again.
  fs::remove(files_in(folder.path())[0]);
  EXPECT_EQ(two.step(*m.train, m.feeds(0)).scalar(m.loss), loss);
  EXPECT_EQ(two.fork().step(*m.train, m.feeds(0)).scalar(m.loss),
            one.step(*m.train, m.feeds(0)).scalar(m.loss));
  EXPECT_TRUE(files_in(folder.path()).empty());
}

}  // namespace
}  // namespace topos::test

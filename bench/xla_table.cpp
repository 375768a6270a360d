// The makemore step on XLA, as one program whose parameters stay there, against
// other ways of running it, all measured in turn: through this library, and
// through jax, where there is a Python that has it.

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "makemore_by_hand.h"
#include "models/makemore_mlp.h"
#include "python_process.h"
#include "runtime/pjrt_plugin.h"
#include "runtime/server_client.h"
#include "table.h"
#include "topos/topos.h"

namespace topos::bench {

namespace {

using Hand = MakemoreByHand;

/// The whole step in a session of some engine.
class Resident {
 public:
  Resident(const models::Makemore& step, const MakemoreBatch& batch,
           Session session)
      : step_(step), batch_(batch), session_(std::move(session)) {}

  double operator()() {
    return session_
        .step(step_.train, {{step_.contexts, batch_.contexts},
                            {step_.targets, batch_.targets},
                            {step_.rate, batch_.rate}})
        .scalar(step_.loss);
  }

 private:
  const models::Makemore& step_;
  const MakemoreBatch& batch_;
  Session session_;
};

/// Loss and gradients there, the update here: all parameters are sent and all
/// gradients read at every step.
class Sent {
 public:
  Sent(const models::Makemore& step, const MakemoreBatch& batch,
       Session session)
      : step_(step), batch_(batch), session_(std::move(session)) {
    for (const auto& item : step.network.parameters().items()) {
      symbols_.push_back(item.symbol);
      shapes_.push_back(item.type.shape);
      parameters_.push_back(item.payload->to_vector<float>());
    }
    gradients_ = parameters_;
  }

  double operator()() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      session_.set(symbols_[i], Tensor(shapes_[i], parameters_[i]));
    }
    const Run run = session_.step(
        step_.loss_and_gradients,
        {{step_.contexts, batch_.contexts}, {step_.targets, batch_.targets}});
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      run.read_into(step_.gradients[i], std::span<float>(gradients_[i]));
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      for (std::size_t j = 0; j < parameters_[i].size(); ++j) {
        parameters_[i][j] -= batch_.rate * gradients_[i][j];
      }
    }
    return run.scalar(step_.loss);
  }

 private:
  const models::Makemore& step_;
  const MakemoreBatch& batch_;
  Session session_;
  std::vector<Symbol> symbols_;
  std::vector<Shape> shapes_;
  std::vector<std::vector<float>> parameters_;
  std::vector<std::vector<float>> gradients_;
};

/// The same model written for jax; see makemore_jax.py.
class Jax {
 public:
  Jax(const Hand& initial, const MakemoreBatch& batch,
      const std::string& plugin)
      : process_(command(plugin)), version_(process_.line()) {
    for (const auto* parameter :
         {&initial.table, &initial.hidden_weight, &initial.hidden_bias,
          &initial.output_weight, &initial.output_bias}) {
      process_.write_elements(*parameter);
    }
    process_.write_elements(batch.contexts);
    process_.write_elements(batch.targets);
    first_loss_ = std::stod(process_.line());
  }

  const std::string& version() const { return version_; }
  double first_loss() const { return first_loss_; }

  std::vector<double> times(const char* how, int steps) {
    std::istringstream words(process_.ask(fmt::format("{} {}\n", how, steps)));
    std::vector<double> result;
    for (double time; words >> time;) result.push_back(time);
    return result;
  }

 private:
  static std::vector<std::string> command(const std::string& plugin) {
    auto result = runtime::server_command({});
    result.emplace_back(TOPOS_SOURCE_DIR "/bench/makemore_jax.py");
    if (!plugin.empty()) result.push_back(plugin);
    return result;
  }

  PythonProcess process_;
  std::string version_;
  double first_loss_ = 0;
};

/// Who takes part: what gives the milliseconds of so many steps.
struct Contestant {
  std::string row;
  std::string name;
  std::string version;
  std::function<std::vector<double>(int steps)> run;
  std::vector<double> times = {};
};

std::function<std::vector<double>(int)> timed(std::function<double()> step) {
  return [step = std::move(step)](int steps) {
    std::vector<double> result;
    for (int i = 0; i < steps; ++i) {
      result.push_back(time_ms([&] { step(); }, 1));
    }
    return result;
  };
}

/// Median and (third quartile - first) / median.
std::pair<double, double> median_and_spread(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  const double median = times[n / 2];
  return {median, (times[n * 3 / 4] - times[n / 4]) / median};
}

void expect_loss(const Contestant& who, double loss, double expected) {
  if (std::abs(loss - expected) > 1e-5) {
    throw std::runtime_error(fmt::format("{}: the first loss is {}, not {}",
                                         who.name, loss, expected));
  }
}

/// A step whose first loss is the expected one: else they are not the same
/// program, and the comparison means nothing.
template <class Step>
Contestant contestant(std::string row, std::string name, std::string version,
                      Step step, double expected) {
  auto shared = std::make_shared<Step>(std::move(step));
  Contestant result = {std::move(row), std::move(name), std::move(version),
                       timed([shared] { return (*shared)(); })};
  expect_loss(result, (*shared)(), expected);
  return result;
}

}  // namespace

std::vector<Row> xla_table(const Options& options) {
  constexpr int rounds = 21;
  constexpr int steps_a_round = 100;
  const models::Makemore step = models::record_makemore();
  const Hand initial = Hand::from(step.network);
  const MakemoreBatch batch = MakemoreBatch::random();

  std::vector<Contestant> all;
  std::vector<Row> rows;
  const auto missing = [&](const char* row, const std::exception& error) {
    rows.push_back({.table = "xla", .row = row, .rival = error.what()});
  };
  double expected = 0;
  {
    Session native = native::open(step.network);
    expected = Resident(step, batch, std::move(native))();
  }
  const Engine xla = xla::engine();
  try {
    all.push_back(contestant("", "resident", xla.description(),
                             Resident(step, batch, xla.open(step.network)),
                             expected));
  } catch (const RuntimeError& error) {
    missing("step", error);
    return rows;
  }
  all.push_back(contestant("all sent", "all arguments sent each step", "",
                           Sent(step, batch, xla.open(step.network)),
                           expected));
  all.push_back(contestant(
      "native", "the native engine", "",
      Resident(step, batch,
               native::open(step.network, {.threads = options.threads})),
      expected));
  try {
    const Engine server = xla_server::engine();
    all.push_back(contestant("server", "xla-server", server.description(),
                             Resident(step, batch, server.open(step.network)),
                             expected));
  } catch (const RuntimeError& error) {
    missing("server", error);
  }
  for (const bool same_plugin : {false, true}) {
    const std::string row = same_plugin ? "jax plugin" : "jax";
    try {
      const auto jax = std::make_shared<Jax>(
          initial, batch,
          same_plugin
              ? runtime::Plugin::load_first(runtime::plugin_candidates()).path()
              : "");
      for (const char* how : {"read", "unread"}) {
        // Nobody looks at the loss: the steps are queued ahead.
        const bool reads = std::string_view(how) == "read";
        all.push_back({row + (reads ? "" : " ahead"),
                       "jax.jit, " + jax->version(), jax->version(),
                       [=](int steps) { return jax->times(how, steps); }});
        expect_loss(all.back(), jax->first_loss(), expected);
      }
    } catch (const std::exception& error) {
      missing(row.c_str(), error);
    }
  }

  fmt::print("xla: ours is the whole step with resident parameters on {}\n",
             all.front().version);
  for (Contestant& one : all) one.run(steps_a_round);  // warm
  for (int round = 0; round < rounds; ++round) {
    for (Contestant& one : all) {
      const auto times = one.run(steps_a_round);
      one.times.insert(one.times.end(), times.begin(), times.end());
    }
  }
  const auto [ours, spread] = median_and_spread(all.front().times);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const double rival = median_and_spread(all[i].times).first;
    rows.push_back({.table = "xla",
                    .row = all[i].row,
                    .threads = options.threads,
                    .numerics = "xla",
                    .ours_ms = ours,
                    .ours_spread = spread,
                    .rival = all[i].name,
                    .rival_version = all[i].version,
                    .rival_ms = rival,
                    .ratio = rival / ours});
  }
  std::erase_if(rows, [&](const Row& r) { return !wanted(options, r.row); });
  return rows;
}

}  // namespace topos::bench

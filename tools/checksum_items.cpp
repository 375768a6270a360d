// What `topos checksums` computes. Everything is fed, so that nothing is folded
// away, and drawn from fixed seeds.

#include <topos/topos.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "checksums.h"
#include "models/catalog.h"
#include "models/makemore_mlp.h"

namespace tools {

namespace {

using namespace topos;

// ---- Hashes ---------------------------------------------------------------

/// FNV-1a in 64 bits [Fowler, Noll & Vo; RFC 9923].
class Hash {
 public:
  void add(const Tensor& tensor) {
    switch (tensor.dtype()) {
      case f32:
        return add_elements(tensor.to_vector<float>());
      case f64:
        return add_elements(tensor.to_vector<double>());
      case i32:
        return add_elements(tensor.to_vector<std::int32_t>());
      case i64:
        return add_elements(tensor.to_vector<std::int64_t>());
      // Each is another number there, too.
      case bf16:
      case f16:
        return add(cast(tensor, f32));
      case boolean:
        return add(cast(tensor, i32));
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  template <class T>
  void add_elements(std::vector<T> elements) {
    for (T& element : elements) {
      // One NaN is as good as another.
      if (element != element) element = std::numeric_limits<T>::quiet_NaN();
    }
    for (const std::byte byte : std::as_bytes(std::span(elements))) {
      state_ = (state_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3u;
    }
  }

  std::uint64_t state_ = 0xCBF29CE484222325u;
};

// ---- Programs -------------------------------------------------------------

/// A program of one result, whose inputs are fed what they were made from.
class Program {
 public:
  Value input(const Tensor& elements) {
    const Value value = tape_.input("x" + std::to_string(feeds_.size()),
                                    elements.dtype(), elements.shape());
    feeds_.emplace_back(value, elements);
    return value;
  }

  Tensor run(Value result, const Runner& runner) {
    const Network network = tape_.seal();
    const Plan plan = network.lower(Entry().result(result));
    Session session = runner.open(network);
    return session.step(plan, Feeds(feeds_)).of(result);
  }

 private:
  Tape tape_;
  std::vector<Feed> feeds_;
};

/// The hash of what `record` makes of a program.
template <class Record>
std::uint64_t hash_of(const Runner& runner, Record&& record) {
  Program program;
  const Value result = record(program);
  Hash hash;
  hash.add(program.run(result, runner));
  return hash.value();
}

template <class T>
Tensor vector_of(const std::vector<T>& elements) {
  return Tensor(Shape{static_cast<std::int64_t>(elements.size())},
                std::span(elements));
}

/// Uniform in [-1, 1); integers of any size.
Tensor drawn(const Shape& shape, DType dtype, std::uint64_t seed) {
  if (is_half(dtype)) return cast(uniform(shape, 1.0, seed), dtype);
  if (is_floating(dtype)) return uniform(shape, 1.0, seed, dtype);
  SplitMix random(seed);
  std::vector<std::int64_t> elements(
      static_cast<std::size_t>(shape.element_count()));
  for (auto& element : elements) {
    element = std::bit_cast<std::int64_t>(random.next());
  }
  return cast(vector_of(elements).reshaped(shape), dtype);
}

// ---- Items ----------------------------------------------------------------

constexpr std::array floats = {f32, f64, bf16, f16};

void add_products(std::vector<ChecksumItem>& items) {
  constexpr std::array<std::int64_t, 7> depths = {0,   1,    511,  512,
                                                  513, 1025, 50257};
  constexpr std::int64_t m = 5;
  constexpr std::int64_t n = 37;
  for (const DType dtype : floats) {
    for (const std::int64_t k : depths) {
      for (int transposed = 0; transposed < 4; ++transposed) {
        const bool left = (transposed & 1) != 0;
        const bool right = (transposed & 2) != 0;
        items.push_back(
            {"matmul " + std::string(name(dtype)) + " k " + std::to_string(k) +
                 (left ? " transposed" : " plain") +
                 (right ? " transposed" : " plain"),
             [=](const Runner& runner) {
               return hash_of(runner, [&](Program& program) {
                 const Value a = program.input(
                     drawn(left ? Shape{k, m} : Shape{m, k}, dtype, 1));
                 const Value b = program.input(
                     drawn(right ? Shape{n, k} : Shape{k, n}, dtype, 2));
                 return matmul(left ? transpose(a) : a,
                               right ? transpose(b) : b);
               });
             }});
      }
    }
  }
}

void add_sums(std::vector<ChecksumItem>& items) {
  for (const DType dtype : {f32, f64, bf16, f16, i32, i64}) {
    for (const std::int64_t n : {4095, 4096, 4097}) {
      const std::array<Shape, 3> shapes = {Shape{n, 3}, Shape{2, n, 3},
                                           Shape{3, n}};
      for (int i = 0; i < 3; ++i) {
        const Shape shape = shapes[static_cast<std::size_t>(i)];
        const int axis = i == 0 ? 0 : 1;
        items.push_back({"sum " + std::string(name(dtype)) + ' ' +
                             shape.text() + " axis " + std::to_string(axis),
                         [=](const Runner& runner) {
                           return hash_of(runner, [&](Program& program) {
                             return sum(program.input(drawn(shape, dtype, 3)),
                                        axis);
                           });
                         }});
      }
    }
  }
}

/// 2^20 patterns: every sign, every exponent, evenly spread significands with
/// random ends.
template <class T, class Bits>
Tensor stratified() {
  constexpr int count = 1 << 20;
  constexpr int low_bits = static_cast<int>(8 * sizeof(T)) - 20;
  SplitMix random(4);
  std::vector<T> elements;
  elements.reserve(count);
  for (int i = 0; i < count; ++i) {
    const Bits high = static_cast<Bits>(i) << low_bits;
    const Bits low =
        static_cast<Bits>(random.next()) & ((Bits{1} << low_bits) - 1);
    elements.push_back(std::bit_cast<T>(high | low));
  }
  return vector_of(elements);
}

/// Of 16 bits, all.
template <class T>
Tensor all_halves() {
  std::vector<T> elements;
  for (int i = 0; i < 1 << 16; ++i) {
    elements.push_back(std::bit_cast<T>(static_cast<std::uint16_t>(i)));
  }
  return vector_of(elements);
}

Tensor stratified(DType dtype) {
  if (dtype == bf16) return all_halves<BFloat16>();
  if (dtype == f16) return all_halves<Float16>();
  return dtype == f32 ? stratified<float, std::uint32_t>()
                      : stratified<double, std::uint64_t>();
}

void add_functions(std::vector<ChecksumItem>& items) {
  using Function = Value (*)(Operand);
  const std::pair<const char*, Function> functions[] = {
      {"exp", exp},
      {"expm1", expm1},
      {"ln", ln},
      {"log1p", log1p},
      {"tanh", tanh},
      {"logistic", logistic},
      {"erf", erf},
      {"rsqrt", rsqrt},
      {"sqrt", sqrt},
      {"sin", sin},
      {"cos", cos},
      {"gelu erf", [](Operand x) { return gelu(x, GeluForm::erf); }},
      {"gelu tanh", [](Operand x) { return gelu(x, GeluForm::tanh); }},
      {"silu", silu},
      {"pow 1.7", [](Operand x) { return pow(x, 1.7); }},
      {"softmax rows",
       [](Operand x) {
         return softmax(
             reshape(select(is_finite(x), minimum(maximum(x, -50), 50), 0),
                     {-1, 1 << 8}));
       }},
  };
  for (const auto& [name, function] : functions) {
    for (const DType dtype : floats) {
      items.push_back(
          {std::string(name) + ' ' + std::string(topos::name(dtype)),
           [dtype, function = function](const Runner& runner) {
             return hash_of(runner, [&](Program& program) {
               return function(program.input(stratified(dtype)));
             });
           }});
    }
  }
}

void add_scattered(std::vector<ChecksumItem>& items) {
  for (const DType dtype : {f32, f64, bf16, i32}) {
    items.push_back({"scatter_add " + std::string(name(dtype)) + ", duplicates",
                     [dtype](const Runner& runner) {
                       return hash_of(runner, [&](Program& program) {
                         SplitMix random(5);
                         std::vector<std::int32_t> index(1000);
                         for (auto& i : index) {
                           i = static_cast<std::int32_t>(random.next() % 27);
                         }
                         return scatter_add(
                             program.input(drawn({27, 10}, dtype, 6)),
                             program.input(vector_of(index)),
                             program.input(drawn({1000, 10}, dtype, 7)));
                       });
                     }});
  }
}

/// Seventeen rows of a network, computed `batch` at a time.
void add_batches(std::vector<ChecksumItem>& items) {
  constexpr std::int64_t rows = 17;
  for (const std::int64_t batch : {1, 2, 3, 8, 17}) {
    items.push_back(
        {"17 rows in batches of " + std::to_string(batch),
         [=](const Runner& runner) {
           const Tensor x = uniform({rows, 768}, 1.0, 8);
           const Tensor w1 = uniform({768, 257}, 0.1, 9);
           const Tensor w2 = uniform({257, 100}, 0.1, 10);
           Hash hash;
           for (std::int64_t first = 0; first < rows; first += batch) {
             const std::int64_t count = std::min(batch, rows - first);
             Program program;
             const Value y = softmax(
                 matmul(gelu(matmul(program.input(x.narrowed(0, first, count)),
                                    program.input(w1))),
                        program.input(w2)));
             // Row by row, so that the hash knows nothing of the batch.
             hash.add(program.run(y, runner));
           }
           return hash.value();
         }});
  }
}

std::uint64_t hash_of_training(const Runner& runner) {
  const models::Makemore program = models::record_makemore();
  Session session = runner.open(program.network);
  SplitMix random(11);
  Hash hash;
  using namespace models::makemore;
  for (int step = 0; step < 200; ++step) {
    const Tensor contexts =
        models::random_tokens({batch, context_length}, vocabulary, random);
    const Tensor targets = models::random_tokens({batch}, vocabulary, random);
    hash.add(session
                 .step(program.train, {{program.contexts, contexts},
                                       {program.targets, targets},
                                       {program.rate, rate_at(step)}})
                 .of(program.loss));
  }
  for (const auto& item : session.parameters().items()) hash.add(*item.payload);
  return hash.value();
}

/// All results of a model's programs, and the state that they leave.
std::uint64_t hash_of_model(const char* name, const Runner& runner) {
  const models::Recorded recorded = models::find_model(name)->record();
  Hash hash;
  for (const models::Program& program : recorded.programs) {
    Session session = runner.open(recorded.network);
    const Run run = session.step(program.plan, Feeds(program.feeds));
    const Entry& entry = program.plan.entry();
    for (const auto& result : entry.results()) hash.add(run.of(result.value));
    for (const auto& carry : entry.carries()) {
      hash.add(session.state(carry.input));
    }
  }
  return hash.value();
}

}  // namespace

std::vector<ChecksumItem> checksum_items() {
  std::vector<ChecksumItem> items;
  add_products(items);
  add_sums(items);
  add_functions(items);
  add_scattered(items);
  add_batches(items);
  items.push_back({"makemore_mlp, 200 training steps", hash_of_training});
  for (const char* model : {"gpt_tiny", "gpt_tiny_untied", "medley"}) {
    items.push_back({std::string(model) + ", a step of each plan",
                     [model](const Runner& runner) {
                       return hash_of_model(model, runner);
                     }});
  }
  return items;
}

}  // namespace tools

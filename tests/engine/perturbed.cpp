#include "engine/perturbed.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>

#include "engine/lowered_plan.h"
#include "graph/graph.h"
#include "math/elementary.h"
#include "math/float_environment.h"
#include "ops/evaluate.h"
#include "ops/indexing.h"
#include "support/random.h"
#include "tensor/visit.h"

namespace topos::test {

namespace {

using engines::Program;
using graph::Kind;

/// XLA's errors in ulp, as measured; what is missing here is rounded once.
template <class Op>
constexpr double wrong_by() {
  if (std::is_same_v<Op, ops::Tanh>) return 3.5;
  if (std::is_same_v<Op, ops::Exp>) return 0.9;
  if (std::is_same_v<Op, ops::Ln>) return 1.1;
  if (std::is_same_v<Op, ops::Log1p>) return 2.5;
  if (std::is_same_v<Op, ops::Expm1>) return 5.2;
  if (std::is_same_v<Op, ops::Logistic>) return 1.8;
  if (std::is_same_v<Op, ops::Erf>) return 4;
  if (std::is_same_v<Op, ops::Sin> || std::is_same_v<Op, ops::Cos>) return 0.6;
  if (std::is_same_v<Op, ops::Rsqrt> || std::is_same_v<Op, ops::Pow>) return 2;
  return 0;
}

class Perturbation {
 public:
  explicit Perturbation(std::uint64_t seed) : random_(seed) {
    flushes_ = random_.below(2) == 0;
  }

  template <class T>
  T flushed(T x) const {
    const bool subnormal = std::fabs(x) < std::numeric_limits<T>::min();
    return flushes_ && subnormal ? std::copysign(T(0), x) : x;
  }
  Tensor flushed(const Tensor& x) const {
    return visit_dtype(x.dtype(), [&]<class T>() -> Tensor {
      if constexpr (ops::Real<T>) {
        std::vector<T> elements = x.to_vector<T>();
        for (T& element : elements) element = flushed(element);
        return Tensor(x.shape(), elements);
      } else {
        return x;
      }
    });
  }
  /// x, off by up to `ulps`.
  template <class T>
  T nudged(T x, double ulps) {
    if (!std::isfinite(x) || x == 0 || ulps == 0) return x;
    const double off = random_.between(-ulps, ulps);
    const double ulp = std::fabs(static_cast<double>(
        std::nextafter(x, std::numeric_limits<T>::infinity()) - x));
    const T result = static_cast<T>(static_cast<double>(x) + off * ulp);
    return std::isfinite(result) ? result : x;
  }
  bool coin() { return random_.below(2) == 0; }

  /// In T, in some order.
  template <class T>
  T summed(std::vector<T> terms) {
    const std::int64_t order = random_.below(4);
    if (order == 0) std::reverse(terms.begin(), terms.end());
    if (order == 1) {
      for (std::size_t i = terms.size(); i > 1; --i) {
        const auto j =
            static_cast<std::size_t>(random_.below(static_cast<int>(i)));
        std::swap(terms[i - 1], terms[j]);
      }
    }
    // By chains that meet at the end, as vectors do.
    const std::size_t lanes = order == 2 ? 8 : 1;
    std::vector<T> lane(lanes, T(0));
    for (std::size_t i = 0; i < terms.size(); ++i) {
      lane[i % lanes] = flushed(lane[i % lanes] + flushed(terms[i]));
    }
    T total = 0;
    for (T part : lane) total = flushed(total + part);
    return total;
  }

  template <class T>
  T dot(const std::vector<T>& a, const std::vector<T>& b) {
    if (coin()) {
      std::vector<T> products;
      for (std::size_t i = 0; i < a.size(); ++i) {
        products.push_back(flushed(a[i] * b[i]));
      }
      return summed(products);
    }
    T total = 0;
    for (std::size_t i = a.size(); i > 0; --i) {
      total = flushed(std::fma(a[i - 1], b[i - 1], total));
    }
    return total;
  }

 private:
  Random random_;
  bool flushes_ = false;
};

template <class T>
Tensor made(const Type& type, const std::vector<T>& elements) {
  return Tensor(type.shape, elements);
}

template <class T>
std::vector<T> elements(const Tensor& x) {
  return x.to_vector<T>();
}

/// Calls `f(indices)` for the elements that each element of the result is made
/// of, in row-major order.
template <class F>
void for_each_row(const Shape& shape, const Axes& axes, F&& f) {
  const ops::Split at = ops::split(Layout::row_major(shape), axes);
  for_each_position(at.kept, [&](std::int64_t base) {
    std::vector<std::size_t> indices;
    for_each_position(at.reduced, [&](std::int64_t i) {
      indices.push_back(static_cast<std::size_t>(base + i));
    });
    f(indices);
  });
}

template <class T>
std::vector<T> at(const std::vector<T>& x, const std::vector<std::size_t>& i) {
  std::vector<T> result;
  for (std::size_t index : i) result.push_back(x[index]);
  return result;
}

// ---- One function an operation that XLA computes in its own way ---------

template <class T>
Tensor apply(const ops::Sum& op, const Type& type, std::vector<Tensor> x,
             Perturbation& p) {
  const std::vector<T> in = elements<T>(x[0]);
  std::vector<T> out;
  for_each_row(x[0].shape(), op.axes,
               [&](const auto& row) { out.push_back(p.summed(at(in, row))); });
  return made(type, out);
}

template <class T>
Tensor apply(const ops::Mean& op, const Type& type, std::vector<Tensor> x,
             Perturbation& p) {
  const std::vector<T> in = elements<T>(x[0]);
  std::vector<T> out;
  for_each_row(x[0].shape(), op.axes, [&](const auto& row) {
    const T total = p.summed(at(in, row));
    const T n = static_cast<T>(row.size());
    out.push_back(p.coin() ? total / n : total * (1 / n));
  });
  return made(type, out);
}

template <class T>
Tensor apply(const ops::Center& op, const Type& type, std::vector<Tensor> x,
             Perturbation& p) {
  const std::vector<T> in = elements<T>(x[0]);
  std::vector<T> out(in.size());
  for_each_row(x[0].shape(), op.axes, [&](const auto& row) {
    const T mean =
        p.flushed(p.summed(at(in, row)) / static_cast<T>(row.size()));
    for (std::size_t i : row) out[i] = in[i] - mean;
  });
  return made(type, out);
}

template <class T>
Tensor apply(const ops::Matmul&, const Type& type, std::vector<Tensor> x,
             Perturbation& p) {
  const std::vector<T> a = elements<T>(x[0]);
  const std::vector<T> b = elements<T>(x[1]);
  const auto m = static_cast<std::size_t>(x[0].shape()[-2]);
  const auto k = static_cast<std::size_t>(x[0].shape()[-1]);
  const auto n = static_cast<std::size_t>(x[1].shape()[-1]);
  const bool one = x[1].rank() != x[0].rank();
  std::vector<T> out(static_cast<std::size_t>(type.shape.element_count()));
  for (std::size_t flat = 0; flat < out.size(); ++flat) {
    const std::size_t row = flat / n;
    std::vector<T> left;
    std::vector<T> right;
    for (std::size_t l = 0; l < k; ++l) {
      left.push_back(a[row * k + l]);
      right.push_back(b[((one ? 0 : row / m) * k + l) * n + flat % n]);
    }
    out[flat] = p.dot(left, right);
  }
  return made(type, out);
}

/// x - m and the sum of its exponentials.
template <class T>
struct Row {
  Row(const std::vector<T>& x, Perturbation& p) {
    T m = -std::numeric_limits<T>::infinity();
    for (T element : x) m = ops::Maximum::value(m, element);
    if (m == -std::numeric_limits<T>::infinity()) m = 0;
    maximum = m;
    for (T element : x) {
      shifted.push_back(p.flushed(element - m));
      power.push_back(p.flushed(p.nudged(math::exp(shifted.back()), 0.9)));
    }
    sum = p.summed(power);
    ln = p.flushed(p.nudged(math::ln(sum), 1.1));
  }
  T maximum, sum, ln;
  std::vector<T> shifted, power;
};

template <class T>
Tensor apply(const ops::Softmax& op, const Type& type, std::vector<Tensor> x,
             Perturbation& p) {
  const std::vector<T> in = elements<T>(x[0]);
  std::vector<T> out(in.size());
  for_each_row(x[0].shape(), {op.axis}, [&](const auto& indices) {
    const Row<T> row(at(in, indices), p);
    const bool quotient = p.coin();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const T e = row.power[i];
      out[indices[i]] = row.sum == 0 ? T(0)
                        : quotient   ? e / row.sum
                                     : e * (1 / row.sum);
    }
  });
  return made(type, out);
}

template <class T>
Tensor apply(const ops::LogSoftmax& op, const Type& type, std::vector<Tensor> x,
             Perturbation& p) {
  const std::vector<T> in = elements<T>(x[0]);
  std::vector<T> out(in.size());
  for_each_row(x[0].shape(), {op.axis}, [&](const auto& indices) {
    const Row<T> row(at(in, indices), p);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      out[indices[i]] = row.sum == 0 ? -std::numeric_limits<T>::infinity()
                                     : row.shifted[i] - row.ln;
    }
  });
  return made(type, out);
}

template <class T>
Tensor apply(const ops::LogSumExp& op, const Type& type, std::vector<Tensor> x,
             Perturbation& p) {
  const std::vector<T> in = elements<T>(x[0]);
  std::vector<T> out;
  for_each_row(x[0].shape(), {op.axis}, [&](const auto& indices) {
    const Row<T> row(at(in, indices), p);
    out.push_back(row.sum == 0 ? -std::numeric_limits<T>::infinity()
                               : row.maximum + row.ln);
  });
  return made(type, out);
}

/// In T and from the last update to the first.
template <class T>
Tensor apply(const ops::ScatterAdd& op, const Type& type, std::vector<Tensor> x,
             Perturbation& p) {
  const ops::IndexedExtents e(x[0].shape(), x[1].shape(), op.axis, op.batch);
  const auto index = ops::checked_indices(x[1], e.n);
  std::vector<T> out = elements<T>(x[0]);
  const std::vector<T> updates = elements<T>(x[2]);
  for (std::size_t next = updates.size(); next > 0; --next) {
    auto rest = static_cast<std::int64_t>(next - 1);
    const std::int64_t a = rest % e.after;
    const std::int64_t r = (rest /= e.after) % e.rest;
    const std::int64_t o = (rest /= e.rest) % e.before;
    const std::int64_t b = rest / e.before;
    const std::int64_t i = index[static_cast<std::size_t>(b * e.rest + r)];
    T& sum = out[static_cast<std::size_t>(
        ((b * e.before + o) * e.n + i) * e.after + a)];
    sum = p.flushed(sum + updates[next - 1]);
  }
  return made(type, out);
}

template <class T>
Tensor apply(const ops::Div&, const Type& type, std::vector<Tensor> x,
             Perturbation& p) {
  const std::vector<T> a = elements<T>(x[0]);
  const std::vector<T> b = elements<T>(x[1]);
  std::vector<T> out;
  // Only of a constant, and XLA has none whose reciprocal is not normal.
  for (std::size_t i = 0; i < a.size(); ++i) {
    const T inverse = 1 / b[i];
    out.push_back(std::isnormal(inverse) && p.coin() ? a[i] * inverse
                                                     : a[i] / b[i]);
  }
  return made(type, out);
}

/// Through f64 where coin says so, and off by what XLA is off by.
template <class T, class Op>
Tensor elementwise(const Op& op, const Type& type, std::vector<Tensor> x,
                   Perturbation& p) {
  Tensor y = ops::evaluate(op, type, x);
  const bool narrow =
      !std::is_same_v<Op, ops::Cast> && type.dtype == f32 &&
      std::all_of(x.begin(), x.end(), [](const Tensor& operand) {
        return operand.dtype() == f32 || operand.dtype() == boolean;
      });
  if (narrow && p.coin()) {
    std::vector<Tensor> wide;
    for (const Tensor& operand : x) {
      wide.push_back(operand.dtype() == f32 ? cast(operand, f64) : operand);
    }
    y = cast(ops::evaluate(op, {f64, type.shape}, wide), f32);
  }
  std::vector<T> out = elements<T>(y);
  for (T& element : out) element = p.nudged(element, wrong_by<Op>());
  return made(type, out);
}

/// a b + c or a b - c in one rounding, if an operand of the sum is a product.
std::optional<Tensor> fused(const Program& program, const graph::Node& node,
                            const std::vector<Tensor>& values,
                            Perturbation& p) {
  const bool adds = std::holds_alternative<ops::Add>(node.op);
  const bool subtracts = std::holds_alternative<ops::Sub>(node.op);
  if (!adds && !subtracts) return std::nullopt;
  const auto operands = program.list.operands(node);
  for (std::size_t side : {0u, 1u}) {
    const graph::Node& product = program.list.nodes[operands[side]];
    if (product.kind != Kind::operation ||
        !std::holds_alternative<ops::Mul>(product.op) || p.coin()) {
      continue;
    }
    const auto factors = program.list.operands(product);
    return visit_dtype(
        node.type.dtype, [&]<class T>() -> std::optional<Tensor> {
          if constexpr (ops::Real<T>) {
            const auto a = elements<T>(p.flushed(values[factors[0]]));
            const auto b = elements<T>(p.flushed(values[factors[1]]));
            const auto c = elements<T>(p.flushed(values[operands[1 - side]]));
            std::vector<T> out;
            for (std::size_t i = 0; i < a.size(); ++i) {
              const T left = subtracts && side == 1 ? -a[i] : a[i];
              const T right = subtracts && side == 0 ? -c[i] : c[i];
              out.push_back(std::fma(left, b[i], right));
            }
            return made(node.type, out);
          }
          return std::nullopt;
        });
  }
  return std::nullopt;
}

Tensor computed(const ops::Any& any, const Type& type,
                const std::vector<Tensor>& x, Perturbation& p) {
  return std::visit(
      [&](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        return visit_dtype(type.dtype, [&]<class T>() -> Tensor {
          if constexpr (ops::Real<T>) {
            if constexpr (requires { apply<T>(op, type, x, p); }) {
              return apply<T>(op, type, x, p);
            } else if constexpr (ops::Elementwise<Op>) {
              return elementwise<T>(op, type, x, p);
            }
          }
          return ops::evaluate(op, type, x);
        });
      },
      any);
}

}  // namespace

std::vector<Tensor> perturbed(const Network& network, const Plan& plan,
                              Feeds feeds, std::uint64_t seed) {
  // XLA, too, is given 16-bit arithmetic as f32 between casts.
  const Program program =
      engines::widen(plan.lowered()->recorded, {.sums = f32});
  const graph::Graph& list = program.list;
  engines::FeedTable table(program);
  table.bind(feeds);
  const math::FloatEnvironment environment;
  Perturbation p(seed);
  const Parameters parameters = network.parameters();
  std::vector<Tensor> values;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    const graph::Node& node = list.nodes[i];
    const Symbol symbol{list.tape, program.origin[i]};
    if (node.kind == Kind::constant) {
      values.push_back(list.payloads.at(i));
    } else if (node.kind == Kind::parameter) {
      values.push_back(parameters.of(symbol));
    } else if (node.kind == Kind::input) {
      const auto* input = table.find(symbol.node);
      values.push_back(Tensor::borrowed(
          node.type, row_major_strides(node.type.shape), input->data));
    } else if (auto sum = fused(program, node, values, p)) {
      values.push_back(p.flushed(*sum));
    } else {
      std::vector<Tensor> operands;
      for (std::uint32_t operand : list.operands(node)) {
        operands.push_back(p.flushed(values[operand]));
      }
      values.push_back(p.flushed(computed(node.op, node.type, operands, p)));
    }
  }
  std::vector<Tensor> result;
  const auto give = [&](std::uint32_t node) {
    // No view of what was fed.
    result.push_back(concat({values[node].reshaped({-1})}, 0)
                         .reshaped(values[node].shape()));
  };
  for (std::uint32_t node : program.results) give(node);
  for (const Program::Carry& carry : program.carries) give(carry.next);
  return result;
}

}  // namespace topos::test

// Every vectorized elementwise kernel against the operation's own value.

#include "engine/tile_kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/every_target.h"
#include "ops/evaluate.h"
#include "tensor/visit.h"

namespace topos::engines {
namespace {

using kernels::Scalars;
using kernels::test::on_every_target;

constexpr std::size_t greatest_size = 67;

/// n elements as bytes, one byte or element before the first that counts.
using Bytes = std::vector<std::byte>;

template <class T>
T random_element(std::mt19937_64& random) {
  if constexpr (std::same_as<T, bool>) {
    return random() % 2 != 0;
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(static_cast<std::uint16_t>(random()));
  } else if constexpr (std::integral<T>) {
    using Limits = std::numeric_limits<T>;
    const T special[] = {0, 1, -1, Limits::min(), Limits::max()};
    return random() % 3 == 0 ? special[random() % std::size(special)]
                             : static_cast<T>(random());
  } else {
    using Limits = std::numeric_limits<T>;
    using Bits =
        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const T special[] = {T{0},
                         -T{0},
                         T{1},
                         T{-2},
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         Limits::denorm_min(),
                         -Limits::denorm_min(),
                         Limits::min(),
                         Limits::max()};
    switch (random() % 3) {
      case 0:
        return special[random() % std::size(special)];
      case 1:
        return std::bit_cast<T>(static_cast<Bits>(random()));
      default:
        return static_cast<T>(static_cast<double>(random() % 64000) / 8000 - 4);
    }
  }
}

Bytes random_elements(std::mt19937_64& random, DType dtype) {
  Bytes bytes((greatest_size + 1) * size_bytes(dtype));
  visit_dtype(dtype, [&]<class T>() {
    for (std::size_t i = 0; i <= greatest_size; ++i) {
      const T x = random_element<T>(random);
      std::memcpy(bytes.data() + i * sizeof(T), &x, sizeof(T));
    }
  });
  return bytes;
}

/// The same bits, or both NaN.
bool same(const Bytes& a, const Bytes& b, DType dtype) {
  return visit_dtype(dtype, [&]<class T>() {
    for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
      if (std::memcmp(&a[at], &b[at], sizeof(T)) == 0) continue;
      T x;
      T y;
      std::memcpy(&x, &a[at], sizeof(T));
      std::memcpy(&y, &b[at], sizeof(T));
      if (x != x && y != y) continue;
      return false;
    }
    return true;
  });
}

/// One operation over operands of some types.
struct Case {
  ops::Any op;
  std::vector<DType> operands;
  DType result;
};

/// The definition, scalars spelled out.
Bytes expected(const Case& c, const std::vector<Bytes>& x, Scalars scalars,
               std::size_t n, const Bytes& y) {
  std::vector<Bytes> spelled = x;
  std::array<const void*, 3> operands = {};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t bytes = size_bytes(c.operands[i]);
    if ((scalars >> i & 1) != 0) {
      for (std::size_t j = 2; j <= greatest_size; ++j) {
        std::memcpy(&spelled[i][j * bytes], &spelled[i][bytes], bytes);
      }
    }
    operands[i] = spelled[i].data() + bytes;
  }
  Bytes result = y;
  const auto function = std::visit(
      [&]<class Op>(const Op& op) -> ops::TileFunction {
        if constexpr (ops::Elementwise<Op>) {
          return ops::tile_function(op, c.operands.back());
        } else {
          return nullptr;
        }
      },
      c.op);
  function(operands.data(), result.data() + size_bytes(c.result), n);
  return result;
}

Bytes actual(ops::TileFunction kernel, const Case& c, std::vector<Bytes> x,
             std::size_t n, Bytes y, std::size_t in_place) {
  std::array<const void*, 3> operands = {};
  for (std::size_t i = 0; i < x.size(); ++i) {
    operands[i] = x[i].data() + size_bytes(c.operands[i]);
  }
  if (in_place < x.size()) {
    const std::size_t bytes = size_bytes(c.result);
    std::memcpy(y.data() + bytes, operands[in_place], n * bytes);
    operands[in_place] = y.data() + bytes;
  }
  kernel(operands.data(), y.data() + size_bytes(c.result), n);
  return y;
}

void check(const Case& c, Scalars scalars, std::mt19937_64& random) {
  const auto kernel = tile_kernel(c.op, c.operands.back(), scalars);
  if (kernel == nullptr) return;
  for (std::size_t n = 0; n <= greatest_size; ++n) {
    std::vector<Bytes> x;
    for (const DType dtype : c.operands) {
      x.push_back(random_elements(random, dtype));
    }
    const Bytes y = random_elements(random, c.result);
    const Bytes wanted = expected(c, x, scalars, n, y);
    ASSERT_TRUE(same(actual(kernel, c, x, n, y, SIZE_MAX), wanted, c.result))
        << n << " elements";
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (c.operands[i] != c.result || (scalars >> i & 1) != 0) continue;
      ASSERT_TRUE(same(actual(kernel, c, x, n, y, i), wanted, c.result))
          << n << " elements, over operand " << i;
    }
  }
}

/// Every operation that is elementwise, of every type that it takes.
std::vector<Case> cases() {
  std::vector<Case> result;
  const DType all[] = {f32, f64, i32, i64, boolean};
  const auto add = [&]<class Op>(const Op& op) {
    for (const DType dtype : all) {
      std::vector<Type> types(Op::arity, Type{dtype, {2}});
      if constexpr (std::same_as<Op, ops::Select>) types[0].dtype = boolean;
      try {
        const Type type = op.infer(types);
        Case c{op, {}, type.dtype};
        for (const Type& each : types) c.operands.push_back(each.dtype);
        result.push_back(c);
      } catch (const std::exception&) {
        continue;  // not of this type
      }
    }
  };
  const auto add_alternative = [&]<std::size_t i>() {
    using Op = std::variant_alternative_t<i, ops::Any>;
    if constexpr (std::same_as<Op, ops::Cast>) {
      for (const DType to : all) add(Op{to});
    } else if constexpr (ops::Elementwise<Op>) {
      add(Op{});
    }
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (add_alternative.template operator()<i>(), ...);
  }
  (std::make_index_sequence<std::variant_size_v<ops::Any>>());
  return result;
}

TEST(TileKernels, HaveTheBitsOfTheirOperations) {
  std::mt19937_64 random(kernels::test::seed());
  TOPOS_SHOW_SEED();
  for (const Case& c : cases()) {
    SCOPED_TRACE(std::string(ops::name_of(c.op)) + " of " +
                 std::string(name(c.operands.back())) + " to " +
                 std::string(name(c.result)));
    on_every_target([&] {
      for (Scalars scalars = 0; scalars < (1u << c.operands.size());
           ++scalars) {
        check(c, scalars, random);
      }
    });
  }
}

TEST(TileKernels, ExistForWhatTrainingRuns) {
  const auto& targets = kernels::supported_targets();
  if (targets.front() == "SCALAR" || targets.front() == "EMU128") return;
  const ops::Any everywhere[] = {
      ops::Add{},     ops::Sub{},  ops::Mul{},     ops::Div{},   ops::Exp{},
      ops::Ln{},      ops::Tanh{}, ops::Erf{},     ops::Sqrt{},  ops::Rsqrt{},
      ops::Maximum{}, ops::Relu{}, ops::Greater{}, ops::Select{}};
  for (const ops::Any& op : everywhere) {
    EXPECT_NE(tile_kernel(op, f32, 0), nullptr) << ops::name_of(op);
  }
  EXPECT_NE(tile_kernel(ops::Sub{}, f32, 1), nullptr);
  EXPECT_NE(tile_kernel(ops::Select{}, f32, 4), nullptr);
}

}  // namespace
}  // namespace topos::engines

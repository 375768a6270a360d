// Views against a plain index computation: a Model holds its elements in a
// vector, and every view of it copies them one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tensor/layout.h"
#include "tensor/visit.h"
#include "topos/tensor.h"

namespace topos {
namespace {

using Index = std::vector<std::int64_t>;

struct Model {
  Index shape;
  std::vector<int> elements;

  int at(const Index& index) const {
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      flat = flat * shape[axis] + index[axis];
    }
    return elements[static_cast<std::size_t>(flat)];
  }

  /// The element at `index` of the result is the one of this at `source`.
  template <class F>
  Model mapped(const Index& to, F&& source) const {
    Model result{to, {}};
    Index index(to.size(), 0);
    std::int64_t count = 1;
    for (std::int64_t extent : to) count *= extent;
    for (std::int64_t i = 0; i < count; ++i) {
      result.elements.push_back(at(source(index)));
      for (std::size_t axis = to.size(); axis-- > 0;) {
        if (++index[axis] < to[axis]) break;
        index[axis] = 0;
      }
    }
    return result;
  }
};

Shape shape_of(const Index& extents) {
  return Shape(std::span<const std::int64_t>(extents));
}

Tensor tensor_of(const Model& model, DType dtype) {
  return visit_dtype(dtype, [&]<class T>() {
    std::vector<T> elements;
    for (int element : model.elements) {
      elements.push_back(static_cast<T>(element));
    }
    return Tensor(shape_of(model.shape), elements);
  });
}

/// Reads the view in every way there is.
void expect_same(const Tensor& view, const Model& model) {
  ASSERT_EQ(view.shape(), shape_of(model.shape));
  visit_dtype(view.dtype(), [&]<class T>() {
    std::vector<T> expected;
    for (int element : model.elements) {
      expected.push_back(static_cast<T>(element));
    }
    ASSERT_EQ(view.to_vector<T>(), expected);
    const Tensor packed = view.contiguous();
    ASSERT_TRUE(packed.is_contiguous());
    const auto span = packed.span<T>();
    ASSERT_TRUE(
        std::equal(span.begin(), span.end(), expected.begin(), expected.end()));
    if (view.is_contiguous()) {
      ASSERT_EQ(packed.data(), view.data());
    }
    const Layout layout{view.shape(), view.strides(), 0};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto at = position_of(layout, static_cast<std::int64_t>(i));
      ASSERT_EQ(reinterpret_cast<const T*>(view.data())[at], expected[i]);
    }
  });
}

class RandomViews {
 public:
  explicit RandomViews(std::uint64_t seed) : engine_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(
                     engine_() % static_cast<std::uint64_t>(high - low + 1));
  }

  Model start() {
    Model model;
    const auto rank = between(0, 4);
    for (int axis = 0; axis < rank; ++axis) {
      model.shape.push_back(between(0, 9) == 0 ? 0 : between(1, 5));
    }
    std::int64_t count = 1;
    for (std::int64_t extent : model.shape) count *= extent;
    model.elements.resize(static_cast<std::size_t>(count));
    std::iota(model.elements.begin(), model.elements.end(), 1);
    return model;
  }

  /// One random view of both.
  std::string step(Tensor& tensor, Model& model) {
    const int rank = tensor.rank();
    switch (between(0, 5)) {
      case 0:
        return reshape(tensor, model);
      case 1:
        return permute(tensor, model);
      case 2:
        return rank > 0 ? narrow(tensor, model) : "";
      case 3:
        return broadcast(tensor, model);
      case 4:
        return reverse(tensor, model);
      default:
        return rank > 0 ? slice(tensor, model) : "";
    }
  }

 private:
  // An axis, by either of its names.
  int random_axis(int rank, std::size_t& at) {
    at = static_cast<std::size_t>(between(0, rank - 1));
    const int axis = static_cast<int>(at);
    return between(0, 1) == 0 ? axis : axis - rank;
  }

  std::string reshape(Tensor& tensor, Model& model) {
    std::int64_t left = tensor.element_count();
    Index to;
    if (left == 0) {
      to = {between(0, 3), 0, between(1, 3)};
    } else {
      while (left > 1 && to.size() < 6) {
        std::int64_t extent = between(1, std::min<std::int64_t>(left, 12));
        while (left % extent != 0) --extent;
        to.push_back(extent);
        left /= extent;
      }
      to.push_back(left);
      std::shuffle(to.begin(), to.end(), engine_);
    }
    model.shape = to;
    Shape asked = shape_of(to);
    if (tensor.element_count() > 0 && between(0, 1) == 0) {
      asked[static_cast<int>(between(0, asked.rank() - 1))] = -1;
    }
    tensor = tensor.reshaped(asked);
    return " reshape " + asked.text();
  }

  std::string permute(Tensor& tensor, Model& model) {
    std::vector<int> order(model.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), engine_);
    Axes axes;
    Index to;
    for (int axis : order) {
      const int named = between(0, 1) == 0 ? axis : axis - tensor.rank();
      axes.push_back(static_cast<std::int8_t>(named));
      to.push_back(model.shape[static_cast<std::size_t>(axis)]);
    }
    tensor = tensor.permuted(axes);
    model = model.mapped(to, [&](const Index& index) {
      Index source(index.size());
      for (std::size_t i = 0; i < index.size(); ++i) {
        source[static_cast<std::size_t>(order[i])] = index[i];
      }
      return source;
    });
    return " permute " + axes.text();
  }

  std::string narrow(Tensor& tensor, Model& model) {
    std::size_t at = 0;
    const int axis = random_axis(tensor.rank(), at);
    const std::int64_t start = between(0, model.shape[at]);
    const std::int64_t count = between(0, model.shape[at] - start);
    tensor = tensor.narrowed(axis, start, count);
    Index to = model.shape;
    to[at] = count;
    model = model.mapped(to, [&](Index index) {
      index[at] += start;
      return index;
    });
    return " narrow " + std::to_string(axis) + " " + std::to_string(start) +
           " " + std::to_string(count);
  }

  std::string broadcast(Tensor& tensor, Model& model) {
    Axes axes;
    Index to;
    std::vector<std::size_t> placed;
    for (std::size_t axis = 0; axis <= model.shape.size(); ++axis) {
      const auto room = static_cast<std::size_t>(max_rank) + axis;
      if (to.size() + model.shape.size() < room && between(0, 3) == 0) {
        to.push_back(between(0, 3));
      }
      if (axis == model.shape.size()) break;
      placed.push_back(to.size());
      axes.push_back(static_cast<std::int8_t>(to.size()));
      const std::int64_t extent = model.shape[axis];
      to.push_back(extent == 1 && between(0, 1) == 0 ? between(0, 3) : extent);
    }
    tensor = tensor.broadcasted(shape_of(to), axes);
    const Index from = model.shape;
    model = model.mapped(to, [&](const Index& index) {
      Index source(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) {
        source[i] = from[i] == 1 ? 0 : index[placed[i]];
      }
      return source;
    });
    return " broadcast " + shape_of(to).text() + " " + axes.text();
  }

  std::string reverse(Tensor& tensor, Model& model) {
    Axes axes;
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      if (between(0, 1) == 0) axes.push_back(static_cast<std::int8_t>(axis));
    }
    tensor = tensor.reversed(axes);
    const Index from = model.shape;
    model = model.mapped(from, [&](Index index) {
      for (int axis : axes) {
        const auto at = static_cast<std::size_t>(axis);
        index[at] = from[at] - 1 - index[at];
      }
      return index;
    });
    return " reverse " + axes.text();
  }

  std::string slice(Tensor& tensor, Model& model) {
    std::size_t at = 0;
    const int axis = random_axis(tensor.rank(), at);
    const std::int64_t start = between(0, model.shape[at]);
    const std::int64_t stop = between(start, model.shape[at]);
    const std::int64_t step = between(1, 4);
    tensor = tensor.sliced(axis, start, stop, step);
    Index to = model.shape;
    to[at] = 0;
    for (std::int64_t i = start; i < stop; i += step) ++to[at];
    model = model.mapped(to, [&](Index index) {
      index[at] = start + index[at] * step;
      return index;
    });
    return " slice " + std::to_string(axis) + " " + std::to_string(start) +
           ":" + std::to_string(stop) + ":" + std::to_string(step);
  }

  std::mt19937_64 engine_;
};

TEST(Views, AnyCompositionReadsAsThePlainIndexComputation) {
  constexpr std::uint64_t first_seed = 20260801;
  for (std::uint64_t seed = first_seed; seed < first_seed + 5000; ++seed) {
    RandomViews random(seed);
    Model model = random.start();
    Tensor tensor = tensor_of(model, static_cast<DType>(seed % dtype_count));
    std::string story =
        "seed " + std::to_string(seed) + ": " + tensor.type().text();
    for (int steps = 0; steps < 6 && tensor.element_count() < 3000; ++steps) {
      story += random.step(tensor, model);
      SCOPED_TRACE(story);
      expect_same(tensor, model);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

Tensor counted(const Shape& shape) {
  std::vector<std::int32_t> elements(
      static_cast<std::size_t>(shape.element_count()));
  std::iota(elements.begin(), elements.end(), 0);
  return Tensor(shape, elements);
}

TEST(Views, CopyNothing) {
  const Tensor t = counted({4, 6});
  EXPECT_EQ(t.reshaped({2, 12}).data(), t.data());
  EXPECT_EQ(t.reshaped({3, -1}).data(), t.data());
  EXPECT_EQ(t.permuted({1, 0}).data(), t.data());
  EXPECT_EQ(t.narrowed(0, 1, 2).data(), t.data() + 6 * 4);
  EXPECT_EQ(t.broadcasted({9, 4, 6}).data(), t.data());
  EXPECT_EQ(t.reversed(0).data(), t.data() + 18 * 4);
  EXPECT_EQ(t.sliced(1, 1, 6, 2).data(), t.data() + 4);
  EXPECT_EQ(t.contiguous().data(), t.data());
}

TEST(Views, ReshapeCopiesOnlyWhereNoStridesCanExpressIt) {
  const Tensor t = counted({4, 6});
  // An axis may be split and runs of axes merged, in views with gaps, too.
  const Tensor rows = t.sliced(0, 0, 4, 2);  // [2, 6]
  EXPECT_EQ(rows.reshaped({2, 3, 2}).data(), rows.data());
  EXPECT_EQ(rows.reshaped({2, 1, 6, 1}).data(), rows.data());
  const Tensor turned = t.permuted({1, 0});  // [6, 4]
  EXPECT_EQ(turned.reshaped({3, 2, 4}).data(), turned.data());
  const Tensor repeated = counted({3}).broadcasted({2, 5, 3});
  EXPECT_EQ(repeated.reshaped({10, 3}).data(), repeated.data());
  const Tensor back = t.reversed({0, 1});
  EXPECT_EQ(back.reshaped({24}).data(), back.data());
  // These cannot be expressed.
  EXPECT_NE(turned.reshaped({24}).data(), turned.data());
  EXPECT_NE(rows.reshaped({12}).data(), rows.data());
  EXPECT_NE(repeated.reshaped({30}).data(), repeated.data());
}

TEST(Views, InferOneExtent) {  // BC-21
  EXPECT_EQ(Tensor::zeros({f32, {0, 3}}).reshaped({-1, 3}).shape(),
            (Shape{0, 3}));
  EXPECT_EQ(counted({4, 6}).reshaped({-1}).shape(), Shape{24});
  EXPECT_EQ(counted({4, 6}).reshaped({2, -1, 3}).shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(counted({4, 6}).reshaped({24, -1}).shape(), (Shape{24, 1}));
  EXPECT_EQ(Tensor().reshaped({-1, 1}).shape(), (Shape{1, 1}));
}

TEST(Views, OfNothingStayInsideTheirStorage) {
  const Tensor none = Tensor::zeros({f32, {0, std::int64_t{1} << 60}});
  const std::int64_t far = std::int64_t{1} << 59;
  EXPECT_EQ(none.narrowed(1, far, 5).data(), none.data());
  EXPECT_EQ(none.sliced(1, far, far + 8, 2).data(), none.data());
  EXPECT_EQ(none.reversed(1).data(), none.data());
  const Tensor t = counted({4, 6});
  EXPECT_EQ(t.narrowed(0, 4, 0).narrowed(1, 6, 0).element_count(), 0);
  EXPECT_EQ(t.sliced(0, 4, 4, 3).shape(), (Shape{0, 6}));
}

TEST(Views, AStepBeyondTheEndTakesOne) {
  const auto greatest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(counted({4, 6}).sliced(0, 1, 4, greatest).text(),
            "i32[1, 6]{6 7 8 9 10 11}");
  EXPECT_EQ(counted({5}).sliced(-1, 2, 5, 3).text(), "i32[1]{2}");
  EXPECT_EQ(counted({5}).sliced(-1, 1, 5, 3).text(), "i32[2]{1 4}");
}

}  // namespace
}  // namespace topos

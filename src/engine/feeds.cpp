#include "engine/feeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ops/evaluate.h"
#include "tensor/visit.h"
#include "topos/error.h"

namespace topos::engines {

using graph::Graph;
using graph::Kind;

std::vector<Access> resolve_views(const Program& program) {
  const Graph& list = program.list;
  std::vector<Access> result;
  result.reserve(list.size());
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    const graph::Node& node = list.nodes[i];
    std::optional<Layout> layout;
    std::uint32_t root = i;
    if (node.kind == Kind::operation) {
      std::visit(
          [&]<class Op>(const Op& op) {
            if constexpr (ops::ViewValue<Op>) {
              const Access& operand = result[list.operands(node)[0]];
              root = operand.root;
              layout = op.view(operand.layout);
            }
          },
          node.op);
    }
    if (layout) {
      result.push_back({root, *layout});
    } else {
      result.push_back({i, Layout::row_major(node.type.shape)});
    }
  }
  return result;
}

std::optional<std::int64_t> indexed_extent(const Graph& list,
                                           const graph::Node& node) {
  const auto extent = [&](int axis) {
    return list.nodes[list.operands(node)[0]].type.shape[axis];
  };
  if (const auto* gather = std::get_if<ops::Gather>(&node.op)) {
    return extent(gather->axis);
  }
  if (const auto* scatter = std::get_if<ops::ScatterAdd>(&node.op)) {
    return extent(scatter->axis);
  }
  return std::nullopt;
}

namespace {

std::string text_of(const FeedTable::Input& input, const Graph& list) {
  return list.origin(input.node);
}

}  // namespace

FeedTable::FeedTable(const Program& program) : program_(&program) {
  const Graph& list = program.list;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    if (list.nodes[i].kind == Kind::input) {
      Input input;
      input.node = i;
      input.symbol = program.origin[i];
      input.type = list.nodes[i].type;
      inputs_.push_back(std::move(input));
    }
  }
  for (const Program::Carry& carry : program.carries) {
    if (Input* input = find(program.origin[carry.input])) {
      input->carried = true;
    }
  }
  const std::vector<Access> accesses = resolve_views(program);
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    const graph::Node& node = list.nodes[i];
    if (node.kind != Kind::operation) continue;
    if (const auto extent = indexed_extent(list, node)) {
      const Access& index = accesses[list.operands(node)[1]];
      if (list.nodes[index.root].kind != Kind::input) continue;
      const Input* input = find(program.origin[index.root]);
      checks_.push_back({static_cast<std::size_t>(input - inputs_.data()),
                         index.layout, *extent, i});
    }
  }
}

FeedTable::Input* FeedTable::find(std::uint32_t symbol) {
  // Ascending: nodes and symbols are in recording order.
  const auto found = std::lower_bound(
      inputs_.begin(), inputs_.end(), symbol,
      [](const Input& input, std::uint32_t s) { return input.symbol < s; });
  return found != inputs_.end() && found->symbol == symbol ? &*found : nullptr;
}

void FeedTable::bind(Feeds feeds, const Names& names) {
  const Graph& list = program_->list;
  for (Input& input : inputs_) {
    if (!input.carried) input.data = nullptr;
  }
  for (const Feed& feed : feeds) {
    if (feed.symbol.tape != list.tape) {
      throw UsageError(
          fmt::format("a feed names %{} of tape {}, but the plan is of tape {}",
                      feed.symbol.node, feed.symbol.tape, list.tape));
    }
    Input* input = find(feed.symbol.node);
    if (input == nullptr) {
      const std::string_view name =
          names ? names(feed.symbol.node) : std::string_view();
      throw UsageError(fmt::format(
          "a feed names %{}{}, which is no input that this plan reads",
          feed.symbol.node,
          name.empty() ? "" : fmt::format(" (\"{}\")", name)));
    }
    if (input->carried) {
      throw UsageError(
          fmt::format("{} is carried by the session and cannot be fed: use set",
                      text_of(*input, list)));
    }
    if (input->data != nullptr) {
      throw UsageError(fmt::format("{} is fed twice", text_of(*input, list)));
    }
    bind(*input, feed);
  }
  for (const Input& input : inputs_) {
    if (input.data == nullptr && !input.carried) {
      throw UsageError(fmt::format("{} ({}) is not fed", text_of(input, list),
                                   input.type.text()));
    }
  }
  for (const IndexCheck& wanted : checks_) {
    const Input& input = inputs_[wanted.input];
    // What is carried was computed: its operation checks it.
    if (!input.carried) check(wanted, input.data);
  }
}

void FeedTable::bind(Input& input, const Feed& feed) {
  const Graph& list = program_->list;
  // An empty tensor has no element to point to.
  static const std::byte nothing[8] = {};
  const auto expect = [&](DType dtype, bool fits, const std::string& found) {
    const auto text = [&] {
      return fmt::format("{} is {}, but is fed {}", text_of(input, list),
                         input.type.text(), found);
    };
    if (dtype != input.type.dtype) throw DTypeError(text());
    if (!fits) throw ShapeError(text());
  };
  if (const Tensor* tensor = std::get_if<Tensor>(&feed.what)) {
    if (tensor->type() != input.type) {
      expect(tensor->dtype(), false, tensor->type().text());
    }
    if (tensor->is_contiguous()) {
      input.data = tensor->data();
    } else {
      input.staging.resize(input.type.size_bytes());
      gather_elements(tensor->data(), layout_of(*tensor),
                      size_bytes(input.type.dtype), input.staging.data());
      input.data = input.staging.data();
    }
  } else if (const auto* elements = std::get_if<Feed::Elements>(&feed.what)) {
    const auto count = input.type.shape.element_count();
    if (elements->dtype != input.type.dtype ||
        elements->count != static_cast<std::size_t>(count)) {
      expect(elements->dtype, false,
             fmt::format("{} elements of {}", elements->count,
                         name(elements->dtype)));
    }
    input.data = static_cast<const std::byte*>(elements->data);
  } else {
    const Number& number = std::get<Number>(feed.what);
    if (input.type.shape.rank() != 0) {
      expect(input.type.dtype, false, "the number " + number.text());
    }
    input.staging.resize(size_bytes(input.type.dtype));
    visit_dtype(input.type.dtype, [&]<class T>() {
      try {
        const T exact = number.as<T>();
        std::memcpy(input.staging.data(), &exact, sizeof(T));
      } catch (const DTypeError& error) {
        throw DTypeError(text_of(input, list) + ": " + error.message());
      }
    });
    input.data = input.staging.data();
  }
  if (input.data == nullptr) input.data = nothing;
}

void FeedTable::check(const IndexCheck& check,
                      const std::byte* elements) const {
  const Input& input = inputs_[check.input];
  visit_dtype(input.type.dtype, [&]<class T>() {
    const T* indices = reinterpret_cast<const T*>(elements);
    std::int64_t position = 0;
    for_each_position(check.layout, [&](std::int64_t at) {
      const auto index = static_cast<std::int64_t>(indices[at]);
      if (index < 0 || index >= check.extent) {
        throw IndexError(fmt::format(
            "{}: the index {} at position {} of {} is not in [0, {})",
            program_->list.origin(check.node), index, position,
            text_of(input, program_->list), check.extent));
      }
      ++position;
    });
  });
}

}  // namespace topos::engines

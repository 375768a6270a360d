// The public functions on values: they record.

#include "topos/functions.h"

#include "graph/recording.h"
#include "ops/call.h"
#include "ops/composite.h"
#include "ops/evaluate.h"
#include "topos/error.h"
#include "topos/tape.h"

namespace topos {

namespace {

using graph::Recording;
using ops::Operands;

/// The operands of one call, found on their tape.
class Call {
 public:
  Call(const ops::CallRules& rules, std::span<const Operand> operands)
      : rules_(rules), operands_(operands), site_(ops::call_site(operands)) {}

  /// Finds the tape, records the numbers and broadcasts among the operands,
  /// runs `body(recording, nodes, types)`, which records the rest. On an error
  /// the tape is as it was, and the message has the line and the call.
  template <class F>
  Value record(F&& body) {
    Recording* recording = nullptr;
    try {
      for (const Operand& operand : operands_) {
        if (const Value* value = std::get_if<Value>(&operand.what)) {
          recording = &Recording::of(*value);
          break;
        }
      }
      if (recording == nullptr) {
        throw DTypeError("all operands are numbers: give one of them a dtype");
      }
      Transaction transaction(*recording);
      find_values(*recording);
      resolve_numbers(*recording);
      if (rules_.elementwise) broadcast_all(*recording);
      const std::uint32_t node = body(*recording, nodes_, types_);
      transaction.keep();
      return recording->value(node);
    } catch (Error& error) {
      error.add_context(ops::where(site_) + asked(), history(recording));
      throw;
    }
  }

  Site site() const noexcept { return site_; }

 private:
  void find_values(const Recording& recording) {
    for (const Operand& operand : operands_) {
      if (const Value* value = std::get_if<Value>(&operand.what)) {
        nodes_.push_back(recording.node(*value));
        known_.emplace_back(recording.graph().nodes[nodes_.back()].type);
      } else {
        nodes_.push_back(0);
        known_.emplace_back(std::nullopt);
      }
    }
    is_found_ = true;
  }

  void resolve_numbers(Recording& recording) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (!known_[i]) {
        const Type type{ops::number_dtype(rules_, i, known_), {}};
        nodes_[i] =
            recording.number(type, std::get<Number>(operands_[i].what), site_);
      }
    }
    for (std::uint32_t node : nodes_) {
      types_.push_back(recording.graph().nodes[node].type);
    }
  }

  void broadcast_all(Recording& recording) {
    Shape shape;
    for (const Type& type : types_) {
      shape = broadcast_shapes(shape, type.shape);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (types_[i].shape == shape) continue;
      if (!known_[i]) {
        nodes_[i] =
            recording.number({types_[i].dtype, shape},
                             std::get<Number>(operands_[i].what), site_);
      } else {
        const auto op = ops::Broadcast::make({types_[i]}, shape);
        nodes_[i] = recording.append(op, {types_[i].dtype, shape},
                                     {{nodes_[i]}}, site_);
      }
      types_[i].shape = shape;
    }
  }

  std::string asked() const {
    if (!is_found_) return std::string(rules_.name) + ": ";
    std::vector<ops::Written> written;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (known_[i]) {
        written.emplace_back(*known_[i]);
      } else {
        written.emplace_back(std::get<Number>(operands_[i].what));
      }
    }
    return ops::call_text(rules_.name, written) + ": ";
  }

  /// A line an operand: its type and where it comes from.
  std::string history(const Recording* recording) const {
    std::string result;
    if (!is_found_) return result;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      std::string label = fmt::format("operand {}", i);
      if (operands_.size() == 1) label = "operand";
      if (operands_.size() == 2) label = i == 0 ? "left" : "right";
      std::string text;
      std::string origin = "a number";
      if (const Value* value = std::get_if<Value>(&operands_[i].what)) {
        text = known_[i]->text();
        origin = recording->graph().origin(value->symbol().node);
      } else {
        text = std::get<Number>(operands_[i].what).text();
      }
      result += fmt::format("\n  {:<6} {:<16} {}", label, text, origin);
    }
    return result;
  }

  ops::CallRules rules_;
  std::span<const Operand> operands_;
  Site site_;
  std::vector<std::uint32_t> nodes_;
  std::vector<Type> types_;
  std::vector<std::optional<Type>> known_;  // as the caller gave them
  bool is_found_ = false;
};

template <class Op, class... Arguments>
Value call_as(std::string_view name, std::span<const Operand> operands,
              const Arguments&... arguments) {
  ops::CallRules rules = ops::call_rules<Op>();
  rules.name = name;
  Call call(rules, operands);
  return call.record(
      [&](Recording& recording, const auto& nodes, const auto& types) {
        const Op op = ops::make_operation<Op>(types, arguments...);
        return recording.append(op, op.infer(types), nodes, call.site());
      });
}

template <class Op, class... Arguments>
Value call_as(std::string_view name, std::initializer_list<Operand> operands,
              const Arguments&... arguments) {
  return call_as<Op>(name, std::span(operands.begin(), operands.size()),
                     arguments...);
}

template <class Op, class... Arguments>
Value call(std::initializer_list<Operand> operands,
           const Arguments&... arguments) {
  return call_as<Op>(Op::name, operands, arguments...);
}

template <ops::Composite C>
Value compose(std::initializer_list<Operand> operands, const C& composite) {
  Call call(ops::call_rules<C>(), std::span(operands.begin(), operands.size()));
  return call.record(
      [&](Recording& recording, const auto& nodes, const auto& types) {
        const Frame frame(call.site());
        composite.check(types);
        std::vector<Value> values;
        for (std::uint32_t node : nodes)
          values.push_back(recording.value(node));
        graph::Label label;
        label.name = C::name;
        label.fields = ops::fields_text(composite);
        label.operands = nodes;
        label.begin = recording.graph().size();
        const Value y = composite.formula(Operands<Value>(values));
        label.result = y.symbol().node;
        label.end = recording.graph().size();
        if constexpr (ops::OwnDerivative<C>) {
          label.derivative = [composite](std::span<const Value> x,
                                         const Value& out, const Value& dy) {
            return composite.derivative(Operands<Value>(x), out, dy);
          };
        }
        recording.add_label(std::move(label));
        return y.symbol().node;
      });
}

Value kept(Value y, const Operand& x, const Axes& axes, bool keep) {
  if (!keep) return y;
  const Shape shape = x.type().shape;
  return reshape(Operand(y, x.site),
                 ops::with_ones(shape, normalize_axes(axes, shape.rank())));
}

}  // namespace

using Result = Value;
using Argument = Operand;
#include "ops/functions.inc"

Value iota(Tape& tape, const Type& type, int axis, Site site) {
  return ops::at_line(site, "iota", [&] {
    Recording& recording = Recording::of(tape);
    const ops::Iota op = ops::Iota::make({}, type, axis);
    return recording.value(recording.append(op, op.infer({}), {}, site));
  });
}

Value iota_like(Operand like, const Type& type, int axis) {
  Call call({"iota_like", false, 0}, std::span(&like, 1));
  return call.record([&](Recording& recording, const auto&, const auto&) {
    const ops::Iota op = ops::Iota::make({}, type, axis);
    return recording.append(op, op.infer({}), {}, call.site());
  });
}

Value full_like(Operand like, const Type& type, Number number) {
  Call call({"full_like", false, 0}, std::span(&like, 1));
  return call.record([&](Recording& recording, const auto&, const auto&) {
    return recording.number(type, number, call.site());
  });
}

Value concat(std::span<const Value> parts, int axis, Site site) {
  std::vector<Operand> operands;
  for (const Value& part : parts) operands.emplace_back(part, site);
  if (operands.empty()) {
    throw ShapeError(ops::where(site) + "concat: nothing to concatenate");
  }
  return call_as<ops::Concat>(ops::Concat::name,
                              std::span<const Operand>(operands), axis);
}

Value concat(std::initializer_list<Value> parts, int axis, Site site) {
  return concat(std::span(parts.begin(), parts.size()), axis, site);
}

}  // namespace topos

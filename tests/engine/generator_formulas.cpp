#include "engine/generator.h"

namespace topos::test {

void Generator::composite() {
  switch (below(8)) {
    case 0: {
      const Known x = floating();
      const Axes axes = some_axes(x.type.shape, false);
      const bool keep = chance(0.5);
      return record([=] { return variance(x.value, axes, keep); });
    }
    case 1:
    case 2: {
      const Known x = floating(1);
      const Type row{x.type.dtype, {x.type.shape[-1]}};
      const Value scale = value_of(row);
      const Value shift = value_of(row);
      return record([=] { return layer_norm(x.value, scale, shift); });
    }
    case 3: {
      const Known x = floating(1);
      const Shape rows = x.type.shape.leading(-1);
      if (x.type.shape[-1] == 0) return;
      const Value targets = index(rows, x.type.shape[-1]);
      return record([=] { return cross_entropy(x.value, targets); });
    }
    case 4: {
      const Value x = floating().value;
      const GeluForm form = chance(0.5) ? GeluForm::tanh : GeluForm::erf;
      return record([=] { return gelu(x, form); });
    }
    case 5: {
      const Value x = floating().value;
      return record([=] { return silu(x); });
    }
    case 6: {
      const Known x = floating(1);
      const Value scale = value_of({x.type.dtype, {x.type.shape[-1]}});
      return record([=] { return rms_norm(x.value, scale); });
    }
    default: {
      const Known x = floating();
      const Value y = value_of(x.type);
      return record([=] { return mse(x.value, y); });
    }
  }
}

void Generator::derivative() {
  if (++derivatives_ > 3) return;
  const Known x = floating();
  Value loss = x.value;
  if (x.type.shape.rank() > 0) {
    switch (below(3)) {
      case 0:
        loss = sum(x.value * x.value);
        break;
      case 1:
        loss = mean(x.value);
        break;
      default:
        loss = sum(x.value);
    }
  }
  push(loss);
  std::vector<Value> wrt;
  for (int i = 1 + below(3); i > 0; --i) {
    const auto target =
        pick([](const Type& t) { return is_floating(t.dtype); });
    wrt.push_back(target->value);
  }
  for (const Value gradient : tape_.differentiate(loss, wrt)) push(gradient);
}

}  // namespace topos::test

#include "emit/modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "support/tensors.h"

namespace topos::test {
namespace {

using Kind = EmittedArgument::Kind;

Tensor tensor_of(const Feed& feed, const Type& type) {
  if (const auto* tensor = std::get_if<Tensor>(&feed.what)) {
    return tensor->contiguous();
  }
  if (const auto* number = std::get_if<Number>(&feed.what)) {
    return Tensor::full(type, *number);
  }
  const auto& elements = std::get<Feed::Elements>(feed.what);
  std::byte* data = nullptr;
  const Tensor result = Tensor::uninitialized(type, data);
  if (result.element_count() > 0) {
    std::memcpy(data, elements.data, type.size_bytes());
  }
  return result;
}

/// As Shardy writes it: `[{device}, {}]`.
std::string sharding_of(const Type& type, bool is_split,
                        const EmitOptions& options) {
  if (options.partitions == 1) return "";
  std::string axes;
  for (int axis = 0; axis < type.shape.rank(); ++axis) {
    if (axis > 0) axes += ", ";
    axes += is_split && axis == 0 ? "{device}" : "{}";
  }
  return "[" + axes + "]";
}

}  // namespace

std::vector<Tensor> arguments_of(const StablehloModule& module,
                                 const Parameters& parameters, Feeds feeds) {
  std::vector<Tensor> result;
  for (const EmittedArgument& argument : module.arguments) {
    if (argument.kind == Kind::constant) {
      result.push_back(argument.payload.value());
      continue;
    }
    const auto fed = std::ranges::find(
        feeds, argument.symbol, [](const Feed& feed) { return feed.symbol; });
    result.push_back(fed != feeds.end() ? tensor_of(*fed, argument.type)
                                        : parameters.of(argument.symbol));
  }
  return result;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      result += text[i];
    } else {
      result += static_cast<char>(
          std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    }
  }
  return result;
}

std::string contradiction(const StablehloModule& module,
                          const stablehlo_text::Module& text,
                          const EmitOptions& options) {
  if (text.arguments().size() != module.arguments.size()) {
    return fmt::format("{} arguments for {}", text.arguments().size(),
                       module.arguments.size());
  }
  for (std::size_t i = 0; i < module.arguments.size(); ++i) {
    const EmittedArgument& said = module.arguments[i];
    const stablehlo_text::Argument& written = text.arguments()[i];
    if (written.type != said.type ||
        written.aliases_result != said.donated_to ||
        written.sharding != sharding_of(said.type, said.is_split, options)) {
      return fmt::format("argument {}, {}, is another", i, said.name);
    }
    if (said.kind == Kind::constant &&
        said.payload.value().type() != said.type) {
      return fmt::format("argument {} has another payload", i);
    }
  }
  if (text.results().size() != module.results.size()) {
    return fmt::format("{} results for {}", text.results().size(),
                       module.results.size());
  }
  for (std::size_t i = 0; i < module.results.size(); ++i) {
    const EmittedResult& said = module.results[i];
    const stablehlo_text::Result& written = text.results()[i];
    if (written.type != said.type || unescaped(written.info) != said.name ||
        written.sharding != sharding_of(said.type, false, options)) {
      return fmt::format("result {}, {}, is another", i, said.name);
    }
  }
  if (text.operation_count() != module.operation_count) {
    return fmt::format("{} operations for {}", text.operation_count(),
                       module.operation_count);
  }
  return {};
}

std::string Tally::text() const {
  std::string result = fmt::format("{} modules", modules);
  for (const auto& [dtype, of] : types) {
    result +=
        fmt::format("; {}: {} elements, {} undecided, ratio {:.3f} ({})",
                    name(dtype), of.elements, of.undecided, of.ratio, of.where);
  }
  return result;
}

std::string difference(const Network& network, const Plan& plan, Feeds feeds,
                       const EmitOptions& options, std::string_view name,
                       Tally& tally) {
  const StablehloModule module = emit_stablehlo(plan, options);
  const auto failed = [&](const std::string& what) {
    return fmt::format("{}{}: {}\n{}", name,
                       options.composites ? " with composites" : "", what,
                       module.text.substr(0, 20000));
  };
  std::vector<Tensor> found;
  try {
    const auto text = stablehlo_text::Module::parse(module.text);
    const std::string other = contradiction(module, text, options);
    if (!other.empty()) return failed(other);
    found = text.run(arguments_of(module, network.parameters(), feeds));
  } catch (const std::exception& error) {
    return failed(error.what());
  }
  const auto expected = envelopes(network, plan, network.parameters(), feeds);
  if (expected.size() != found.size()) return failed("too few results");
  ++tally.modules;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Difference d = compare(expected[i], found[i]);
    if (!d.inside) {
      return failed(
          fmt::format("result {} is {}\n  expected {}\n  found    {}"
                      "\n  bound    {}\n",
                      i, d.text(), test::text(expected[i].value),
                      test::text(found[i]), test::text(expected[i].bound)));
    }
    Tally::OfType& of = tally.types[found[i].dtype()];
    of.elements += found[i].element_count();
    of.undecided += d.undecided;
    if (d.ratio > of.ratio) {
      of.ratio = d.ratio;
      of.where = name;
    }
  }
  return {};
}

std::vector<Tensor> run(const Network& network, const Entry& entry, Feeds feeds,
                        const EmitOptions& options) {
  const StablehloModule module = emit_stablehlo(network.lower(entry), options);
  return stablehlo_text::Module::parse(module.text)
      .run(arguments_of(module, network.parameters(), feeds));
}

}  // namespace topos::test

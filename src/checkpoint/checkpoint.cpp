#include "topos/checkpoint.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "topos/error.h"

namespace topos {

namespace {

[[noreturn]] void refuse_save(Site site, const std::string& fault) {
  throw UsageError(fmt::format("{}{}save_safetensors: {}", site.text(),
                               site.known() ? ": " : "", fault));
}

/// `parameters` are those of the network, each with a payload of its type.
void check_parameters(const Parameters& declared, const Parameters& parameters,
                      Site site) {
  if (declared.size() != parameters.size()) {
    refuse_save(site, fmt::format("{} parameters were given, but the network "
                                  "has {}",
                                  parameters.size(), declared.size()));
  }
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const Parameters::Item& expected = declared.items()[i];
    const Parameters::Item& given = parameters.items()[i];
    if (given.symbol != expected.symbol || given.name != expected.name) {
      refuse_save(site, fmt::format("the parameter \"{}\" was given where the "
                                    "network has \"{}\", or is another "
                                    "network's",
                                    given.name, expected.name));
    }
    if (!given.payload) {
      refuse_save(site, fmt::format("the parameter \"{}\" {} has no payload",
                                    given.name, expected.type.text()));
    }
    if (given.payload->type() != expected.type) {
      refuse_save(site, fmt::format("the parameter \"{}\" is {}, but its "
                                    "payload is {}",
                                    given.name, expected.type.text(),
                                    given.payload->type().text()));
    }
  }
}

}  // namespace

void save_safetensors(const std::filesystem::path& path, const Network& network,
                      const Parameters& parameters, const Metadata& metadata,
                      Site site) {
  check_parameters(network.parameters(), parameters, site);
  std::vector<NamedTensor> tensors;
  tensors.reserve(parameters.size());
  for (const Parameters::Item& item : parameters.items()) {
    tensors.push_back({item.name, *item.payload});
  }
  write_safetensors(path, tensors, metadata);
}

Parameters load_safetensors(const std::filesystem::path& path,
                            const Network& network, Metadata* metadata) {
  TensorFile file = read_safetensors(path);
  std::map<std::string_view, const Tensor*> unclaimed;
  for (const NamedTensor& item : file.tensors) {
    unclaimed.emplace(item.name, &item.tensor);
  }
  std::vector<Parameters::Item> items = network.parameters().items();
  for (Parameters::Item& item : items) {
    const auto found = unclaimed.find(item.name);
    if (found == unclaimed.end()) {
      throw FileError(
          fmt::format("{}: has no tensor \"{}\", the network's "
                      "parameter {}",
                      path.string(), item.name, item.type.text()));
    }
    const Tensor& tensor = *found->second;
    if (tensor.type() != item.type) {
      throw FileError(fmt::format(
          "{}: the tensor \"{}\" is {}, but the "
          "network's parameter is {}",
          path.string(), item.name, tensor.type().text(), item.type.text()));
    }
    item.payload = tensor;
    unclaimed.erase(found);
  }
  if (!unclaimed.empty()) {
    const auto& [name, tensor] = *unclaimed.begin();
    throw FileError(
        fmt::format("{}: the tensor \"{}\" {} is no parameter of "
                    "the network",
                    path.string(), name, tensor->type().text()));
  }
  if (metadata != nullptr) *metadata = std::move(file.metadata);
  return Parameters(std::move(items));
}

}  // namespace topos

#pragma once

#include <filesystem>

#include "topos/io.h"
#include "topos/network.h"

/// \file
/// Named snapshot and restore of a network's parameters. A program that also
/// stores its step count and the like in the metadata continues with the same
/// bits:
///
///     save_safetensors(path, network, session.parameters(),
///                      {{"step", std::to_string(step)}});
///
///     Metadata state;
///     Parameters parameters = load_safetensors(path, network, &state);
///     Session session = native::open(network, parameters);
///     int step = std::stoi(state.at("step"));

namespace topos {

/// Writes all parameters under their names, in recording order, atomically
/// (`write_safetensors`).
///
/// \throws UsageError  `parameters` are not those of `network`, or one has no
///                     payload; names it
/// \throws FileError   the file cannot be written
void save_safetensors(const std::filesystem::path& path, const Network& network,
                      const Parameters& parameters,
                      const Metadata& metadata = {}, Site site = Site::here());

/// Reads all parameters of a network, by name; the file's order does not
/// count. All of them or none: nothing is returned of a file that does not fit.
///
/// \param metadata  filled with the file's, unless null; untouched on an error
/// \throws FileError  as read_safetensors; or a parameter is missing, a tensor
///                    is none of the parameters, or its type is not the
///                    parameter's: names the tensor and both types
Parameters load_safetensors(const std::filesystem::path& path,
                            const Network& network,
                            Metadata* metadata = nullptr);

}  // namespace topos

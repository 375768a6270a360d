#pragma once

#include <memory>
#include <string_view>

#include "runtime/device_client.h"
#include "runtime/executable_cache.h"
#include "runtime/pjrt_buffer.h"

namespace topos::runtime {

/// The program of a StableHLO text: from the cache, else compiled and put
/// there. \throws as Client::compile
std::unique_ptr<Executable> pjrt_executable(
    std::shared_ptr<const PjrtConnection> connection,
    const ExecutableCache& cache, std::string_view text,
    const Signature& signature, const CompileOptions& options);

}  // namespace topos::runtime

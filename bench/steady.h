#pragma once

/// \file
/// A machine whose cores are all there. Virtual ones may share a real core for
/// a while after they were idle, and whoever is measured then loses.

namespace topos::bench {

/// Returns once `threads` threads together take no longer than one alone. It
/// waits a second at most, and twenty in the whole run.
void await_cores(int threads);

}  // namespace topos::bench

// How many CPUs this process may keep busy.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "kernels/thread_pool.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace topos::kernels {

namespace {

int affinity_count() {
#ifdef __linux__
  // The mask has as many bits as the kernel has CPUs: ask with more and more.
  for (int cpus = 1024; cpus <= (1 << 20); cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const bool answered = sched_getaffinity(0, bytes, set) == 0;
    const int count = answered ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (answered) return std::max(count, 1);
  }
#endif
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
}

// CPUs' worth of time that a limit of this form allows; a large number if none.
constexpr double unlimited = 1e9;

double quota_of(std::istream& in) {
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || period <= 0 || quota == "max") {
    return unlimited;
  }
  const double cpus = std::strtod(quota.c_str(), nullptr) / period;
  return cpus > 0 ? cpus : unlimited;  // version 1 says -1 for no limit
}

double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  return quota_of(file);
}

double quota_v1(const std::string& folder) {
  std::ifstream quota(folder + "/cpu.cfs_quota_us");
  std::ifstream period(folder + "/cpu.cfs_period_us");
  std::stringstream both;
  both << quota.rdbuf() << ' ' << period.rdbuf();
  return quota_of(both);
}

// The least of a group's limit and those of the groups around it. In a
// container the path may not exist below the mount; then only the mount counts.
template <class Quota>
double least_quota(const std::string& mount, std::string path, Quota quota_in) {
  double least = quota_in(mount);
  while (path.size() > 1) {
    least = std::min(least, quota_in(mount + path));
    path.resize(path.rfind('/'));
  }
  return least;
}

// Lines of /proc/self/cgroup are id:controllers:path.
double cgroup_quota() {
  double least = unlimited;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string list =
        "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (!path.starts_with('/')) continue;
    if (list == ",,") {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        least = std::min(least, least_quota(mount, path, quota_v2));
      }
    } else if (list.find(",cpu,") != std::string::npos) {
      for (const char* mount :
           {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
        least = std::min(least, least_quota(mount, path, quota_v1));
      }
    }
  }
  return least;
}

}  // namespace

int usable_cpu_count() {
  const int cpus = affinity_count();
  const double quota = std::ceil(cgroup_quota());
  return quota < cpus ? std::max(static_cast<int>(quota), 1) : cpus;
}

}  // namespace topos::kernels

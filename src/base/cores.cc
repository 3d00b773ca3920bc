#include "base/cores.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace kb {
namespace {

// {package, core} of a hardware thread; where the machine does not tell, each has a core of its own.
std::pair<int, int> PlaceOf(int thread) {
  const auto number = [&](const char* name, int otherwise) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", thread, name));
    int value = 0;
    return file >> value ? value : otherwise;
  };
  return {number("physical_package_id", 0), number("core_id", thread)};
}

}  // namespace

std::optional<cpu_set_t> CoresOf(int thread) {
  cpu_set_t cores;
  if (sched_getaffinity(thread, sizeof cores, &cores) != 0) return std::nullopt;  // or more than 1,024 of them
  return cores;
}

std::vector<std::vector<int>> ThreadsByCore() {
  const std::optional<cpu_set_t> usable = CoresOf(0);
  std::map<std::pair<int, int>, size_t> met;  // where its core stands
  std::vector<std::vector<int>> cores;
  for (int thread = 0; usable && thread < CPU_SETSIZE; ++thread) {
    if (!CPU_ISSET(thread, &*usable)) continue;
    const size_t core = met.try_emplace(PlaceOf(thread), cores.size()).first->second;
    if (core == cores.size()) cores.emplace_back();
    cores[core].push_back(thread);
  }
  return cores.empty() ? std::vector<std::vector<int>>{{0}} : cores;
}

std::vector<int> UsableCores() {
  const std::vector<std::vector<int>> cores = ThreadsByCore();
  std::vector<int> threads;
  for (size_t i = 0, before = SIZE_MAX; threads.size() != before; ++i) {
    before = threads.size();
    for (const std::vector<int>& core : cores) {
      if (i < core.size()) threads.push_back(core[i]);
    }
  }
  return threads;
}

int CoreCount() {
  const std::optional<cpu_set_t> usable = CoresOf(0);
  return usable ? CPU_COUNT(&*usable) : 1;
}

uint64_t AvailableMemory() {
  std::ifstream info("/proc/meminfo");
  uint64_t kilobytes = 0;
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("MemAvailable:")) std::istringstream(line.substr(13)) >> kilobytes;
  }
  return kilobytes << 10;
}

cpu_set_t OnlyCore(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  return cores;
}

void MoveTo(int thread, const cpu_set_t& there, const cpu_set_t& allowed) {
  if (sched_setaffinity(thread, sizeof there, &there) == 0) sched_setaffinity(thread, sizeof allowed, &allowed);
}

void GoToFirstCore() {
  const std::optional<cpu_set_t> allowed = CoresOf(0);
  int first = 0;
  while (allowed && first < CPU_SETSIZE && !CPU_ISSET(first, &*allowed)) ++first;
  if (allowed && sched_getcpu() != first) MoveTo(0, OnlyCore(first), *allowed);
}

}  // namespace kb

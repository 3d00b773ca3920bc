// What the GPU's own counters tell of kernels, as Nsight Compute (ncu) reads them: how it is asked, and its text as
// data. A candidate can print the same lines: this is advice, no verdict.
#ifndef JUDGE_DEVICES_CUDA_COUNTERS_H_
#define JUDGE_DEVICES_CUDA_COUNTERS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// The functions worth counting among a profile's kernels, those with most time first: each once, without namespaces and
// template arguments.
std::vector<std::string> FunctionsOf(const nlohmann::json& kernels);

// ncu's command line before the program to run, which says itself when profiling starts and stops. Kernels are run
// again and again, each time from empty caches, until all is counted.
std::vector<std::string> CounterOptions(const std::vector<std::string>& functions);

struct Counters {
  // One row a kernel and configuration, launches averaged: {"name" (mangled), "grid", "block", "launches", "occupancy"
  // (reached), "dram", "sm" (shares of the device's peak rates), "issue" (share of cycles in which a scheduler issues),
  // "dram_bytes" (a launch's), "l1_hits", "l2_hits" (shares), "stalls": {reason: share of a warp's time}}. Null: not
  // told.
  nlohmann::json kernels = nlohmann::json::array();
  std::string complaint;  // what kept ncu from counting; empty: nothing
};

Counters CountersIn(std::string_view text);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_COUNTERS_H_

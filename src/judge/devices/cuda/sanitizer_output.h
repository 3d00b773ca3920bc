// How NVIDIA's compute-sanitizer is asked, and its text as data. A candidate can print the same lines: this is advice,
// no verdict.
#ifndef JUDGE_DEVICES_CUDA_SANITIZER_OUTPUT_H_
#define JUDGE_DEVICES_CUDA_SANITIZER_OUTPUT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// memcheck, racecheck, initcheck, synccheck.
const std::vector<std::string>& SanitizerTools();
// The command line before the program to check.
std::vector<std::string> SanitizerOptions(const std::string& tool);

// Where in the device's code: all of it as far as it is known.
struct DevicePlace {
  std::string kernel, file;
  int line = 0;  // 0: unknown, as for code that was built without -lineinfo
};

struct SanitizerFinding {
  std::string what;  // "Invalid __global__ write of size 4 bytes"
  DevicePlace place;
  std::optional<DevicePlace> other;  // the second access of a race
  std::string thread, block;         // "5,0,0", of the first of them
  std::string address;               // "0x7f5b0e400414"
  std::vector<std::string> details;  // "is out of bounds", "1 bytes after the nearest allocation at ..."
  int64_t count = 1;                 // how many were printed that say the same of the same place

  std::string ToText() const;  // one line for people
  nlohmann::json ToJson() const;
};

struct SanitizerOutput {
  std::vector<SanitizerFinding> findings;  // in order, equal ones together
  int64_t errors = -1;                     // as the tool's own summary has it; -1: it printed none
  std::string complaint;                   // what kept the tool itself from working; empty: nothing
};

SanitizerOutput ReadSanitizerOutput(std::string_view text);

// What was printed beside it, by the candidate and by us.
std::string WithoutSanitizerLines(std::string_view text);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_SANITIZER_OUTPUT_H_

// How many blocks of a kernel fit on one multiprocessor at a time, by the limits of its generation (the tables of
// "Compute Capabilities" in NVIDIA's CUDA C++ Programming Guide).
#ifndef JUDGE_DEVICES_CUDA_OCCUPANCY_H_
#define JUDGE_DEVICES_CUDA_OCCUPANCY_H_

#include <cstdint>
#include <optional>
#include <string>

namespace kb {

struct LaunchResources {
  int64_t threads = 0;    // of a block
  int64_t registers = 0;  // of a thread
  int64_t shared = 0;     // bytes of a block, static and dynamic
};

struct Occupancy {
  int64_t blocks = 0;  // at a time on one multiprocessor; 0: such a block fits on none
  double share = 0;    // of the warps that it could hold
  std::string limit;   // what keeps another block out: "threads", "blocks", "registers" or "shared memory"
};

// `compute_capability`: "9.0". Nothing for a generation that is not in the tables, or a block without threads.
std::optional<Occupancy> TheoreticalOccupancy(const LaunchResources& launch, const std::string& compute_capability);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_OCCUPANCY_H_

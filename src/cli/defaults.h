// What holds where no flag says it: the device that judges, and the size of problems.
#ifndef CLI_DEFAULTS_H_
#define CLI_DEFAULTS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/problem/problem_catalog.h"

namespace kb::cli {

inline constexpr char kAuto[] = "auto";

// What the configuration says (config.h), else: the first GPU of this machine if there may be one, or the CPU, no GPU
// being opened; kAuto; strict; no model.
const std::string& ThisDevice();
std::string DefaultSize();
std::string DefaultProtocol();
std::vector<std::string> DefaultModels();
// `device`; for kAuto the one that all these native candidates are written for, else ThisDevice().
std::string DeviceFor(const std::string& device, const std::vector<std::string>& candidates);

// The size that fits a device with so many bytes of memory of its own, 0 on the host. One for all problems: "small"
// where the largest do not fit at standard size, if every problem has it.
std::string SizeThatFits(uint64_t memory, bool all_have_small);
// `size`; for kAuto the one that fits the device. Errors: the device is not there.
Result<std::string> ChosenSize(const std::string& size, const std::string& device,
                               const std::vector<ProblemFile>& problems);
// What a prompt names: "standard" for a device that is not here.
Result<std::string> SizeToAsk(const std::string& size, const std::string& device,
                              const std::vector<ProblemFile>& problems);
// The same for a run, which keeps the size that its jobs in the store have.
Result<std::string> SizeOfRun(const std::string& size, const std::string& device,
                              const std::vector<ProblemFile>& problems, const std::filesystem::path& store,
                              const std::string& run);

}  // namespace kb::cli

#endif  // CLI_DEFAULTS_H_

// The device as a model gets to see it: as measured here, or by name from prompts/hardware.toml.
#ifndef PROMPT_HARDWARE_H_
#define PROMPT_HARDWARE_H_

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "prompt/target.h"

namespace kb {

// Names that DescribeHardware() takes, aliases not among them. Errors: as there.
Result<std::vector<std::string>> HardwareNames(const std::filesystem::path& prompts);

// Every name that `prompts`/hardware.toml has of NVIDIA's GPUs: keys, full names and aliases. Errors: as there.
Result<std::vector<std::string>> NvidiaNames(const std::filesystem::path& prompts);

// A GPU of `prompts`/hardware.toml: "H100 SXM", "h100", "A100-80GB"; case, spaces and - do not matter. Errors (usage):
// a name that is not there (the message lists those that are), a file that is broken or has an unknown key.
Result<std::string> DescribeHardware(const std::filesystem::path& prompts, const std::string& name);

// The CPU that this process runs on, as /proc and /sys tell; empty where they do not.
struct HostFacts {
  std::string vector_extensions;    // "AVX2, FMA, AVX-512 (F, BW, DQ, VL, VNNI, BF16)"
  std::vector<std::string> caches;  // "L1 data: 48 KiB a core"
};
HostFacts ReadHostFacts();

// The device of `device_info` (docs/reference/evaluation.md): what its driver reports and what was measured on it, of a
// CPU with `host`, of a GPU with the limits of its compute capability. Errors: hardware.toml is broken.
Result<std::string> DescribeDevice(const std::filesystem::path& prompts, const nlohmann::json& device_info,
                                   const HostFacts& host);

// What --hardware asks for: "none" gives an empty text, "auto" describes the device of `device_info()`, which is called
// only then, and all else names a GPU. Errors (usage): as above, or a GPU for a candidate that
// runs on the CPU.
Result<std::string> HardwareText(const std::filesystem::path& prompts, const std::string& wanted, const Target& target,
                                 const std::function<Result<nlohmann::json>()>& device_info);

}  // namespace kb

#endif  // PROMPT_HARDWARE_H_

// By how much ratios of two processes that do the same are wrong on a device, as data: shipped in calibrations/, or
// measured on this machine by `kernelbench doctor --calibrate`.
#ifndef JUDGE_FLOORS_H_
#define JUDGE_FLOORS_H_

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "judge/rule/calibration.h"

namespace kb {

struct Floors {
  Floor native, module;
  std::string origin;  // where they come from, for results
};

// Of the device with this name, of a kind ("cpu", "cuda"): this machine's own, or the ones that are shipped for the
// kind, which alone serve where `own` is false. kUsage names a file that cannot be read as one.
Result<Floors> FindFloors(const Installation& installation, const std::string& kind, const std::string& name,
                          bool own = true);

// Where this machine's own lie: below KERNELBENCH_CALIBRATIONS, or the user's configuration.
std::filesystem::path OwnFloors(const std::string& kind, const std::string& name);
// An error where they could not be written there.
Status CanKeepFloors(const std::string& kind, const std::string& name);
// Writes them there, whole or not at all.
Status KeepFloors(const Floors& floors, const std::string& kind, const std::string& name);

}  // namespace kb

#endif  // JUDGE_FLOORS_H_

// Which devices of this machine judge.
#ifndef JOBS_DEVICES_H_
#define JOBS_DEVICES_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

// "cpu", "cuda", "cuda:0,cuda:1" or "cuda:0-3" as a list; a usage error if it mixes CPU and GPUs or names one twice,
// and an error if one is not on this machine, before anything waits for it or a model is paid.
Result<std::vector<std::string>> FindDevices(const std::string& text);
// "cuda" of "cuda:1": what jobs and evaluations call their device.
inline std::string KindOf(const std::string& device) { return device.substr(0, device.find(':')); }

// Whether what they compute with are the machine's own cores.
bool OnHost(const std::vector<std::string>& devices);

}  // namespace kb

#endif  // JOBS_DEVICES_H_

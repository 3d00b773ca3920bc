// Which devices of this machine judge.
#ifndef JOBS_DEVICES_H_
#define JOBS_DEVICES_H_

#include <string>
#include <vector>

#include "base/card.h"
#include "base/result.h"

namespace kb {

// "cpu", "cuda", "cuda:0,cuda:1" or "cuda:0-3" as a list; a usage error if it mixes CPU and GPUs or names one twice,
// and an error if one is not on this machine, before anything waits for it or a model is paid.
Result<std::vector<std::string>> FindDevices(const std::string& text);
// The devices of this machine that are this card, such as "h100" (base/card.h); none: it has no such card. A usage
// error if several of its GPUs fit that differ in their names.
Result<std::vector<std::string>> DevicesOfCard(const std::string& card);

// Whether what they compute with are the machine's own cores.
bool OnHost(const std::vector<std::string>& devices);

}  // namespace kb

#endif  // JOBS_DEVICES_H_

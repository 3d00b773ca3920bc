// What jobs call their device: its kind ("cpu", "cuda"), and the card where one is meant ("cuda:h100"), which another
// machine may have. A card is a word of what the driver calls a GPU, or several of them: "h100", "a100-40gb".
#ifndef BASE_CARD_H_
#define BASE_CARD_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

// "cuda" of "cuda:1" and "cuda:h100": what evaluations call their device.
inline std::string KindOf(const std::string& device) { return device.substr(0, device.find(':')); }
// "h100" of a job's device "cuda:h100"; empty where it names no card.
std::string CardOf(const std::string& job_device);

// One name for each way to write a card: "a100-40gb" of "A100 40GB". Empty: it has no words.
std::string CardName(const std::string& text);
// Whether each word of the card is one of this name: "h100" is a word of "NVIDIA H100 80GB HBM3". Case does not matter.
bool IsCard(const std::string& name, const std::string& card);

// Whether a job may have been judged there; `device` and `name`: as evaluations have them.
bool MayBeOn(const std::string& job_device, const std::string& device, const std::string& name);

// Numbers, from 0, of the GPUs with these names that are that card. A usage error if they differ in their names.
Result<std::vector<int>> FindCard(const std::string& card, const std::vector<std::string>& names);

}  // namespace kb

#endif  // BASE_CARD_H_

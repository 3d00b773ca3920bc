// A matrix over cards (base/card.h): one of them judges while models are asked, the others judge what came of it, and
// the jobs of those that another machine has wait in the store.
#ifndef CLI_GENERATE_CARDS_H_
#define CLI_GENERATE_CARDS_H_

#include <string>
#include <vector>

#include "cli/generate_plan.h"

namespace kb::cli {

// What a list of devices means: a text for --devices, or cards. An error, for people, if it means neither.
struct DeviceList {
  std::string devices;
  std::vector<std::string> cards;
};
Result<DeviceList> ReadDeviceList(const std::vector<std::string>& entries);

// Which cards there are, and which one judges while models are asked: the first that is here, or, where what is asked
// depends on verdicts, the first. Errors, before anything is asked: a card that nobody knows, or that may be two GPUs.
Status PlanCards(const GenerateFlags& flags, const Installation& installation, GeneratePlan* plan);

// Whether a device of this machine is to judge.
bool JudgesHere(const GeneratePlan& plan);

// Judges the answers in the store on the cards that have not judged while models were asked, and queues them for those
// that are elsewhere. The exit code.
int JudgeOnCards(const GeneratePlan& plan, const GenerateFlags& flags, Store* store);

// What became of each card's jobs, printed.
Status PrintCards(const GeneratePlan& plan, const GenerateFlags& flags, const Store& store);

}  // namespace kb::cli

#endif  // CLI_GENERATE_CARDS_H_

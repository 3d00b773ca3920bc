#include "cli/generate_cards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/card.h"
#include "cli/generate_run.h"
#include "jobs/devices.h"
#include "judge/devices/device_kind.h"
#include "prompt/hardware.h"

namespace kb::cli {
namespace {

using nlohmann::json;

constexpr char kKind[] = "cuda";  // whose devices are called cards

std::string JobDevice(const std::string& card) { return fmt::format("{}:{}", kKind, card); }

tl::unexpected<Error> Refused(const std::string& what) { return Fail(ErrorCode::kUsage, "devices: " + what); }

// "cpu", "cuda", "cuda:1", "cuda:0-3": devices of this machine.
bool IsDevice(const std::string& entry) {
  const std::string number = CardOf(entry);
  return KindOfDevice(entry) != nullptr && number.size() < 8 &&
         number.find_first_not_of("0123456789-") == std::string::npos &&
         (number.find('-') != std::string::npos || number.size() < 4);
}

// Of cards that wait, only a name that somebody knows is surely no slip of the pen.
Status CheckKnown(const std::string& entry, const std::string& card, const Installation& installation,
                  GeneratePlan* plan) {
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> known, NvidiaNames(installation.prompts));
  if (std::any_of(known.begin(), known.end(), [&](const std::string& name) { return IsCard(name, card); })) return {};
  std::vector<std::string> here;
  if (const DeviceKind* kind = KindOfDevice(kKind)) here = kind->names();
  if (entry.starts_with(JobDevice(""))) {
    plan->notes.push_back(fmt::format("devices: no GPU is known as {}; its jobs will wait for one", card));
    return {};
  }
  return Refused(fmt::format(
      "no GPU is known as {} ({}; H100, A100-80GB and others are known, as in prompts/"
      "hardware.toml); if there is such a card, write {}",
      card, here.empty() ? "this machine has none" : fmt::format("this machine has {}", fmt::join(here, ", ")),
      JobDevice(card)));
}

// Cards in the order of the flags.
Result<std::vector<PlannedCard>> FindCards(const GenerateFlags& flags, const Installation& installation,
                                           GeneratePlan* plan) {
  std::vector<PlannedCard> cards;
  std::map<std::string, std::string> card_of;  // of a device
  for (const std::string& entry : flags.cards) {
    PlannedCard card;
    card.name = CardName(entry.starts_with(JobDevice("")) ? CardOf(entry) : entry);
    if (card.name.empty()) return Refused(fmt::format("\"{}\" names no card", entry));
    for (const PlannedCard& other : cards) {
      if (other.name == card.name) return Refused(fmt::format("{} is there twice", card.name));
    }
    KB_ASSIGN_OR_RETURN(card.devices, DevicesOfCard(card.name));
    if (card.devices.empty()) KB_RETURN_IF_ERROR(CheckKnown(entry, card.name, installation, plan));
    for (const std::string& device : card.devices) {
      const auto [other, is_new] = card_of.try_emplace(device, card.name);
      if (!is_new) return Refused(fmt::format("{} and {} are the same GPU, {}", other->second, card.name, device));
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

// The candidates of all answers that the plan asks for and the store has.
Result<std::vector<GeneratedCandidate>> StoredCandidates(const GeneratePlan& plan, const GenerateFlags& flags,
                                                         const Store& store) {
  std::map<std::string, size_t> models, problems;
  std::vector<int> totals;  // by problem
  for (const PlannedModel& model : plan.models) models.emplace(model.settings.name, models.size());
  for (const PlannedProblem& problem : plan.problems) {
    problems.emplace(problem.file.name, problems.size());
    StrategyOptions options = flags.strategy;
    options.turns = TurnsOf(flags, problem.file);
    KB_ASSIGN_OR_RETURN(const auto strategy, MakeStrategy(options));
    totals.push_back(strategy->Total());
  }
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests, store.Requests(plan.run));
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> answers, store.Answers(plan.run));
  std::map<int64_t, const GenerationAnswer*> settled;  // by request; the last one counts
  for (const GenerationAnswer& answer : answers) {
    if (answer.settled) settled[answer.request] = &answer;
  }
  std::vector<GeneratedCandidate> candidates;
  for (const GenerationRequest& request : requests) {
    const auto model = models.find(request.model), problem = problems.find(request.problem);
    const auto answer = settled.find(request.id);
    if (request.state != "answered" || model == models.end() || problem == problems.end() || answer == settled.end() ||
        request.candidate >= totals[problem->second]) {
      continue;
    }
    GeneratedCandidate candidate{model->second,
                                 problem->second,
                                 {},
                                 answer->second->source_sha256,
                                 answer->second->language,
                                 answer->second->complaint};
    candidate.proposal.sample = request.sample;
    candidate.proposal.turn = request.turn;
    candidate.proposal.candidate = request.candidate;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// Queues them all, and then has those judged that are not yet, if the card is here, up to the cap.
Status JudgeStored(const GeneratePlan& plan, const GenerateFlags& flags, const PlannedCard& card,
                   const std::vector<GeneratedCandidate>& candidates, Store* store, RunProgress* progress) {
  KB_ASSIGN_OR_RETURN(const auto judge, StartJudge(plan, flags, {card.devices, JobDevice(card.name)}, store, progress));
  KB_ASSIGN_OR_RETURN(const GenerationSpent spent, store->Spent(plan.run));
  std::vector<const GeneratedCandidate*> open;
  for (const GeneratedCandidate& candidate : candidates) {
    KB_ASSIGN_OR_RETURN(const auto verdict, judge->Verdict(candidate));
    if (!verdict) open.push_back(&candidate);
  }
  if (card.devices.empty()) return {};
  if (const auto cap = flags.caps.evaluations) {
    const auto left = static_cast<size_t>(std::max<int64_t>(0, *cap - spent.evaluations));
    if (open.size() > left) progress->Print(fmt::format("{}: ended by --max-evaluations {}\n", card.name, *cap));
    open.resize(std::min(open.size(), left));
  }
  for (const GeneratedCandidate* candidate : open) KB_RETURN_IF_ERROR(judge->Judge(*candidate));
  judge->Drain();
  return judge->Stop();
}

}  // namespace

Result<DeviceList> ReadDeviceList(const std::vector<std::string>& entries) {
  if (entries.empty()) return Refused("an empty list; name devices or cards, such as [\"h100\", \"h200\"]");
  DeviceList list;
  std::string card, device;
  for (const std::string& entry : entries) (IsDevice(entry) ? device : card) = entry;
  if (card.empty()) {
    list.devices = fmt::format("{}", fmt::join(entries, ","));
  } else if (device.empty()) {
    list.devices = kKind;
    list.cards = entries;
  } else if (KindOfDevice(device)->on_host()) {
    return Refused(
        fmt::format("{} beside {}: what is written for the one does not run on the other; make a matrix of "
                    "each, with a run of its own",
                    device, card));
  } else {
    return Refused(fmt::format("{} beside {}: name all GPUs by their cards, or all by their numbers", device, card));
  }
  return list;
}

Status PlanCards(const GenerateFlags& flags, const Installation& installation, GeneratePlan* plan) {
  if (flags.hardware == "auto") {
    return Refused(
        "hardware = \"auto\" describes one device, and answers are for all cards; name the GPU that prompts "
        "describe, such as hardware = \"H100\", or none");
  }
  KB_ASSIGN_OR_RETURN(plan->cards, FindCards(flags, installation, plan));
  const auto is_here = [](const PlannedCard& card) { return !card.devices.empty(); };
  const auto here = std::find_if(plan->cards.begin(), plan->cards.end(), is_here);
  const bool any_order = flags.strategy.name == "sample";
  if (any_order && here != plan->cards.end()) std::rotate(plan->cards.begin(), here, here + 1);
  const PlannedCard& lead = plan->cards.front();
  plan->devices = lead.devices;
  plan->job_device = JobDevice(lead.name);
  plan->asks = any_order || is_here(lead) || !flags.judged || flags.forecast_only;
  if (plan->asks) return {};
  const std::string why =
      fmt::format("{} asks by the verdicts of {}, the first card, which is not here: nothing is asked",
                  flags.strategy.name, lead.name);
  if (here == plan->cards.end()) {
    return Fail(ErrorCode::kUnavailable, fmt::format("{}; run the same command on a machine with it", why));
  }
  plan->notes.push_back(why + ", and what is there is judged");
  return {};
}

bool JudgesHere(const GeneratePlan& plan) {
  return !plan.devices.empty() || std::any_of(plan.cards.begin(), plan.cards.end(),
                                              [](const PlannedCard& card) { return !card.devices.empty(); });
}

int JudgeOnCards(const GeneratePlan& plan, const GenerateFlags& flags, Store* store) {
  const auto candidates = StoredCandidates(plan, flags, *store);
  if (!candidates) return PrintError(candidates.error());
  int code = kAllCorrect;
  for (const PlannedCard& card : plan.cards) {
    if (!card.devices.empty() && card.devices == plan.devices) continue;  // it judged while models were asked
    RunProgress progress(flags.quiet, candidates->size(), card.devices.size(), false);
    const Status judged = JudgeStored(plan, flags, card, *candidates, store, &progress);
    progress.Finish();
    if (!judged) return PrintError(judged.error(), "verdicts so far are stored, and the same command goes on");
    if (progress.failed() > 0) code = kEngineFailure;
  }
  return code;
}

Status PrintCards(const GeneratePlan& plan, const GenerateFlags& flags, const Store& store) {
  KB_ASSIGN_OR_RETURN(const std::vector<Job> jobs, store.Jobs(plan.run));
  for (const PlannedCard& card : plan.cards) {
    int64_t judged = 0, open = 0;
    for (const Job& job : jobs) {
      if (job.device == JobDevice(card.name)) ++(job.state == "done" ? judged : open);
    }
    const bool here = !card.devices.empty();
    if (flags.json) {
      fmt::print("{}", JsonLine(json{{"schema", 1},
                                     {"run", plan.run},
                                     {"card", card.name},
                                     {"devices", card.devices},
                                     {"judged", judged},
                                     {"open", open}}));
    } else if (open == 0 || here) {
      fmt::print("{}: {} judged{}\n", card.name, judged,
                 open > 0 ? fmt::format(", {} without a verdict (the same command goes on)", open) : "");
    }
    if (!flags.json && open > 0 && !here) {
      fmt::print("{} job{} for {}: run the same command there, with this store\n", open,
                 open == 1 ? " waits" : "s wait", card.name);
    }
  }
  return {};
}

}  // namespace kb::cli

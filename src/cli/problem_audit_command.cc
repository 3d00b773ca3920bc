#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/judge_flags.h"
#include "cli/selection_flags.h"
#include "cli/steps.h"
#include "judge/devices/device_kind.h"
#include "judge/evaluate.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct AuditFlags {
  SelectionFlags selection;
  DeviceFlags on;
  std::string size = DefaultSize(), store = DefaultStore();
  bool json = false, again = false, quiet = false;
};

using AuditKey = std::tuple<std::string, std::string, std::string, std::string, std::string>;

AuditKey KeyOf(const json& audit) {
  return {audit.at("problem"), audit.at("sha256"), audit.at("size"), audit.at("device"), audit.at("torch")};
}

std::string Worst(const json& audit, const char* what) {
  const json worst = audit.at("worst").value(what, json());
  if (worst.is_null()) return "-";
  if (worst.is_string()) return worst.get<std::string>();
  return worst.get<double>() > 1e4 ? fmt::format("{:.0e}", worst.get<double>())
                                   : fmt::format("{:.3g}", worst.get<double>());
}

void PrintHeading() {
  fmt::print("{:<8} {:<6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", "problem", "audit", "zeros", "constant", "input",
             "old", "fp16", "bf16", "why not, or what to know");
}

void Print(const json& audit, bool as_json) {
  if (as_json) {
    fmt::print("{}", JsonLine(audit));
  } else {
    std::string said;
    for (const char* list : {"failures", "notes"}) {
      for (const json& text : audit.at(list)) said += (said.empty() ? "" : "; ") + text.get<std::string>();
    }
    fmt::print("{:<8} {:<6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", audit.at("problem").get<std::string>(),
               audit.at("passes").get<bool>() ? "passes" : "fails", Worst(audit, "zeros"), Worst(audit, "constant"),
               Worst(audit, "input copy"), Worst(audit, "old answer"), Worst(audit, "fp16"), Worst(audit, "bf16"),
               said);
  }
  std::fflush(stdout);
}

struct AuditCounts {
  int passed = 0, failed = 0, known = 0;
  std::vector<std::string> undeclared;  // fail, and their files do not say so
};

void Count(const json& audit, const ProblemMetadata& metadata, AuditCounts* counts) {
  const bool passes = audit.at("passes").get<bool>();
  ++(passes ? counts->passed : counts->failed);
  if (!passes && metadata.unscored.empty()) counts->undeclared.push_back(audit.at("problem").get<std::string>());
}

int Summarise(const AuditCounts& counts, size_t broken, bool as_json) {
  if (!as_json) {
    fmt::print("{} pass, {} fail, {} could not be audited; {} of them were known\n", counts.passed, counts.failed,
               broken, counts.known);
    if (!counts.undeclared.empty()) {
      fmt::print("to be marked UNSCORED or repaired: {}\n", fmt::join(counts.undeclared, ", "));
    }
  }
  return counts.undeclared.empty() ? kAllCorrect : kNotAllCorrect;
}

// Audits of this device and PyTorch that are there already.
std::map<AuditKey, json> Known(const Store& store) {
  std::map<AuditKey, json> known;
  const auto audits = store.Audits();
  if (!audits) return known;
  for (const json& audit : *audits) known[KeyOf(audit)] = audit;
  return known;
}

// What one command holds while it works through its problems.
struct Auditor {
  Evaluator* evaluator;
  Store* store;
  Protocol protocol;
  std::string device, torch;
  std::map<AuditKey, json> known;
};

// The audit of one problem, from the store or new and stored; and whether it was known.
Result<std::pair<json, bool>> AuditOne(const SelectedProblem& problem, const std::string& size, Auditor* audits) {
  KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(problem.file.path));
  const auto found = audits->known.find({problem.file.name, Sha256(source), size, audits->device, audits->torch});
  if (found != audits->known.end()) return std::pair(found->second, true);
  KB_ASSIGN_OR_RETURN(json audit, audits->evaluator->AuditProblem(problem.file, size, audits->protocol));
  audit["created"] = UtcNow(kIso8601);
  KB_RETURN_IF_ERROR(audits->store->AddAudit(audit));
  return std::pair(std::move(audit), false);
}

int AuditAll(const std::vector<SelectedProblem>& problems, const AuditFlags& flags, Auditor* audits) {
  const auto size = ChosenSize(flags.size, flags.on.device, FilesOf(problems));
  if (!size) return PrintError(size.error());
  Steps steps(flags.quiet || flags.json, problems.size(), "finished audits are kept, and the same command goes on");
  AuditCounts counts;
  if (!flags.json) PrintHeading();
  for (const SelectedProblem& problem : problems) {
    const auto audit = steps.Take("", problem.file.name, [&] { return AuditOne(problem, *size, audits); });
    if (steps.ended()) return steps.exit_code();
    if (!audit) continue;
    counts.known += audit->second ? 1 : 0;
    Count(audit->first, problem.metadata, &counts);
    Print(audit->first, flags.json);
  }
  return std::max(steps.exit_code(), Summarise(counts, steps.broken(), flags.json));
}

int Audit(const AuditFlags& flags) {
  const auto problems = SelectProblems(flags.selection);
  if (!problems) return PrintError(problems.error());
  if (const Status there = CheckDevice(flags.on.device); !there) return PrintError(there.error());
  auto store = Store::Open(flags.store);
  if (!store) return PrintError(store.error());
  auto evaluator = Evaluator::Create(OptionsOf(flags.on));
  if (!evaluator) return PrintError(evaluator.error());
  const auto protocol = Protocol::Load((*evaluator)->installation().protocols, "strict");
  if (!protocol) return PrintError(protocol.error());
  const auto info = (*evaluator)->DeviceInfo();
  if (!info) return PrintError(info.error());
  Auditor audits{evaluator->get(), &*store, *protocol, info->at("name"), info->at("torch"), {}};
  if (!flags.again) audits.known = Known(*store);
  return AuditAll(*problems, flags, &audits);
}

}  // namespace

void AddAudit(CLI::App* problems, int* exit_code) {
  auto flags = std::make_shared<AuditFlags>();
  CLI::App* command = problems->add_subcommand("audit", "is a problem fit to be scored? Resumes where it was cut off");
  AddSelectionFlags(command, &flags->selection);
  AddSizeFlag(command, &flags->size);
  AddDeviceFlag(command, &flags->on.device);
  AddResourceFlags(command, &flags->on);
  command->add_option("--store", flags->store, "where audits are kept")->capture_default_str();
  command->add_flag("--again", flags->again, "also what was audited before");
  command->add_flag("--json", flags->json, "one line of JSON for each (docs/reference/problems.md)");
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->callback([flags, exit_code] { *exit_code = Audit(*flags); });
}

}  // namespace kb::cli

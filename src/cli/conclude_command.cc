#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "judge/conclude_again.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct ConcludeFlags {
  std::string store = DefaultStore();
  std::string what, protocol;
  bool json = false;
};

// What the rule says, in a word: "correct 1.23x [1.20, 1.26]", "correct (machine_busy)", "incorrect".
std::string Said(const json& evaluation) {
  const std::string verdict = evaluation.at("verdict");
  const json speedup = evaluation.value("speedup", json()), interval = evaluation.value("speedup_interval", json());
  if (speedup.is_number() && interval.is_array()) {
    return fmt::format("{} {:.3f}x [{:.3f}, {:.3f}]", verdict, speedup.get<double>(), interval.at(0).get<double>(),
                       interval.at(1).get<double>());
  }
  const json why = evaluation.value("no_speedup", json());
  return why.is_string() ? fmt::format("{} ({})", verdict, why.get<std::string>()) : verdict;
}

class Teller {
 public:
  Teller(const ConcludeFlags& flags, std::optional<Protocol> protocol)
      : flags_(flags), protocol_(std::move(protocol)) {}

  Status Take(const json& evaluation) {
    if (Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
    std::optional<Protocol> protocol = protocol_;
    if (protocol) {
      const json keys = evaluation.value("protocol_keys", json::object());
      if (keys.contains("precision") && keys["precision"].is_string()) protocol->precision = keys["precision"];
      protocol->ApplyPrecision();
    }
    const ConcludedAgain again = ConcludeAgain(evaluation, protocol ? &*protocol : nullptr);
    ++outcomes_[again.outcome];
    if (again.outcome == "too_little") ++missing_[again.why];
    flags_.json ? TellJson(evaluation, again) : Tell(evaluation, again);
    return {};
  }

  void Finish() const {
    if (flags_.json) return;
    const auto count = [&](const char* outcome) {
      const auto found = outcomes_.find(outcome);
      return found == outcomes_.end() ? 0 : found->second;
    };
    fmt::print("{} as stored, {} changed\n", count("same"), count("changed"));
    if (count("no_trial") > 0) {
      fmt::print("{} ended before a trial, which no rule of timing changes\n", count("no_trial"));
    }
    for (const auto& [why, number] : missing_) fmt::print("{} hold too little: {}\n", number, CleanText(why));
  }

  int64_t taken() const {
    int64_t all = 0;
    for (const auto& [outcome, number] : outcomes_) all += number;
    return all;
  }

 private:
  static void Tell(const json& evaluation, const ConcludedAgain& again) {
    if (again.outcome != "changed") return;
    fmt::print("{} {} {}\n  was {}\n  now {}\n", evaluation.at("id").get<std::string>(),
               evaluation.at("problem").get<std::string>(),
               CleanText(evaluation.at("candidate").at("path").get<std::string>()), Said(evaluation),
               Said(again.after));
    fmt::print("  in  {}\n", fmt::join(ChangedKeys(evaluation, again.after), ", "));
  }

  static void TellJson(const json& evaluation, const ConcludedAgain& again) {
    json line = {{"id", evaluation.at("id")},
                 {"problem", evaluation.at("problem")},
                 {"outcome", again.outcome},
                 {"why", again.why.empty() ? json(nullptr) : json(again.why)},
                 {"changed", json::object()}};
    if (again.outcome == "changed") {
      for (const std::string& key : ChangedKeys(evaluation, again.after)) {
        line["changed"][key] = {evaluation.value(key, json()), again.after.at(key)};
      }
    }
    fmt::print("{}", JsonLine(line));
  }

  const ConcludeFlags& flags_;
  const std::optional<Protocol> protocol_;
  std::map<std::string, int64_t> outcomes_, missing_;
};

Result<std::optional<Protocol>> ProtocolOf(const ConcludeFlags& flags) {
  if (flags.protocol.empty()) return std::optional<Protocol>();
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(Protocol protocol, Protocol::Load(installation.protocols, flags.protocol));
  return std::optional<Protocol>(std::move(protocol));
}

Status ConcludeAll(const ConcludeFlags& flags, const Store& store, Teller* teller) {
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> runs, store.Runs());
  if (std::find(runs.begin(), runs.end(), flags.what) != runs.end()) {
    return store.EachMeasured({.run = flags.what}, [&](const json& evaluation) { return teller->Take(evaluation); });
  }
  const auto evaluation = store.Get(flags.what);
  if (evaluation) return teller->Take(*evaluation);
  return Fail(evaluation.error().code,
              fmt::format("there is no run {}; and {}", flags.what, evaluation.error().message));
}

int Conclude(const ConcludeFlags& flags) {
  const auto protocol = ProtocolOf(flags);
  if (!protocol) return PrintError(protocol.error());
  const auto store = Store::Open(flags.store, {.create = false});
  if (!store) return PrintError(store.error());
  Teller teller(flags, *protocol);
  const Status done = ConcludeAll(flags, *store, &teller);
  if (done || teller.taken() > 0) teller.Finish();
  return done ? kAllCorrect : PrintError(done.error());
}

}  // namespace

void AddConclude(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<ConcludeFlags>();
  CLI::App* command = app->add_subcommand(
      "conclude", "apply today's rule to what was measured, without judging again: which answers change?");
  command->add_option("what", flags->what, "a run's name, or an evaluation's id or the unique beginning of it")
      ->required()
      ->option_text("RUN|ID");
  command->add_option("--protocol", flags->protocol,
                      "the rule of this protocol instead of the one it was judged under");
  command->add_option("--store", flags->store, "where results are kept; nothing is changed in it")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "one line of JSON for each evaluation (docs/reference/cli.md)");
  command->callback([flags, exit_code] { *exit_code = Conclude(*flags); });
}

}  // namespace kb::cli

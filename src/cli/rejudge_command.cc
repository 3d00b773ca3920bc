#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/judge_again.h"
#include "cli/number_checks.h"
#include "cli/selection_flags.h"
#include "jobs/devices.h"
#include "jobs/rejudge.h"
#include "report/text.h"
#include "score/score.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct RejudgeFlags {
  std::string run, problems, devices = ThisDevice(), store = DefaultStore(), isolation = "namespaces";
  int count = 20, threads = 0, jobs = 0;
  uint64_t seed = 0;
  bool json = false, quiet = false;
};

json PairJson(const JudgedTwice& pair) {
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
  return {{"id", pair.before.at("id")},
          {"problem", pair.before.at("problem")},
          {"candidate", pair.before.at("candidate").at("path")},
          {"verdict", pair.before.at("verdict")},
          {"verdict_again", pair.verdict.empty() ? json(nullptr) : json(pair.verdict)},
          {"speedup", or_null(pair.SpeedupBefore())},
          {"speedup_again", or_null(pair.speedup)},
          {"verdict_agrees", pair.verdict.empty() ? json(nullptr) : json(pair.SameVerdict())},
          {"speedup_agrees", or_null(pair.SameSpeedup())}};
}

std::string Share(int64_t count, int64_t total) {
  const Bounds bounds = WilsonInterval({count, total, 0});
  return fmt::format("{} of {} (95% interval {:.0f}% to {:.0f}%)", count, total, 100 * bounds.low, 100 * bounds.high);
}

// Exit status 0 if all verdicts agree, 1 if some do not, 3 if some could not be judged again.
int Tell(const RejudgeFlags& flags, const std::vector<JudgedTwice>& pairs) {
  int64_t judged = 0, verdicts = 0, measured = 0, speedups = 0;
  std::vector<double> differences;
  for (const JudgedTwice& pair : pairs) {
    if (flags.json) fmt::print("{}", JsonLine(PairJson(pair)));
    if (pair.verdict.empty()) continue;
    ++judged;
    verdicts += pair.SameVerdict() ? 1 : 0;
    if (const auto same = pair.SameSpeedup()) {
      ++measured;
      speedups += *same ? 1 : 0;
      differences.push_back(std::abs(*pair.speedup / *pair.SpeedupBefore() - 1));
    }
    if (flags.json || (pair.SameVerdict() && pair.SameSpeedup().value_or(true))) continue;
    fmt::print("{} {}: {}{}, again {}{}\n", pair.before.at("problem").get<std::string>(),
               CleanText(pair.before.at("candidate").at("path").get<std::string>()),
               pair.before.at("verdict").get<std::string>(),
               pair.SpeedupBefore() ? fmt::format(" {:.2f}x", *pair.SpeedupBefore()) : "", pair.verdict,
               pair.speedup ? fmt::format(" {:.2f}x [{:.2f}, {:.2f}]", *pair.speedup, *pair.low, *pair.high) : "");
  }
  if (!flags.json) {
    fmt::print("verdicts agree in {}\n", Share(verdicts, judged));
    if (measured > 0) {
      std::sort(differences.begin(), differences.end());
      fmt::print("speedups agree (their intervals overlap) in {}; half of them differ by less than {:.1f}%\n",
                 Share(speedups, measured), 100 * differences[differences.size() / 2]);
    }
  }
  if (judged < static_cast<int64_t>(pairs.size())) return kEngineFailure;
  return verdicts == judged ? kAllCorrect : kNotAllCorrect;
}

int Rejudge(const RejudgeFlags& flags) {
  const auto devices = FindDevices(flags.devices);
  if (!devices) return PrintError(devices.error());
  if (!std::filesystem::exists(flags.store)) {
    return PrintError({ErrorCode::kUsage, "the store " + flags.store + " does not exist; kernelbench run fills it"});
  }
  const auto store = Store::Open(flags.store, {.create = false});
  if (!store) return PrintError(store.error());
  const auto directory = ProblemDirectory(flags.problems);
  if (!directory) return PrintError(directory.error());
  ProblemFinder finder(*directory);
  std::string note;
  auto pairs = DrawEvaluations({flags.run, KindOf(devices->front()), flags.count, flags.seed}, *store, &finder, &note);
  if (!pairs) return PrintError(pairs.error());
  if (!note.empty() && !flags.quiet) fmt::print(stderr, "{}\n", CleanText(note));
  std::vector<json> before;
  for (const JudgedTwice& pair : *pairs) before.push_back(pair.before);
  const Status judged =
      JudgeEachAgain({.devices = flags.devices,
                      .isolation = flags.isolation,
                      .threads = flags.threads,
                      .jobs = flags.jobs,
                      .quiet = flags.quiet,
                      .lines = !flags.quiet && !flags.json},
                     before, &finder, [&](size_t at, const json& evaluation) { pairs->at(at).Add(evaluation); });
  const int told = Tell(flags, *pairs);
  return judged ? told
                : PrintError(judged.error(),
                             "what is above was judged again; rejudge stores nothing. The same command begins anew, "
                             "with the same candidates");
}

}  // namespace

void AddRejudge(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<RejudgeFlags>();
  CLI::App* command =
      app->add_subcommand("rejudge", "judge some of a run's candidates again: how often do the answers agree?");
  command->add_option("run", flags->run, "the run's name")->required();
  AddProblemsFlag(command, &flags->problems);
  command->add_option("--count", flags->count, "how many, drawn at random")->check(AtLeast(1))->capture_default_str();
  command->add_option("--seed", flags->seed, "the same seed, the same candidates")->capture_default_str();
  command->add_option("--devices", flags->devices, "cpu, cuda, cuda:0,cuda:1 or cuda:0-3")->capture_default_str();
  command->add_option("--isolation", flags->isolation, "namespaces, or process where the machine refuses those")
      ->check(CLI::IsMember({"namespaces", "process"}))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "cores for either side; 0: all, divided by the devices")
      ->check(CLI::Range(0, 1024));
  command->add_option("--jobs", flags->jobs, "parallel builds; 0: as many as cores")->check(CLI::Range(0, 1024));
  command->add_option("--store", flags->store, "where results are kept; nothing is added to it")->capture_default_str();
  command->add_flag("--json", flags->json, "one line of JSON for each candidate (docs/reference/cli.md)");
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->callback([flags, exit_code] { *exit_code = Rejudge(*flags); });
}

}  // namespace kb::cli

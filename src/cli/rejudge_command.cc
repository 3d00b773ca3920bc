#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/number_checks.h"
#include "cli/run_tasks.h"
#include "cli/selection_flags.h"
#include "report/text.h"
#include "score/score.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct RejudgeFlags {
  std::string run, problems, devices = "cpu", store = DefaultStore(), isolation = "namespaces";
  int count = 20, threads = 0, jobs = 0;
  uint64_t seed = 0;
  bool json = false, quiet = false;
};

// One evaluation of the run, and what judging its candidate again said.
struct Pair {
  json before;
  std::string verdict;  // "" as long as there is none
  std::optional<double> speedup, low, high;
};

// The value of a key as a flag would give it.
std::string FlagText(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const json& part : value) parts.push_back(FlagText(part));
  return fmt::format("{}", fmt::join(parts, ","));
}

// The rules that the evaluation was made under.
Result<Protocol> RulesOf(const json& evaluation, const std::filesystem::path& directory) {
  KB_ASSIGN_OR_RETURN(Protocol protocol, Protocol::Load(directory, evaluation.at("protocol")));
  for (const json& key : evaluation.at("protocol_changed")) {
    KB_RETURN_IF_ERROR(protocol.Set(key, FlagText(evaluation.at("protocol_keys").at(key.get<std::string>()))));
  }
  protocol.ApplyPrecision();
  KB_RETURN_IF_ERROR(protocol.Validate());
  return protocol;
}

// A verdict about another text of the problem could not agree or differ.
Status LeaveOutChanged(const RejudgeFlags& flags, ProblemFinder* finder, std::vector<ScoreRow>* rows) {
  const size_t all = rows->size();
  std::string first;
  std::erase_if(*rows, [&](const ScoreRow& row) {
    const Result<ProblemFile>& problem = finder->Find(row.problem);
    if (!problem || row.problem_sha256.empty() || finder->TextHash(*problem) == row.problem_sha256) return false;
    if (first.empty()) first = row.problem;
    return true;
  });
  if (first.empty()) return {};
  const std::string note = fmt::format(
      "{} of {} evaluations of run {} are left out: their problem is another text now, such as {}; kernelbench run "
      "judges them with it",
      all - rows->size(), all, flags.run, first);
  if (rows->empty()) return Fail(ErrorCode::kUsage, note);
  if (!flags.quiet) fmt::print(stderr, "{}\n", CleanText(note));
  return {};
}

// `count` of the run's evaluations on this kind of device, drawn at random.
Result<std::vector<Pair>> Draw(const RejudgeFlags& flags, const std::string& device, const Store& store,
                               ProblemFinder* finder) {
  KB_ASSIGN_OR_RETURN(std::vector<ScoreRow> rows, store.Scores({.run = flags.run}));
  std::erase_if(rows, [&](const ScoreRow& row) { return row.device != device; });
  if (rows.empty()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("the store {} holds no evaluation of run {} on {}", flags.store, flags.run, device));
  }
  KB_RETURN_IF_ERROR(LeaveOutChanged(flags, finder, &rows));
  std::mt19937_64 random(flags.seed);
  std::shuffle(rows.begin(), rows.end(), random);
  if (rows.size() > static_cast<size_t>(flags.count)) rows.resize(static_cast<size_t>(flags.count));
  std::vector<Pair> pairs;
  for (const ScoreRow& row : rows) {
    KB_ASSIGN_OR_RETURN(json evaluation, store.Get(row.id));
    pairs.push_back({std::move(evaluation), "", {}, {}, {}});
  }
  return pairs;
}

Result<std::vector<Task>> TasksOf(const std::vector<Pair>& pairs, ProblemFinder* finder) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  std::vector<Task> tasks;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const json& evaluation = pairs[i].before;
    const json& candidate = evaluation.at("candidate");
    const Result<ProblemFile>& problem = finder->Find(evaluation.at("problem"));
    if (!problem) return tl::make_unexpected(problem.error());
    KB_ASSIGN_OR_RETURN(Protocol protocol, RulesOf(evaluation, installation.protocols));
    Task task;
    task.id = static_cast<int64_t>(i);
    task.problem = *problem;
    task.size = evaluation.at("size");
    task.protocol = std::make_shared<const Protocol>(std::move(protocol));
    task.read = [path = candidate.at("path").get<std::string>(), source = candidate.at("source").get<std::string>(),
                 device = evaluation.at("device").get<std::string>()] { return MakeCandidate(path, source, device); };
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::optional<double> SpeedupOf(const json& evaluation) {
  const json& speedup = evaluation.at("speedup");
  return speedup.is_number() ? std::optional(speedup.get<double>()) : std::nullopt;
}

bool SameVerdict(const Pair& pair) { return pair.verdict == pair.before.at("verdict").get<std::string>(); }

// Both measured, and their intervals have a point in common.
std::optional<bool> SameSpeedup(const Pair& pair) {
  if (!pair.speedup || !SpeedupOf(pair.before)) return std::nullopt;
  const json& interval = pair.before.at("speedup_interval");
  return *pair.low <= interval.at(1).get<double>() && *pair.high >= interval.at(0).get<double>();
}

json PairJson(const Pair& pair) {
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
  return {{"id", pair.before.at("id")},
          {"problem", pair.before.at("problem")},
          {"candidate", pair.before.at("candidate").at("path")},
          {"verdict", pair.before.at("verdict")},
          {"verdict_again", pair.verdict.empty() ? json(nullptr) : json(pair.verdict)},
          {"speedup", or_null(SpeedupOf(pair.before))},
          {"speedup_again", or_null(pair.speedup)},
          {"verdict_agrees", pair.verdict.empty() ? json(nullptr) : json(SameVerdict(pair))},
          {"speedup_agrees", or_null(SameSpeedup(pair))}};
}

std::string Share(int64_t count, int64_t total) {
  const Bounds bounds = WilsonInterval({count, total, 0});
  return fmt::format("{} of {} (95% interval {:.0f}% to {:.0f}%)", count, total, 100 * bounds.low, 100 * bounds.high);
}

// Exit status 0 if all verdicts agree, 1 if some do not, 3 if some could not be judged again.
int Tell(const RejudgeFlags& flags, const std::vector<Pair>& pairs) {
  int64_t judged = 0, verdicts = 0, measured = 0, speedups = 0;
  std::vector<double> differences;
  for (const Pair& pair : pairs) {
    if (flags.json) fmt::print("{}", JsonLine(PairJson(pair)));
    if (pair.verdict.empty()) continue;
    ++judged;
    verdicts += SameVerdict(pair) ? 1 : 0;
    if (const auto same = SameSpeedup(pair)) {
      ++measured;
      speedups += *same ? 1 : 0;
      differences.push_back(std::abs(*pair.speedup / *SpeedupOf(pair.before) - 1));
    }
    if (flags.json || (SameVerdict(pair) && SameSpeedup(pair).value_or(true))) continue;
    fmt::print("{} {}: {}{}, again {}{}\n", pair.before.at("problem").get<std::string>(),
               CleanText(pair.before.at("candidate").at("path").get<std::string>()),
               pair.before.at("verdict").get<std::string>(),
               SpeedupOf(pair.before) ? fmt::format(" {:.2f}x", *SpeedupOf(pair.before)) : "", pair.verdict,
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
  if (!devices) return Report(devices.error());
  if (!std::filesystem::exists(flags.store)) {
    return Report({ErrorCode::kUsage, "the store " + flags.store + " does not exist; kernelbench run fills it"});
  }
  const auto store = Store::Open(flags.store, {.create = false});
  if (!store) return Report(store.error());
  const auto directory = ProblemDirectory(flags.problems);
  if (!directory) return Report(directory.error());
  ProblemFinder finder(*directory);
  auto pairs = Draw(flags, devices->front().substr(0, devices->front().find(':')), *store, &finder);
  if (!pairs) return Report(pairs.error());
  auto tasks = TasksOf(*pairs, &finder);
  if (!tasks) return Report(tasks.error());
  RunProgress progress(flags.quiet, pairs->size(), devices->size(), false);
  RunTasks run;
  run.tasks = std::move(*tasks);
  run.begin = [](int64_t) -> Result<bool> { return true; };
  run.end = [&](const TaskEnd& end) -> Status {
    if (!end.evaluation) {
      if (end.evaluation.error().code != ErrorCode::kInterrupted) progress.Failed();
      return {};
    }
    Pair& pair = pairs->at(static_cast<size_t>(end.id));
    pair.verdict = VerdictName(end.evaluation->verdict);
    if (const json again = end.evaluation->ToJson(); SpeedupOf(again)) {
      pair.speedup = SpeedupOf(again);
      pair.low = again.at("speedup_interval").at(0);
      pair.high = again.at("speedup_interval").at(1);
    }
    progress.Judged(pair.verdict);
    return {};
  };
  JudgeFlags judge;
  judge.isolation = flags.isolation;
  judge.threads = flags.threads;
  judge.jobs = flags.jobs;
  const Status judged = JudgeAll(std::move(run), OptionsOf(judge), *devices, &progress);
  progress.Finish();
  const int told = Tell(flags, *pairs);
  return judged ? told : Report(judged.error());
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
  command->add_flag("--json", flags->json, "one line of JSON for each candidate (docs/cli.md)");
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->callback([flags, exit_code] { *exit_code = Rejudge(*flags); });
}

}  // namespace kb::cli

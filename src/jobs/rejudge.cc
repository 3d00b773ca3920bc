#include "jobs/rejudge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "base/file.h"

namespace kb {
namespace {

using nlohmann::json;

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
Status LeaveOutChanged(const RejudgeWanted& wanted, ProblemFinder* finder, std::vector<ScoreRow>* rows,
                       std::string* note) {
  const size_t all = rows->size();
  std::string first;
  std::erase_if(*rows, [&](const ScoreRow& row) {
    const Result<ProblemFile>& problem = finder->Find(row.problem);
    if (!problem || row.problem_sha256.empty() || finder->TextHash(*problem) == row.problem_sha256) return false;
    if (first.empty()) first = row.problem;
    return true;
  });
  if (first.empty()) return {};
  *note = fmt::format(
      "{} of {} evaluations of run {} are left out: their problem is another text now, such as {}; kernelbench run "
      "judges them with it",
      all - rows->size(), all, wanted.run, first);
  if (rows->empty()) return Fail(ErrorCode::kUsage, *note);
  return {};
}

std::optional<double> SpeedupOf(const json& evaluation) {
  const json& speedup = evaluation.at("speedup");
  return speedup.is_number() ? std::optional(speedup.get<double>()) : std::nullopt;
}

}  // namespace

void JudgedTwice::Add(const json& evaluation) {
  verdict = evaluation.at("verdict");
  speedup = SpeedupOf(evaluation);
  if (!speedup) return;
  low = evaluation.at("speedup_interval").at(0);
  high = evaluation.at("speedup_interval").at(1);
}

std::optional<double> JudgedTwice::SpeedupBefore() const { return SpeedupOf(before); }

bool JudgedTwice::SameVerdict() const { return verdict == before.at("verdict").get<std::string>(); }

std::optional<bool> JudgedTwice::SameSpeedup() const {
  if (!speedup || !SpeedupBefore()) return std::nullopt;
  const json& interval = before.at("speedup_interval");
  return *low <= interval.at(1).get<double>() && *high >= interval.at(0).get<double>();
}

Result<std::vector<JudgedTwice>> DrawEvaluations(const RejudgeWanted& wanted, const Store& store, ProblemFinder* finder,
                                                 std::string* note) {
  KB_ASSIGN_OR_RETURN(std::vector<ScoreRow> rows, store.Scores({.run = wanted.run}));
  // What a client of a service sent as a problem is executed by none but that.
  std::erase_if(rows,
                [&](const ScoreRow& row) { return row.device != wanted.device || IsClientsProblem(row.problem); });
  if (rows.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("the store holds no evaluation of run {} on {} whose problem is a file",
                                               wanted.run, wanted.device));
  }
  KB_RETURN_IF_ERROR(LeaveOutChanged(wanted, finder, &rows, note));
  std::mt19937_64 random(wanted.seed);
  std::shuffle(rows.begin(), rows.end(), random);
  if (rows.size() > static_cast<size_t>(wanted.count)) rows.resize(static_cast<size_t>(wanted.count));
  std::vector<JudgedTwice> drawn;
  for (const ScoreRow& row : rows) {
    KB_ASSIGN_OR_RETURN(json evaluation, store.Get(row.id));
    drawn.push_back({std::move(evaluation), "", {}, {}, {}});
  }
  return drawn;
}

Result<Task> TaskOf(const json& evaluation, ProblemFinder* finder) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  const json& candidate = evaluation.at("candidate");
  const Result<ProblemFile>& problem = finder->Find(evaluation.at("problem"));
  if (!problem) return tl::make_unexpected(problem.error());
  KB_ASSIGN_OR_RETURN(Protocol protocol, RulesOf(evaluation, installation.protocols));
  Task task;
  task.problem = *problem;
  task.protocol = std::make_shared<const Protocol>(std::move(protocol));
  task.read = [path = candidate.at("path").get<std::string>(), source = candidate.at("source").get<std::string>(),
               device = evaluation.at("device").get<std::string>()] { return MakeCandidate(path, source, device); };
  return task;
}

}  // namespace kb

#include "generate/trajectory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "report/text.h"

namespace kb {
namespace {

using nlohmann::json;

struct Spending {
  int64_t last_answer = 0, tokens = 0;
  std::optional<double> usd = 0.0;
};

void Add(const std::optional<double>& more, std::optional<double>* sum) {
  if (!more) sum->reset();
  if (*sum) **sum += *more;
}

// What each request took, all its answers together.
std::map<int64_t, Spending> SpentByRequest(std::span<const GenerationAnswer> answers) {
  std::map<int64_t, Spending> spent;
  for (const GenerationAnswer& answer : answers) {
    Spending& sum = spent[answer.request];
    sum.last_answer = std::max(sum.last_answer, answer.id);
    for (const auto& count : {answer.input, answer.cache_read, answer.cache_write, answer.output}) {
      sum.tokens += count.value_or(0);
    }
    Add(answer.cost_usd, &sum.usd);
  }
  return spent;
}

using RowsByCandidate = std::map<std::string, const ScoreRow*>;

std::string RowKey(const std::string& model, const std::string& problem, int64_t candidate) {
  return fmt::format("{}\n{}\n{}", model, problem, candidate);
}

RowsByCandidate ByCandidate(std::span<const ScoreRow> rows) {
  RowsByCandidate by_candidate;  // the last one counts
  for (const ScoreRow& row : rows) {
    if (row.sample) by_candidate[RowKey(row.model, row.problem, *row.sample)] = &row;
  }
  return by_candidate;
}

const ScoreRow* RowOf(const GenerationRequest& request, const RowsByCandidate& rows) {
  const auto row = rows.find(RowKey(request.model, request.problem, request.candidate));
  return row == rows.end() ? nullptr : row->second;
}

using BestByProblem = std::map<std::string, double>;

void AddBest(BestByProblem* best, TrajectoryPoint* point) {
  if (point->verdict == "correct" && point->speedup) {
    const auto [at, first] = best->try_emplace(point->problem, *point->speedup);
    if (!first) at->second = std::max(at->second, *point->speedup);
  }
  if (const auto at = best->find(point->problem); at != best->end()) point->best = at->second;
}

void AddPoints(const std::vector<const GenerationRequest*>& requests, const std::map<int64_t, Spending>& spent,
               const RowsByCandidate& rows, Trajectory* trajectory) {
  BestByProblem best;
  int64_t tokens = 0;
  std::optional<double> usd = 0.0;
  for (const GenerationRequest* request : requests) {
    const Spending& of = spent.at(request->id);
    tokens += of.tokens;
    Add(of.usd, &usd);
    TrajectoryPoint point{.problem = request->problem,
                          .sample = request->sample,
                          .turn = request->turn,
                          .candidate = request->candidate,
                          .tokens = tokens,
                          .usd = usd};
    if (const ScoreRow* row = RowOf(*request, rows)) {
      point.verdict = row->verdict;
      point.speedup = row->speedup;
    }
    AddBest(&best, &point);
    trajectory->points.push_back(std::move(point));
  }
}

// Turns of all episodes in the order in which they were asked.
void AddAgentPoints(const std::vector<const AgentEpisode*>& episodes, Trajectory* trajectory) {
  std::vector<std::pair<const AgentTurn*, const GenerationRequest*>> turns;
  for (const AgentEpisode* episode : episodes) {
    for (const AgentTurn& turn : episode->turns) turns.emplace_back(&turn, &episode->request);
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto& a, const auto& b) { return a.first->created < b.first->created; });
  BestByProblem best;
  TrajectoryPoint sum{.seconds = 0.0, .usd = 0.0};
  for (const auto& [turn, request] : turns) {
    sum.tokens += turn->tokens;
    Add(turn->usd, &sum.usd);
    *sum.seconds += turn->seconds;
    TrajectoryPoint point = sum;
    point.problem = request->problem;
    point.sample = request->sample;
    point.turn = turn->number;
    point.candidate = request->candidate;
    point.verdict = turn->verdict;
    point.speedup = turn->speedup;
    AddBest(&best, &point);
    trajectory->points.push_back(std::move(point));
  }
}

void AddEndings(const std::vector<const AgentEpisode*>& episodes, const RowsByCandidate& rows, Trajectory* trajectory) {
  for (const AgentEpisode* episode : episodes) {
    const GenerationRequest& request = episode->request;
    TrajectoryEnding ending{.problem = request.problem,
                            .sample = request.sample,
                            .candidate = request.candidate,
                            .turns = static_cast<int>(episode->turns.size()),
                            .ended_by = episode->ended_by};
    for (const AgentTurn& turn : episode->turns) {
      if (turn.verdict == "correct" && turn.speedup) ending.best = std::max(ending.best.value_or(0), *turn.speedup);
    }
    if (const ScoreRow* row = RowOf(request, rows)) {
      ending.verdict = row->verdict;
      ending.speedup = row->speedup;
    }
    trajectory->endings.push_back(std::move(ending));
  }
}

std::optional<double> Difference(const std::optional<double>& now, const std::optional<double>& before) {
  return now && before ? std::optional(*now - *before) : std::nullopt;
}

// Steps look at turns rather than at time: an answer of a later turn may have come before one of an earlier.
void AddSteps(Trajectory* trajectory) {
  const auto& points = trajectory->points;
  const bool turns = std::any_of(points.begin(), points.end(), [](const auto& point) { return point.turn > 0; });
  const auto step_of = [&](const TrajectoryPoint& point) { return turns ? point.turn : point.sample; };
  std::map<int, std::vector<const TrajectoryPoint*>> by_step;
  std::set<std::string> problems;
  // Tokens, time and money of each answer by itself.
  std::map<int, TrajectoryStep> own;
  TrajectoryPoint before{.seconds = 0.0, .usd = 0.0};
  for (const TrajectoryPoint& point : points) {
    by_step[step_of(point)].push_back(&point);
    problems.insert(point.problem);
    TrajectoryStep& step = own.try_emplace(step_of(point), TrajectoryStep{.seconds = 0.0, .usd = 0.0}).first->second;
    ++step.answers;
    step.tokens += point.tokens - before.tokens;
    Add(Difference(point.usd, before.usd), &step.usd);
    Add(Difference(point.seconds, before.seconds), &step.seconds);
    before = point;
  }
  TrajectoryStep sum{.seconds = 0.0, .usd = 0.0, .problems = static_cast<int>(problems.size())};
  std::set<std::string> solved;
  BestByProblem best;
  for (const auto& [number, of_step] : by_step) {
    sum.turn = number;
    sum.answers += own.at(number).answers;
    sum.tokens += own.at(number).tokens;
    Add(own.at(number).usd, &sum.usd);
    Add(own.at(number).seconds, &sum.seconds);
    for (const TrajectoryPoint* point : of_step) {
      if (point->verdict != "correct") continue;
      solved.insert(point->problem);
      if (!point->speedup) continue;
      const auto [at, first] = best.try_emplace(point->problem, *point->speedup);
      if (!first) at->second = std::max(at->second, *point->speedup);
    }
    sum.solved = static_cast<int>(solved.size());
    if (!best.empty()) {
      double logarithms = 0;
      for (const auto& [problem, speedup] : best) logarithms += std::log(speedup);
      sum.best = std::exp(logarithms / sum.problems);
    }
    trajectory->steps.push_back(sum);
  }
}

// How it ended: whether further turns would have been worth their money.
void AddEnd(Trajectory* trajectory) {
  constexpr double kGain = 1.01;
  constexpr size_t kOneOf = 4;
  const auto& steps = trajectory->steps;
  double largest = 0;
  for (const TrajectoryStep& step : steps) largest = std::max(largest, step.best.value_or(0));
  if (largest == 0) return;
  const auto last = std::find_if(steps.begin(), steps.end(),
                                 [&](const TrajectoryStep& step) { return step.best.value_or(0) * kGain >= largest; });
  trajectory->last_gain = last->turn;
  const TrajectoryStep& end = steps.back();
  const TrajectoryStep& start = steps[steps.size() - 1 - std::min(steps.size() - 1, (steps.size() + 3) / kOneOf)];
  if (start.turn == end.turn || !start.best || !end.best) return;
  trajectory->slope = std::expm1(std::log(*end.best / *start.best) / (end.turn - start.turn));
}

json OrNullJson(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json OrNullJson(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json EndingJson(const TrajectoryEnding& ending) {
  return {{"problem", ending.problem},
          {"sample", ending.sample},
          {"candidate", ending.candidate},
          {"turns", ending.turns},
          {"ended_by", OrNullJson(ending.ended_by)},
          {"best", OrNullJson(ending.best)},
          {"verdict", OrNullJson(ending.verdict)},
          {"speedup", OrNullJson(ending.speedup)}};
}

std::string CostText(const std::optional<double>& usd) { return usd ? fmt::format("${:.4f}", *usd) : "unknown"; }

std::string BestText(const std::optional<double>& best) { return best ? fmt::format("{:.2f}x", *best) : "-"; }

// Those in which another problem was solved or the best grew so much, the first and the last.
std::vector<const TrajectoryStep*> StepsThatTell(const std::vector<TrajectoryStep>& steps, double gain) {
  std::vector<const TrajectoryStep*> telling;
  for (const TrajectoryStep& step : steps) {
    const bool tells = telling.empty() || &step == &steps.back() || step.solved > telling.back()->solved ||
                       step.best.value_or(0) > gain * telling.back()->best.value_or(0);
    if (tells) telling.push_back(&step);
  }
  return telling;
}

// Of more than a thousand turns few lines.
std::vector<const TrajectoryStep*> FewSteps(const std::vector<TrajectoryStep>& steps) {
  constexpr size_t kMost = 40;
  constexpr double kLargestGain = 2;
  std::vector<const TrajectoryStep*> few;
  for (double gain = 1.01; gain < kLargestGain && (few.empty() || few.size() > kMost); gain *= gain) {
    few = StepsThatTell(steps, gain);
  }
  return few;
}

std::string AgentStepsText(const Trajectory& trajectory) {
  std::string text =
      fmt::format("  {:>5} {:>9} {:>12} {:>10} {:>9} {:>8}\n", "turn", "time", "tokens", "cost", "solved", "best");
  for (const TrajectoryStep* step : FewSteps(trajectory.steps)) {
    const auto seconds = static_cast<int64_t>(step->seconds.value_or(0));
    text += fmt::format("  {:>5} {:>9} {:>12} {:>10} {:>9} {:>8}\n", step->turn,
                        fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60), step->tokens,
                        CostText(step->usd), fmt::format("{}/{}", step->solved, step->problems), BestText(step->best));
  }
  return text;
}

std::string EndingsText(const std::vector<TrajectoryEnding>& endings) {
  constexpr size_t kMost = 30;
  std::string text = fmt::format("  {:<14} {:>6} {:>5} {:>7}  {:<10} {}\n", "problem", "sample", "turns", "best",
                                 "ended by", "in the run");
  for (size_t i = 0; i < std::min(endings.size(), kMost); ++i) {
    const TrajectoryEnding& ending = endings[i];
    const std::string verdict = ending.verdict.empty() ? "-" : ending.verdict;
    text += fmt::format("  {:<14} {:>6} {:>5} {:>7}  {:<10} {}{}\n", OneLine(ending.problem, 14), ending.sample,
                        ending.turns, BestText(ending.best),
                        ending.ended_by.empty() ? "goes on" : OneLine(ending.ended_by, 10), OneLine(verdict, 16),
                        ending.speedup ? " " + BestText(ending.speedup) : "");
  }
  if (endings.size() > kMost) text += fmt::format("  … {} more; --json has them\n", endings.size() - kMost);
  return text;
}

std::string StepsText(const Trajectory& trajectory) {
  std::string text =
      fmt::format("  {:>5} {:>8} {:>10} {:>10} {:>9} {:>8}\n", "turn", "answers", "tokens", "cost", "solved", "best");
  for (const TrajectoryStep& step : trajectory.steps) {
    text += fmt::format("  {:>5} {:>8} {:>10} {:>10} {:>9} {:>8}\n", step.turn, step.answers, step.tokens,
                        CostText(step.usd), fmt::format("{}/{}", step.solved, step.problems), BestText(step.best));
  }
  return text;
}

}  // namespace

std::vector<Trajectory> MakeTrajectories(std::span<const GenerationRequest> requests,
                                         std::span<const GenerationAnswer> answers, std::span<const ScoreRow> rows) {
  const std::map<int64_t, Spending> spent = SpentByRequest(answers);
  const RowsByCandidate by_candidate = ByCandidate(rows);
  std::map<std::string, std::vector<const GenerationRequest*>> by_model;
  for (const GenerationRequest& request : requests) {
    if (request.state == "answered" && spent.contains(request.id)) by_model[request.model].push_back(&request);
  }
  std::vector<Trajectory> all;
  for (auto& [model, of_model] : by_model) {
    std::sort(of_model.begin(), of_model.end(),
              [&](const auto* a, const auto* b) { return spent.at(a->id).last_answer < spent.at(b->id).last_answer; });
    Trajectory trajectory{.model = model};
    AddPoints(of_model, spent, by_candidate, &trajectory);
    AddSteps(&trajectory);
    AddEnd(&trajectory);
    all.push_back(std::move(trajectory));
  }
  return all;
}

AgentEpisode MakeAgentEpisode(const GenerationRequest& request, const std::string& ended_by,
                              std::span<const Turn> turns, std::span<const TurnVerdict> verdicts) {
  AgentEpisode episode{request, ended_by, {}};
  std::map<int, size_t> places;
  for (const Turn& turn : turns) {
    AgentTurn light{.number = turn.number, .created = turn.created, .tokens = turn.lost_tokens, .usd = turn.lost_usd};
    for (const auto& count : {turn.input, turn.cache_read, turn.cache_write, turn.output}) {
      light.tokens += count.value_or(0);
    }
    if (turn.state != "asked") Add(turn.cost_usd, &light.usd);
    light.seconds = turn.seconds + turn.tool_seconds;
    places[turn.number] = episode.turns.size();
    episode.turns.push_back(std::move(light));
  }
  for (const TurnVerdict& verdict : verdicts) {
    const auto place = places.find(verdict.turn);
    if (place == places.end() || verdict.verdict.empty()) continue;
    AgentTurn& turn = episode.turns[place->second];
    const bool fastest = verdict.verdict == "correct" && verdict.speedup.value_or(0) >= turn.speedup.value_or(0);
    if (turn.verdict == "correct" && !fastest) continue;
    turn.verdict = verdict.verdict;
    turn.speedup = verdict.speedup;
  }
  return episode;
}

std::vector<Trajectory> MakeAgentTrajectories(std::span<const AgentEpisode> episodes, std::span<const ScoreRow> rows) {
  const RowsByCandidate by_candidate = ByCandidate(rows);
  std::map<std::string, std::vector<const AgentEpisode*>> by_model;
  for (const AgentEpisode& episode : episodes) by_model[episode.request.model].push_back(&episode);
  std::vector<Trajectory> all;
  for (const auto& [model, of_model] : by_model) {
    Trajectory trajectory{.model = model};
    AddAgentPoints(of_model, &trajectory);
    AddSteps(&trajectory);
    AddEnd(&trajectory);
    AddEndings(of_model, by_candidate, &trajectory);
    all.push_back(std::move(trajectory));
  }
  return all;
}

json TrajectoryJson(const Trajectory& trajectory) {
  json points = json::array(), steps = json::array();
  for (const TrajectoryPoint& point : trajectory.points) {
    points.push_back({{"problem", point.problem},
                      {"sample", point.sample},
                      {"turn", point.turn},
                      {"candidate", point.candidate},
                      {"tokens", point.tokens},
                      {"cost_usd", OrNullJson(point.usd)},
                      {"verdict", OrNullJson(point.verdict)},
                      {"speedup", OrNullJson(point.speedup)},
                      {"best", OrNullJson(point.best)}});
    if (point.seconds) points.back()["seconds"] = *point.seconds;
  }
  for (const TrajectoryStep& step : trajectory.steps) {
    steps.push_back({{"turn", step.turn},
                     {"answers", step.answers},
                     {"tokens", step.tokens},
                     {"cost_usd", OrNullJson(step.usd)},
                     {"problems", step.problems},
                     {"solved", step.solved},
                     {"best", OrNullJson(step.best)}});
    if (step.seconds) steps.back()["seconds"] = *step.seconds;
  }
  json object = {{"model", trajectory.model},
                 {"steps", std::move(steps)},
                 {"points", std::move(points)},
                 {"last_gain", trajectory.last_gain ? json(*trajectory.last_gain) : json(nullptr)},
                 {"slope", OrNullJson(trajectory.slope)}};
  if (!trajectory.endings.empty()) {
    json& episodes = object["episodes"] = json::array();
    for (const TrajectoryEnding& ending : trajectory.endings) episodes.push_back(EndingJson(ending));
  }
  return object;
}

std::string TrajectoryText(const Trajectory& trajectory) {
  const bool agents = !trajectory.endings.empty();
  std::string text = CleanText(trajectory.model) + "\n" + (agents ? AgentStepsText(trajectory) : StepsText(trajectory));
  if (trajectory.last_gain) text += fmt::format("  nothing improved by 1% after turn {}", *trajectory.last_gain);
  if (trajectory.slope) {
    text += fmt::format("; over the last quarter {:+.{}f}% a turn", 100 * *trajectory.slope, agents ? 2 : 1);
  }
  if (trajectory.last_gain) text += "\n";
  return agents ? text + EndingsText(trajectory.endings) : text;
}

}  // namespace kb

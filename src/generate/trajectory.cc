#include "generate/trajectory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

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

void AddPoints(const std::vector<const GenerationRequest*>& requests, const std::map<int64_t, Spending>& spent,
               const RowsByCandidate& rows, Trajectory* trajectory) {
  std::map<std::string, double> best;
  int64_t tokens = 0;
  std::optional<double> usd = 0.0;
  for (const GenerationRequest* request : requests) {
    const Spending& of = spent.at(request->id);
    tokens += of.tokens;
    Add(of.usd, &usd);
    TrajectoryPoint point{
        request->problem, request->sample, request->turn, request->candidate, tokens, usd, "", {}, {}};
    if (const auto row = rows.find(RowKey(request->model, request->problem, request->candidate)); row != rows.end()) {
      point.verdict = row->second->verdict;
      point.speedup = row->second->speedup;
    }
    if (point.verdict == "correct" && point.speedup) {
      const auto [at, first] = best.try_emplace(request->problem, *point.speedup);
      if (!first) at->second = std::max(at->second, *point.speedup);
    }
    if (const auto at = best.find(request->problem); at != best.end()) point.best = at->second;
    trajectory->points.push_back(std::move(point));
  }
}

// Steps look at turns rather than at time: an answer of a later turn may have come before one of an earlier.
void AddSteps(Trajectory* trajectory) {
  const auto& points = trajectory->points;
  const bool turns = std::any_of(points.begin(), points.end(), [](const auto& point) { return point.turn > 0; });
  const auto step_of = [&](const TrajectoryPoint& point) { return turns ? point.turn : point.sample; };
  std::set<int> numbers;
  std::set<std::string> problems;
  for (const TrajectoryPoint& point : points) {
    numbers.insert(step_of(point));
    problems.insert(point.problem);
  }
  // Tokens and money of each answer by itself.
  std::map<int, TrajectoryStep> own;
  int64_t tokens = 0;
  std::optional<double> usd = 0.0;
  for (const TrajectoryPoint& point : points) {
    TrajectoryStep& step = own.try_emplace(step_of(point), TrajectoryStep{.usd = 0.0}).first->second;
    ++step.answers;
    step.tokens += point.tokens - tokens;
    Add(point.usd && usd ? std::optional(*point.usd - *usd) : std::nullopt, &step.usd);
    tokens = point.tokens;
    usd = point.usd;
  }
  TrajectoryStep sum{.usd = 0.0, .problems = static_cast<int>(problems.size())};
  std::set<std::string> solved;
  std::map<std::string, double> best;
  for (const int number : numbers) {
    sum.turn = number;
    sum.answers += own.at(number).answers;
    sum.tokens += own.at(number).tokens;
    Add(own.at(number).usd, &sum.usd);
    for (const TrajectoryPoint& point : points) {
      if (step_of(point) != number || point.verdict != "correct") continue;
      solved.insert(point.problem);
      if (!point.speedup) continue;
      const auto [at, first] = best.try_emplace(point.problem, *point.speedup);
      if (!first) at->second = std::max(at->second, *point.speedup);
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

}  // namespace

std::vector<Trajectory> MakeTrajectories(std::span<const GenerationRequest> requests,
                                         std::span<const GenerationAnswer> answers, std::span<const ScoreRow> rows) {
  const std::map<int64_t, Spending> spent = SpentByRequest(answers);
  RowsByCandidate by_candidate;  // the last one counts
  for (const ScoreRow& row : rows) {
    if (row.sample) by_candidate[RowKey(row.model, row.problem, *row.sample)] = &row;
  }
  std::map<std::string, std::vector<const GenerationRequest*>> by_model;
  for (const GenerationRequest& request : requests) {
    if (request.state == "answered" && spent.contains(request.id)) by_model[request.model].push_back(&request);
  }
  std::vector<Trajectory> all;
  for (auto& [model, of_model] : by_model) {
    std::sort(of_model.begin(), of_model.end(),
              [&](const auto* a, const auto* b) { return spent.at(a->id).last_answer < spent.at(b->id).last_answer; });
    Trajectory trajectory{model, {}, {}, {}, {}};
    AddPoints(of_model, spent, by_candidate, &trajectory);
    AddSteps(&trajectory);
    AddEnd(&trajectory);
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
                      {"verdict", point.verdict.empty() ? json(nullptr) : json(point.verdict)},
                      {"speedup", OrNullJson(point.speedup)},
                      {"best", OrNullJson(point.best)}});
  }
  for (const TrajectoryStep& step : trajectory.steps) {
    steps.push_back({{"turn", step.turn},
                     {"answers", step.answers},
                     {"tokens", step.tokens},
                     {"cost_usd", OrNullJson(step.usd)},
                     {"problems", step.problems},
                     {"solved", step.solved},
                     {"best", OrNullJson(step.best)}});
  }
  return {{"model", trajectory.model},
          {"steps", std::move(steps)},
          {"points", std::move(points)},
          {"last_gain", trajectory.last_gain ? json(*trajectory.last_gain) : json(nullptr)},
          {"slope", OrNullJson(trajectory.slope)}};
}

std::string TrajectoryText(const Trajectory& trajectory) {
  std::string text = fmt::format("{}\n  {:>5} {:>8} {:>10} {:>10} {:>9} {:>8}\n", trajectory.model, "turn", "answers",
                                 "tokens", "cost", "solved", "best");
  for (const TrajectoryStep& step : trajectory.steps) {
    text += fmt::format("  {:>5} {:>8} {:>10} {:>10} {:>9} {:>8}\n", step.turn, step.answers, step.tokens,
                        step.usd ? fmt::format("${:.4f}", *step.usd) : "unknown",
                        fmt::format("{}/{}", step.solved, step.problems),
                        step.best ? fmt::format("{:.2f}x", *step.best) : "-");
  }
  if (trajectory.last_gain) text += fmt::format("  nothing improved by 1% after turn {}", *trajectory.last_gain);
  if (trajectory.slope) text += fmt::format("; over the last quarter {:+.1f}% a turn", 100 * *trajectory.slope);
  return trajectory.last_gain ? text + "\n" : text;
}

}  // namespace kb

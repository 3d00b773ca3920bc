#include "score/samples.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/result.h"
#include "score/bootstrap.h"

namespace kb {
namespace {

using Problems = std::map<std::string_view, std::vector<const Outcome*>>;

Problems ByProblem(std::span<const Outcome> outcomes) {
  Problems problems;
  for (const Outcome& outcome : outcomes) problems[outcome.problem].push_back(&outcome);
  return problems;
}

int64_t FewestSamples(const Problems& problems) {
  size_t fewest = problems.empty() ? 0 : problems.begin()->second.size();
  for (const auto& [name, samples] : problems) fewest = std::min(fewest, samples.size());
  return static_cast<int64_t>(fewest);
}

// The figures of one problem: for each k the chances of all thresholds, then the expected logarithm of the best.
std::vector<double> ProblemFigures(const std::vector<const Outcome*>& samples, std::span<const int64_t> ks,
                                   std::span<const double> thresholds, std::optional<double> cap) {
  const auto n = static_cast<int64_t>(samples.size());
  std::vector<int64_t> passed;
  for (const double p : thresholds)
    passed.push_back(std::count_if(samples.begin(), samples.end(), [p](const Outcome* o) { return Passes(*o, p); }));
  std::vector<double> logs;
  for (const Outcome* sample : samples)
    logs.push_back(Measured(*sample) ? std::log(std::min(*sample->speedup, cap.value_or(*sample->speedup))) : 0);
  std::vector<double> figures;
  for (const int64_t k : ks) {
    for (const int64_t count : passed) figures.push_back(*PassAtK(n, count, k));
    figures.push_back(*ExpectedBest(logs, k));
  }
  return figures;
}

Estimate MeanOf(const std::vector<std::vector<double>>& rows, size_t column, const Bounds& interval, bool share) {
  double sum = 0;
  bool at_0 = true, at_1 = true;
  for (const std::vector<double>& row : rows) {
    sum += row[column];
    at_0 = at_0 && row[column] == 0;
    at_1 = at_1 && row[column] == 1;
  }
  const auto n = static_cast<int64_t>(rows.size());
  Estimate estimate{sum / static_cast<double>(n), interval};
  if (share && (at_0 || at_1)) estimate.interval = WilsonInterval({at_1 ? n : 0, n, at_1 ? 1.0 : 0.0});
  return estimate;
}

}  // namespace

std::optional<double> ExpectedBest(std::vector<double> values, int64_t k) {
  KB_CHECK(k >= 1);
  const auto n = static_cast<int64_t>(values.size());
  if (n < k) return std::nullopt;
  std::sort(values.begin(), values.end());
  // From the largest down: C(n-1, k-1) / C(n, k) = k / n, and C(i-2, k-1) / C(i-1, k-1) = (i-k) / (i-1).
  double weight = static_cast<double>(k) / static_cast<double>(n);
  double sum = 0;
  for (int64_t i = n; i >= k; --i) {
    sum += weight * values[static_cast<size_t>(i - 1)];
    if (i > 1) weight *= static_cast<double>(i - k) / static_cast<double>(i - 1);
  }
  return sum;
}

std::vector<int64_t> SampleCounts(std::span<const Outcome> outcomes) {
  const int64_t most = FewestSamples(ByProblem(outcomes));
  std::vector<int64_t> counts;
  for (int64_t k = 1; k < most; k *= 2) counts.push_back(k);
  if (most > 0) counts.push_back(most);
  return counts;
}

std::vector<AtK> ScoresAtK(std::span<const Outcome> outcomes, std::span<const int64_t> wanted,
                           std::span<const double> thresholds, std::optional<double> cap) {
  const Problems problems = ByProblem(outcomes);
  std::vector<int64_t> ks(wanted.begin(), wanted.end());
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  std::erase_if(ks, [most = FewestSamples(problems)](int64_t k) { return k > most; });
  if (ks.empty()) return {};
  std::vector<std::vector<double>> rows;
  for (const auto& [name, samples] : problems) rows.push_back(ProblemFigures(samples, ks, thresholds, cap));
  const std::vector<Bounds> intervals = BootstrapMeans(rows);
  const bool unbounded = !cap && std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
    return Measured(outcome) && outcome.speedup == kUnbounded;
  });
  std::vector<AtK> scores;
  size_t column = 0;
  for (const int64_t k : ks) {
    AtK score{k, {}, {}};
    for (size_t i = 0; i < thresholds.size(); ++i, ++column)
      score.fast.push_back(MeanOf(rows, column, intervals[column], true));
    const Estimate logarithm = MeanOf(rows, column, intervals[column], false);
    ++column;
    if (!unbounded) {
      const Bounds& interval = logarithm.interval;
      score.best = Estimate{std::exp(logarithm.value), {std::exp(interval.low), std::exp(interval.high)}};
    }
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace kb

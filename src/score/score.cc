#include "score/score.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/result.h"
#include "judge/stats/stats.h"

namespace kb {
namespace {

std::vector<double> Logarithms(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

// exp of the mean logarithm: a product of many speedups would overflow.
std::optional<double> GeometricMeanOf(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::exp(Mean(Logarithms(values)));
}

template <typename Predicate>
Proportion ShareOf(std::span<const Outcome> outcomes, Predicate predicate) {
  Proportion share{std::count_if(outcomes.begin(), outcomes.end(), predicate), static_cast<int64_t>(outcomes.size())};
  if (share.total > 0) share.value = static_cast<double>(share.count) / static_cast<double>(share.total);
  return share;
}

}  // namespace

int64_t CountMissing(std::span<const Outcome> outcomes) {
  return std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.missing; });
}

std::vector<Outcome> IfAllPass(std::span<const Outcome> outcomes) {
  std::vector<Outcome> best(outcomes.begin(), outcomes.end());
  for (Outcome& outcome : best) {
    if (outcome.missing) outcome = {std::move(outcome.problem), true, kUnbounded, false, true, true, true};
  }
  return best;
}

bool Measured(const Outcome& outcome) {
  return outcome.correct && outcome.speedup && std::isfinite(*outcome.speedup) && *outcome.speedup > 0;
}

bool Passes(const Outcome& outcome, double p) {
  if (p <= 0) return outcome.correct;
  return Measured(outcome) && *outcome.speedup > p;
}

Proportion FastP(std::span<const Outcome> outcomes, double p) {
  return ShareOf(outcomes, [p](const Outcome& outcome) { return Passes(outcome, p); });
}

Proportion CompiledShare(std::span<const Outcome> outcomes) {
  return ShareOf(outcomes, [](const Outcome& outcome) { return outcome.compiled; });
}

Proportion SurelyFaster(std::span<const Outcome> outcomes) {
  return ShareOf(outcomes, [](const Outcome& outcome) { return Passes(outcome, 1) && outcome.surely; });
}

Proportion FasterByOwnWork(std::span<const Outcome> outcomes) {
  return ShareOf(outcomes, [](const Outcome& outcome) { return Passes(outcome, 1) && outcome.surely && outcome.own; });
}

std::vector<CurvePoint> FastPCurve(std::span<const Outcome> outcomes, std::span<const double> thresholds) {
  std::vector<CurvePoint> curve;
  for (const double p : thresholds) curve.push_back({p, FastP(outcomes, p)});
  return curve;
}

std::vector<double> CorrectSpeedups(std::span<const Outcome> outcomes) {
  std::vector<double> speedups;
  for (const Outcome& outcome : outcomes) {
    if (Measured(outcome)) speedups.push_back(*outcome.speedup);
  }
  return speedups;
}

std::optional<double> MeanSpeedup(std::span<const Outcome> outcomes) {
  const std::vector<double> speedups = CorrectSpeedups(outcomes);
  if (speedups.empty()) return std::nullopt;
  return Mean(speedups);
}

std::optional<double> MedianSpeedup(std::span<const Outcome> outcomes) {
  const std::vector<double> speedups = CorrectSpeedups(outcomes);
  if (speedups.empty()) return std::nullopt;
  return Median(speedups);
}

std::optional<double> GeometricMean(std::span<const Outcome> outcomes) {
  return GeometricMeanOf(CorrectSpeedups(outcomes));
}

std::optional<double> GeometricMeanFaster(std::span<const Outcome> outcomes) {
  std::vector<double> speedups = CorrectSpeedups(outcomes);
  std::erase_if(speedups, [](double speedup) { return speedup <= 1; });
  return GeometricMeanOf(speedups);
}

std::optional<double> GeometricMeanOrOne(std::span<const Outcome> outcomes) {
  if (outcomes.empty()) return std::nullopt;
  std::vector<double> speedups = CorrectSpeedups(outcomes);
  speedups.resize(outcomes.size(), 1.0);
  return GeometricMeanOf(speedups);
}

std::vector<Outcome> Capped(std::span<const Outcome> outcomes, double cap) {
  std::vector<Outcome> capped(outcomes.begin(), outcomes.end());
  for (Outcome& outcome : capped) {
    if (outcome.speedup && std::isfinite(*outcome.speedup)) outcome.speedup = std::min(*outcome.speedup, cap);
  }
  return capped;
}

Bounds WilsonInterval(const Proportion& proportion, double confidence) {
  KB_CHECK(confidence > 0 && confidence < 1);
  if (proportion.total == 0) return {0, 1};
  const double n = static_cast<double>(proportion.total);
  const double share = static_cast<double>(proportion.count) / n;
  const double z = NormalQuantile((1 + confidence) / 2);
  const double denominator = 1 + z * z / n;
  const double centre = (share + z * z / (2 * n)) / denominator;
  const double half = z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / denominator;
  // At the ends the formula is exactly 0 or 1; rounding must not say otherwise.
  return {proportion.count == 0 ? 0 : std::max(0.0, centre - half),
          proportion.count == proportion.total ? 1 : std::min(1.0, centre + half)};
}

std::optional<Bounds> GeometricMeanInterval(std::span<const Outcome> outcomes, double confidence) {
  const std::vector<double> speedups = CorrectSpeedups(outcomes);
  if (speedups.size() < 2) return std::nullopt;
  const Interval interval = MeanInterval(Logarithms(speedups), confidence);
  return Bounds{std::exp(interval.low), std::exp(interval.high)};
}

std::optional<double> PassAtK(int64_t n, int64_t c, int64_t k) {
  KB_CHECK(0 <= c && c <= n && k >= 1);
  if (n < k) return std::nullopt;
  if (n - c < k) return 1;
  double none = 1;
  for (int64_t i = n - c + 1; i <= n; ++i) none *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - none;
}

std::optional<double> PassAtK(std::span<const Outcome> outcomes, int64_t k, double p) {
  struct Count {
    int64_t samples = 0;
    int64_t passed = 0;
  };
  std::map<std::string, Count> problems;
  for (const Outcome& outcome : outcomes) {
    Count& count = problems[outcome.problem];
    ++count.samples;
    count.passed += Passes(outcome, p);
  }
  std::vector<double> chances;
  for (const auto& [problem, count] : problems) {
    const std::optional<double> chance = PassAtK(count.samples, count.passed, k);
    if (!chance) return std::nullopt;
    chances.push_back(*chance);
  }
  if (chances.empty()) return std::nullopt;
  return Mean(chances);
}

}  // namespace kb

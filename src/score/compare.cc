#include "score/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string_view>

#include "base/result.h"
#include "judge/stats/stats.h"

namespace kb {
namespace {

constexpr size_t kMostExact = 20;      // differences: a million ways to give them signs
constexpr double kSameSum = 1 - 1e-9;  // sums that differ by rounding alone are as far from zero

// P(|2 X - n| >= |sum|) with X binomial(n, 1/2): n differences of one size, `up` of them above zero.
double BinomialP(int64_t n, int64_t up) {
  const int64_t fewer = std::min(up, n - up);
  double tail = 0;
  for (int64_t i = 0; i <= fewer; ++i) {
    const auto m = static_cast<double>(n), x = static_cast<double>(i);
    tail += std::exp(std::lgamma(m + 1) - std::lgamma(x + 1) - std::lgamma(m - x + 1) - m * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

// All signs in the order of a Gray code, in which neighbours differ by one.
double EverySignP(std::vector<double> values, double observed) {
  const uint64_t ways = uint64_t{1} << values.size();
  double sum = 0;
  for (const double value : values) sum += value;
  uint64_t hits = std::abs(sum) >= observed * kSameSum;
  for (uint64_t way = 1; way < ways; ++way) {
    double& flipped = values[static_cast<size_t>(__builtin_ctzll(way))];
    flipped = -flipped;
    sum += 2 * flipped;
    hits += std::abs(sum) >= observed * kSameSum;
  }
  return static_cast<double>(hits) / static_cast<double>(ways);
}

double DrawnSignsP(const std::vector<double>& values, double observed, const SignFlipOptions& options) {
  std::mt19937_64 generator(options.seed);
  int64_t hits = 0;
  for (int flip = 0; flip < options.flips; ++flip) {
    double sum = 0;
    uint64_t bits = 0;
    for (size_t i = 0; i < values.size(); ++i, bits >>= 1) {
      if (i % 64 == 0) bits = generator();
      const double signs[] = {-values[i], values[i]};
      sum += signs[bits & 1];
    }
    hits += std::abs(sum) >= observed * kSameSum;
  }
  return static_cast<double>(1 + hits) / static_cast<double>(1 + int64_t{options.flips});
}

struct Pair {
  std::vector<const Outcome*> a, b;
};
using Pairs = std::map<std::string_view, Pair>;

double ShareThatPasses(const std::vector<const Outcome*>& samples, double p) {
  const auto passed = std::count_if(samples.begin(), samples.end(), [p](const Outcome* o) { return Passes(*o, p); });
  return static_cast<double>(passed) / static_cast<double>(samples.size());
}

Contrast ContrastShares(const Pairs& pairs, double p, const SignFlipOptions& options) {
  Contrast contrast;
  std::vector<double> differences;
  for (const auto& [name, pair] : pairs) {
    const double a = ShareThatPasses(pair.a, p);
    const double b = ShareThatPasses(pair.b, p);
    contrast.a += a;
    contrast.b += b;
    differences.push_back(a - b);
  }
  const auto n = static_cast<double>(differences.size());
  contrast.problems = static_cast<int64_t>(differences.size());
  contrast.a /= n;
  contrast.b /= n;
  contrast.value = Mean(differences);
  contrast.p_value = SignFlipP(differences, options);
  double squares = 2;
  for (const double difference : differences) squares += difference * difference;
  const double centre = contrast.value * n / (n + 2);
  const double half = NormalQuantile(0.975) * std::sqrt((squares / (n + 2) - centre * centre) / (n + 2));
  contrast.interval = {std::max(-1.0, centre - half), std::min(1.0, centre + half)};
  return contrast;
}

std::optional<Contrast> ContrastLogarithms(const std::vector<double>& a, const std::vector<double>& b,
                                           const SignFlipOptions& options) {
  if (a.size() < 2) return std::nullopt;
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  const Interval interval = MeanInterval(differences, 0.95);
  Contrast contrast;
  contrast.problems = static_cast<int64_t>(a.size());
  contrast.a = std::exp(Mean(a));
  contrast.b = std::exp(Mean(b));
  contrast.value = std::exp(Mean(differences));
  contrast.interval = {std::exp(interval.low), std::exp(interval.high)};
  contrast.p_value = SignFlipP(differences, options);
  return contrast;
}

PairedProblem::Side SideOf(const std::vector<const Outcome*>& samples, std::optional<double> cap) {
  PairedProblem::Side side;
  std::vector<double> measured, with_floor;
  for (const Outcome* sample : samples) {
    ++side.samples;
    side.correct += sample->correct;
    side.missing += sample->missing;
    if (Measured(*sample)) {
      const double speedup = std::min(*sample->speedup, cap.value_or(*sample->speedup));
      side.unbounded |= speedup == kUnbounded;
      measured.push_back(std::log(speedup));
      with_floor.push_back(std::log(std::max(speedup, kSpeedupFloor)));
    } else if (!sample->correct || sample->missing) {
      with_floor.push_back(std::log(kSpeedupFloor));
    }
  }
  if (!measured.empty()) side.speedup = std::exp(Mean(measured));
  if (!with_floor.empty()) side.log_mean = Mean(with_floor);
  return side;
}

double Distance(const PairedProblem& pair) {
  return pair.a.log_mean && pair.b.log_mean ? std::abs(*pair.a.log_mean - *pair.b.log_mean) : 0;
}

}  // namespace

double SignFlipP(std::span<const double> differences, const SignFlipOptions& options) {
  std::vector<double> values;
  double sum = 0;
  int64_t up = 0;
  for (const double difference : differences) {
    KB_CHECK(std::isfinite(difference));
    if (difference == 0) continue;
    values.push_back(difference);
    sum += difference;
    up += difference > 0;
  }
  if (values.empty()) return 1;
  const bool one_size =
      std::all_of(values.begin(), values.end(), [&](double v) { return std::abs(v) == std::abs(values[0]); });
  if (one_size) return BinomialP(static_cast<int64_t>(values.size()), up);
  if (values.size() <= kMostExact) return EverySignP(std::move(values), std::abs(sum));
  return DrawnSignsP(values, std::abs(sum), options);
}

Comparison Compare(std::span<const Outcome> a, std::span<const Outcome> b, const CompareOptions& options) {
  Pairs pairs;
  for (const Outcome& outcome : a) pairs[outcome.problem].a.push_back(&outcome);
  for (const Outcome& outcome : b) pairs[outcome.problem].b.push_back(&outcome);
  Comparison comparison;
  for (auto pair = pairs.begin(); pair != pairs.end();) {
    comparison.only_a += pair->second.b.empty();
    comparison.only_b += pair->second.a.empty();
    pair = pair->second.a.empty() || pair->second.b.empty() ? pairs.erase(pair) : std::next(pair);
  }
  if (pairs.empty()) return comparison;
  for (const double p : options.thresholds) comparison.fast.push_back(ContrastShares(pairs, p, options.sign_flip));
  std::vector<double> all_a, all_b, solved_a, solved_b;
  bool all_bounded = true, solved_bounded = true;
  for (const auto& [name, pair] : pairs) {
    PairedProblem paired{std::string(name), SideOf(pair.a, options.cap), SideOf(pair.b, options.cap)};
    const bool bounded = !paired.a.unbounded && !paired.b.unbounded;
    if (paired.a.log_mean && paired.b.log_mean) {
      all_bounded &= bounded;
      all_a.push_back(*paired.a.log_mean);
      all_b.push_back(*paired.b.log_mean);
    }
    if (paired.a.speedup && paired.b.speedup) {
      solved_bounded &= bounded;
      solved_a.push_back(std::log(*paired.a.speedup));
      solved_b.push_back(std::log(*paired.b.speedup));
    }
    comparison.problems.push_back(std::move(paired));
  }
  if (all_bounded) comparison.all = ContrastLogarithms(all_a, all_b, options.sign_flip);
  if (solved_bounded) comparison.solved = ContrastLogarithms(solved_a, solved_b, options.sign_flip);
  std::stable_sort(comparison.problems.begin(), comparison.problems.end(),
                   [](const PairedProblem& x, const PairedProblem& y) { return Distance(x) > Distance(y); });
  return comparison;
}

}  // namespace kb

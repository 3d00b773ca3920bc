#include "judge/stats/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/result.h"

namespace kb {
namespace {

constexpr int kBisections = 200;    // more than the bits of a double: stops at the last representable step
constexpr double kRounding = 1e-9;  // what rounding takes from a number that is whole

// P(|T| <= t) for t = sqrt(degrees) tan(theta): the finite series for integer degrees of freedom, Abramowitz and Stegun
// 26.7.3 and 26.7.4. All terms are positive, so nothing cancels.
double StudentCentral(double theta, int64_t degrees) {
  const double cosine = std::cos(theta);
  const double square = cosine * cosine;
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = 0;
  for (int64_t exponent = odd ? 1 : 0; exponent <= degrees - 2; exponent += 2) {
    sum += term;
    term *= square * static_cast<double>(exponent + 1) / static_cast<double>(exponent + 2);
  }
  if (odd) return 2 / std::numbers::pi * (theta + std::sin(theta) * sum);
  return std::sin(theta) * sum;
}

// log of C(n, k) / 2^n.
double LogBinomialHalf(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::numbers::ln2;
}

// The relative variance of one side's times, up to a factor that both sides have; without what grows steadily.
double Scatter(std::span<const double> times) {
  if (times.size() < 2) return 0;
  std::vector<double> steps;
  for (size_t i = 1; i < times.size(); ++i) steps.push_back(times[i] - times[i - 1]);
  const double relative = MedianAbsoluteDeviation(steps) / Median(times);
  return relative * relative;
}

bool FollowsNeighbour(std::span<const TimedRound> rounds, size_t i) {
  return i > 0 && rounds[i - 1].index + 1 == rounds[i].index && !rounds[i].apart;
}

// Quantiles of `values` at (i + 1/2) / count, between two of them where they fall between two; 1 <= count <= values.
std::vector<double> Quantiles(std::vector<double> values, size_t count) {
  std::sort(values.begin(), values.end());
  const double step = static_cast<double>(values.size()) / static_cast<double>(count);
  std::vector<double> quantiles;
  for (size_t i = 0; i < count; ++i) {
    const double place = (static_cast<double>(i) + 0.5) * step - 0.5;
    const auto below = static_cast<size_t>(place);
    const double above = values[std::min(below + 1, values.size() - 1)];  // the last one has none
    quantiles.push_back(std::lerp(values[below], above, place - static_cast<double>(below)));
  }
  return quantiles;
}

// The ratio of the means S = mean(B) / mean(A): to first order S - s has the variance of the mean of
// (B_i - S A_i) / mean(A).
Interval RatioOfMeansInterval(std::span<const double> candidate, std::span<const double> baseline, double confidence) {
  const double mean = Mean(candidate);
  const double ratio = Mean(baseline) / mean;
  std::vector<double> residuals;
  for (size_t i = 0; i < candidate.size(); ++i) residuals.push_back((baseline[i] - ratio * candidate[i]) / mean);
  const Interval interval = MeanInterval(residuals, confidence);
  const double half = (interval.high - interval.low) / 2;
  return {ratio - half, ratio + half, interval.coverage};
}

}  // namespace

double Mean(std::span<const double> values) {
  KB_CHECK(!values.empty());
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Median(std::span<const double> values) {
  KB_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(sorted.begin(), middle), *middle);
}

double MedianAbsoluteDeviation(std::span<const double> values) {
  const double median = Median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - median));
  return Median(deviations);
}

double WithoutOffset(double span_us, double offset_us, double share) {
  return std::max(span_us - offset_us, span_us * (1 - share));
}

double Refined(double event_us, double clock_us, double below_us, double above_us) {
  const bool near = event_us >= clock_us - 3 * below_us && event_us <= clock_us + 3 * above_us;
  if (!(event_us > 0) || !near) return clock_us;
  return std::clamp(event_us, clock_us - below_us, clock_us + above_us);
}

double NormalQuantile(double p) {
  KB_CHECK(p > 0 && p < 1);
  // By symmetry the quantile of the smaller tail, where erfc keeps its relative precision.
  const double tail = std::min(p, 1 - p);
  double low = 0;
  double high = 40;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = std::midpoint(low, high);
    (std::erfc(middle / std::numbers::sqrt2) / 2 > tail ? low : high) = middle;
  }
  return p < 0.5 ? -low : low;
}

double StudentQuantile(double p, int64_t degrees) {
  KB_CHECK(p > 0 && p < 1 && degrees >= 1);
  const double central = std::abs(2 * p - 1);
  double low = 0;
  double high = std::numbers::pi / 2;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = std::midpoint(low, high);
    (StudentCentral(middle, degrees) < central ? low : high) = middle;
  }
  const double t = std::sqrt(static_cast<double>(degrees)) * std::tan(low);
  return p < 0.5 ? -t : t;
}

Interval MedianInterval(std::span<const double> values, double confidence) {
  KB_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  // below = P(Binomial(n, 1/2) < k): the chance that fewer than k values lie on one given side of the median.
  double below = std::exp(LogBinomialHalf(static_cast<double>(n), 0));
  Interval interval{sorted.front(), sorted.back(), std::max(0.0, 1 - 2 * below)};
  for (size_t k = 2; 2 * k <= n + 1; ++k) {
    below += std::exp(LogBinomialHalf(static_cast<double>(n), static_cast<double>(k - 1)));
    const double coverage = 1 - 2 * below;
    if (coverage < confidence) break;
    interval = {sorted[k - 1], sorted[n - k], coverage};
  }
  return interval;
}

Interval MeanInterval(std::span<const double> values, double confidence) {
  KB_CHECK(confidence > 0 && confidence < 1);
  const double mean = Mean(values);
  if (values.size() == 1) return {mean, mean, 0};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double n = static_cast<double>(values.size());
  const double error = std::sqrt(squares / (n - 1) / n);
  const double half = error * StudentQuantile((1 + confidence) / 2, static_cast<int64_t>(values.size()) - 1);
  return {mean - half, mean + half, confidence};
}

double ConfidenceOfLook(double confidence, size_t looks) {
  KB_CHECK(looks >= 1);
  return looks == 1 ? confidence : (1 + confidence) / 2;
}

std::vector<double> SpeedupRatios(std::span<const TimedRound> rounds) {
  std::vector<double> ratios;
  for (size_t i = 0; i < rounds.size(); ++i) {
    if (!rounds[i].scored) continue;
    if (FollowsNeighbour(rounds, i)) ratios.push_back(rounds[i - 1].baseline_us / rounds[i].candidate_us);
    ratios.push_back(rounds[i].baseline_us / rounds[i].candidate_us);
  }
  return ratios;
}

double WorthOfRatios(std::span<const TimedRound> rounds) {
  std::vector<double> candidate;
  std::vector<double> baseline;
  double ratios = 0;
  double share_candidate = 0;
  double share_baseline = 0;
  for (size_t i = 0; i < rounds.size(); ++i) {
    if (!rounds[i].scored) continue;
    candidate.push_back(rounds[i].candidate_us);
    baseline.push_back(rounds[i].baseline_us);
    const bool follows = FollowsNeighbour(rounds, i);
    ratios += follows ? 2 : 1;
    share_candidate += follows ? 1 : 0;
    share_baseline += follows && rounds[i - 1].scored ? 1 : 0;
  }
  if (ratios == 0) return 0;
  const double a = Scatter(candidate);
  const double b = Scatter(baseline);
  const double of_candidate = a + b > 0 ? a / (a + b) : 1;  // all alike: as if one side did all of it
  const double agreement = share_candidate * std::asin(of_candidate) + share_baseline * std::asin(1 - of_candidate);
  return ratios * ratios / (ratios + 4 / std::numbers::pi * agreement);
}

Speedup EstimateSpeedup(std::span<const TimedRound> rounds, const EstimateOptions& options) {
  std::vector<double> candidate;
  std::vector<double> baseline;
  for (const TimedRound& round : rounds) {
    if (!round.scored) continue;
    candidate.push_back(round.candidate_us);
    baseline.push_back(round.baseline_us);
  }
  if (candidate.empty()) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return {0, kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan};
  }
  const double confidence = ConfidenceOfLook(options.confidence, options.looks);
  Speedup result;
  result.rounds = static_cast<int64_t>(candidate.size());
  Interval interval;
  if (options.statistic == Statistic::kMedian) {
    const std::vector<double> ratios = SpeedupRatios(rounds);
    result.speedup = Median(ratios);
    result.candidate_us = Median(candidate);
    result.baseline_us = Median(baseline);
    const auto worth = static_cast<size_t>(std::max(1.0, WorthOfRatios(rounds) + kRounding));
    interval = MedianInterval(Quantiles(ratios, worth), confidence);
  } else {
    result.candidate_us = Mean(candidate);
    result.baseline_us = Mean(baseline);
    result.speedup = result.baseline_us / result.candidate_us;
    interval = RatioOfMeansInterval(candidate, baseline, confidence);
  }
  result.coverage = interval.coverage;
  result.half_width = (interval.high - interval.low) / 2 / result.speedup;
  result.floor = options.floor + options.offset_uncertainty_us / result.candidate_us;
  result.low = std::max(0.0, interval.low) * std::max(0.0, 1 - result.floor);
  result.high = interval.high * (1 + result.floor);
  return result;
}

}  // namespace kb

#include "device/random_fill.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kb {
namespace {

std::vector<float> Uniform(int threads, int64_t n, uint64_t seed) {
  ThreadPool pool(threads);
  std::vector<float> numbers(static_cast<size_t>(n), -1);
  FillUniform(pool, numbers.data(), n, seed);
  return numbers;
}

TEST(FillUniform, CoversEverySizeAndStaysInRange) {
  for (int64_t n : {0, 1, 15, 16, 17, 262143, 262144, 262145, 600001}) {
    for (float x : Uniform(2, n, 7)) {
      ASSERT_GE(x, 0);
      ASSERT_LT(x, 1);
      ASSERT_EQ(std::ldexp(x, 24), std::floor(std::ldexp(x, 24)));
    }
  }
}

TEST(FillUniform, DependsOnTheSeedAndOnNothingElse) {
  EXPECT_EQ(Uniform(1, 1000000, 3), Uniform(2, 1000000, 3));
  EXPECT_NE(Uniform(1, 100, 3), Uniform(1, 100, 4));
}

// Bounds are five standard deviations of the statistic under independence; the seeds are fixed.
TEST(FillUniform, IsUniformAndUncorrelated) {
  const int64_t n = 1 << 22;
  const std::vector<float> x = Uniform(2, n, 12345);
  std::vector<int64_t> bins(256);
  double sum = 0;
  for (float v : x) {
    sum += v;
    ++bins[static_cast<size_t>(v * 256)];
  }
  const double deviation = std::sqrt(1.0 / 12 / n);
  EXPECT_NEAR(sum / n, 0.5, 5 * deviation);
  double chi2 = 0;
  for (int64_t count : bins) chi2 += std::pow(static_cast<double>(count) - n / 256.0, 2) / (n / 256.0);
  EXPECT_LT(std::abs(chi2 - 255), 5 * std::sqrt(2.0 * 255));
  for (int64_t lag : {1, 2, 15, 16, 17, 262144}) {
    double products = 0;
    for (int64_t i = 0; i + lag < n; ++i) {
      products += (x[static_cast<size_t>(i)] - 0.5) * (x[static_cast<size_t>(i + lag)] - 0.5);
    }
    const double terms = static_cast<double>(n - lag);
    EXPECT_LT(std::abs(products / terms) * 12, 5 / std::sqrt(terms)) << lag;
  }
}

}  // namespace
}  // namespace kb

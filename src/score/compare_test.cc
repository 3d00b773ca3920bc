#include "score/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kb {
namespace {

using Outcomes = std::vector<Outcome>;

double Uniform(std::mt19937_64& generator) { return (static_cast<double>(generator() >> 11) + 0.5) * 0x1p-53; }

double Normal(std::mt19937_64& generator) {
  return std::sqrt(-2 * std::log(Uniform(generator))) * std::cos(2 * M_PI * Uniform(generator));
}

// A model that is right on a problem of difficulty d in [0, 1] with probability skill (1 - d), and then `faster` times
// as fast as the problem lets one be.
struct Model {
  double skill, faster;
};

struct Drawn {
  Outcomes a, b;
};

Drawn Draw(uint64_t seed, int problems, int samples, Model a, Model b) {
  std::mt19937_64 generator(seed);
  Drawn drawn;
  for (int problem = 0; problem < problems; ++problem) {
    const double difficulty = Uniform(generator);
    const double room = std::exp(0.7 * Normal(generator));
    const auto sample = [&](const Model& model) {
      const bool correct = Uniform(generator) < model.skill * (1 - difficulty);
      const double speedup = room * model.faster * std::exp(0.3 * Normal(generator));
      return Outcome{std::to_string(problem), correct, speedup};
    };
    for (int i = 0; i < samples; ++i) {
      drawn.a.push_back(sample(a));
      drawn.b.push_back(sample(b));
    }
  }
  return drawn;
}

TEST(CompareTest, SignFlipsByHand) {
  EXPECT_EQ(SignFlipP({}), 1);
  EXPECT_EQ(SignFlipP(std::vector<double>{0, 0}), 1);
  EXPECT_EQ(SignFlipP(std::vector<double>{3}), 1);
  // McNemar: nine against one, 2 (1 + 10) / 2^10; zeros say nothing.
  const std::vector<double> nine = {1, 1, 1, 0, 1, 1, 0, 1, 1, 1, -1, 1};
  EXPECT_NEAR(SignFlipP(nine), 22.0 / 1024, 1e-12);
  EXPECT_NEAR(SignFlipP(std::vector<double>{1, -1, 1, -1}), 1, 1e-12);
  // 1 + 2 + 4: only all signs alike are as far from zero, 2 of 8. -1 + 2 + 4: sums 7, 5 and below, 4 of 8.
  EXPECT_EQ(SignFlipP(std::vector<double>{1, 2, 4}), 0.25);
  EXPECT_EQ(SignFlipP(std::vector<double>{-1, 2, 4}), 0.5);
}

TEST(CompareTest, DrawnSignsAgreeWithAllSigns) {
  std::mt19937_64 generator(3);
  std::vector<double> few;
  for (int i = 0; i < 20; ++i) few.push_back(Normal(generator) + 0.4);
  std::vector<double> many = few;
  many.push_back(1e-9);  // changes nothing, but makes 21
  EXPECT_NEAR(SignFlipP(many), SignFlipP(few), 0.005);
  EXPECT_EQ(SignFlipP(many), SignFlipP(many)) << "the seed is fixed";
}

TEST(CompareTest, ByHand) {
  const Outcomes a = {{"1", true, 4.0}, {"2", true, 0.5}, {"3", false, 7.0}, {"4", true, 2.0}, {"only a", true, 9.0}};
  const Outcomes b = {{"1", true, 2.0}, {"2", false, {}}, {"3", false, {}}, {"4", true, 0.01}, {"only b", true, 9.0}};
  const Comparison comparison = Compare(a, b);
  EXPECT_EQ(comparison.only_a, 1);
  EXPECT_EQ(comparison.only_b, 1);
  ASSERT_EQ(comparison.fast.size(), 2u);
  EXPECT_EQ(comparison.fast[0].problems, 4);
  EXPECT_DOUBLE_EQ(comparison.fast[0].a, 0.75);
  EXPECT_DOUBLE_EQ(comparison.fast[0].b, 0.5);
  EXPECT_DOUBLE_EQ(comparison.fast[0].value, 0.25);
  EXPECT_EQ(comparison.fast[0].p_value, 1) << "one discordant problem";
  EXPECT_DOUBLE_EQ(comparison.fast[1].value, 0.25);
  // Differences 1, 0, 0, 0 and the two that are added: mean 1/6, mean square 1/2.
  EXPECT_NEAR(comparison.fast[0].interval.low, 1.0 / 6 - 1.959964 * std::sqrt((0.5 - 1.0 / 36) / 6), 1e-6);
  ASSERT_TRUE(comparison.all && comparison.solved);
  EXPECT_NEAR(comparison.all->a, std::pow(4 * 0.5 * 0.1 * 2, 0.25), 1e-12);
  EXPECT_NEAR(comparison.all->b, std::pow(2 * 0.1 * 0.1 * 0.1, 0.25), 1e-12) << "0.01 counts as the floor";
  EXPECT_NEAR(comparison.all->value, comparison.all->a / comparison.all->b, 1e-12);
  EXPECT_EQ(comparison.solved->problems, 2);
  EXPECT_NEAR(comparison.solved->value, std::sqrt(8 / 0.02), 1e-9);
  ASSERT_EQ(comparison.problems.size(), 4u);
  EXPECT_EQ(comparison.problems[0].problem, "4") << "2 against the floor";
  EXPECT_EQ(comparison.problems[3].problem, "3") << "both wrong";
}

TEST(CompareTest, SamplesOfOneProblemAreOneDifference) {
  Outcomes a, b;
  for (int i = 0; i < 50; ++i) {
    a.push_back({"1", true, 3.0});
    b.push_back({"1", false, {}});
  }
  const Comparison comparison = Compare(a, b);
  EXPECT_EQ(comparison.fast[0].p_value, 1);
  EXPECT_FALSE(comparison.all) << "one problem";
}

TEST(CompareTest, NothingInCommon) {
  const Comparison comparison = Compare(Outcomes{{"1", true, 2.0}}, Outcomes{{"2", true, 2.0}});
  EXPECT_TRUE(comparison.fast.empty());
  EXPECT_TRUE(comparison.problems.empty());
  EXPECT_FALSE(comparison.all);
}

TEST(CompareTest, CorrectWithoutATimeSaysNothingOfSpeed) {
  const Comparison comparison = Compare(Outcomes{{"1", true, {}}, {"2", true, 2.0}, {"3", true, 2.0}},
                                        Outcomes{{"1", true, 5.0}, {"2", true, 1.0}, {"3", true, 1.0}});
  EXPECT_EQ(comparison.fast[0].value, 0);
  EXPECT_EQ(comparison.all->problems, 2);
  EXPECT_DOUBLE_EQ(comparison.all->value, 2);
}

struct Rates {
  double correct = 0, fast_1 = 0, all = 0, solved = 0;  // how often a difference is shown
};

Rates ShownRates(int runs, int problems, int samples, Model a, Model b) {
  CompareOptions options;
  options.sign_flip.flips = 1000;
  Rates rates;
  for (int run = 0; run < runs; ++run) {
    const Drawn drawn = Draw(static_cast<uint64_t>(run), problems, samples, a, b);
    const Comparison comparison = Compare(drawn.a, drawn.b, options);
    rates.correct += comparison.fast[0].shown();
    rates.fast_1 += comparison.fast[1].shown();
    rates.all += comparison.all->shown();
    rates.solved += comparison.solved && comparison.solved->shown();
  }
  for (double* rate : {&rates.correct, &rates.fast_1, &rates.all, &rates.solved}) *rate /= runs;
  return rates;
}

TEST(CompareTest, EqualModelsDifferInFiveOfAHundredSeeds) {
  for (const int samples : {1, 4}) {
    const Rates rates = ShownRates(1000, 60, samples, {0.9, 1}, {0.9, 1});
    SCOPED_TRACE(samples);
    EXPECT_NEAR(rates.all, 0.05, 0.021) << "three standard errors";
    EXPECT_NEAR(rates.solved, 0.05, 0.021);
    // Exact tests of few discordant problems cannot reach 5%, but must not pass it.
    EXPECT_LE(rates.correct, 0.071);
    EXPECT_LE(rates.fast_1, 0.071);
    EXPECT_GE(rates.correct, 0.01);
    EXPECT_GE(rates.fast_1, 0.01);
  }
}

TEST(CompareTest, AKnownDifferenceIsShown) {
  const Rates skill = ShownRates(100, 250, 1, {0.95, 1}, {0.6, 1});
  EXPECT_GE(skill.correct, 0.95);
  EXPECT_GE(skill.all, 0.95);
  EXPECT_LE(skill.solved, 0.15) << "they differ in skill, not in speed";
  const Rates speed = ShownRates(100, 250, 1, {0.8, 1.5}, {0.8, 1});
  EXPECT_GE(speed.solved, 0.95);
  EXPECT_LE(speed.correct, 0.15);
}

}  // namespace
}  // namespace kb

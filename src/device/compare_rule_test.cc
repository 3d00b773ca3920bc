// The rule of judgement: budgets, honest and dishonest precision, and the same rule written a second time.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/compare.h"
#include "device/compare_test_util.h"

namespace kb {
namespace {

TEST(ErrorBudget, KeepsTheLargestOfTheAnchors) {
  ErrorBudget budget;
  const Values truth = Normal(1500, 3, 4, 14);
  for (const double error : {0.01, 0.04, 0.02}) {
    Values reference = truth;
    for (int i = 1024; i < 1500; ++i) reference[i] += error;
    budget.AddAnchor(Pool(), Encode(reference, kF64).data(), kF64, 1500, truth.data());
  }
  EXPECT_EQ(budget.anchors(), 3);
  EXPECT_EQ(budget.BlockRms(0), 0);
  EXPECT_NEAR(budget.BlockRms(1), 0.04, 1e-12);
  EXPECT_NEAR(budget.BlockMax(1), 0.04, 1e-12);
  EXPECT_NEAR(budget.ReferenceRms(), 0.04 * std::sqrt(476.0 / 1500), 1e-12);
  EXPECT_NEAR(budget.OutputStd(), 4, 0.2);
  EXPECT_NEAR(budget.OutputRms(), 5, 0.2);
  // Against the reference: 3 times its RMS error and 5 times its largest, in the block where it errs.
  Values got = truth;
  for (int i = 1024; i < 1500; ++i) got[i] += 0.119;
  EXPECT_TRUE(CompareValues(got, truth, kF64, budget).ok);
  for (int i = 1024; i < 1500; ++i) got[i] += 0.002;
  EXPECT_FALSE(CompareValues(got, truth, kF64, budget).ok);
  got = truth;
  got[1100] += 0.199;
  EXPECT_TRUE(CompareValues(got, truth, kF64, budget).ok);
  got[1100] += 0.002;
  EXPECT_EQ(CompareValues(got, truth, kF64, budget).wrong, 1);
  got = truth;
  got[1000] += 0.1;
  EXPECT_FALSE(CompareValues(got, truth, kF64, budget).ok);
}

// A running sum: a whole block errs alike, and an anchor may show it as exact by chance.
TEST(ErrorBudget, PooledBlocksMayErrAsTheWorst) {
  const Values truth = Normal(4096, 0, 1, 15);
  Values reference = truth, got = truth;
  for (size_t i = 1024; i < 2048; ++i) reference[i] += 0.01;  // the anchor errs here
  for (size_t i = 0; i < 1024; ++i) got[i] += 0.02;           // and the candidate there
  ErrorBudget budget = Anchored(reference, truth, kF64);
  EXPECT_FALSE(CompareValues(got, truth, kF64, budget).ok);
  budget.Pool();
  EXPECT_TRUE(CompareValues(got, truth, kF64, budget).ok);
  for (size_t i = 0; i < 1024; ++i) got[i] += 0.02;
  EXPECT_FALSE(CompareValues(got, truth, kF64, budget).ok);
}

TEST(ErrorBudget, CapKeepsChaosFromPassing) {
  const Values truth = Normal(4096, 0, 1, 15);
  const ErrorBudget noisy = Anchored(Plus(truth, Normal(4096, 0, 0.5, 16)), truth);
  EXPECT_FALSE(noisy.Judgeable({}));
  EXPECT_TRUE(noisy.Judgeable({.cap = 1}));
  EXPECT_TRUE(noisy.Judgeable(Allclose(1e-2, 1e-2)));
  EXPECT_FALSE(CompareValues(Values(4096, 0), truth, kF32, noisy).ok);
  EXPECT_TRUE(CompareValues(Plus(truth, Normal(4096, 0, 0.02, 17)), truth, kF32, noisy).ok);
  EXPECT_FALSE(CompareValues(Plus(truth, Normal(4096, 0, 0.2, 17)), truth, kF32, noisy).ok);
  const ErrorBudget calm = Anchored(Plus(truth, Normal(4096, 0, 0.01, 16)), truth);
  EXPECT_TRUE(calm.Judgeable({}));
}

TEST(ErrorBudget, ConstantOutputsHaveNoCap) {
  const Values truth(2048, 3);
  const ErrorBudget budget = Anchored(truth, truth);
  EXPECT_EQ(budget.OutputStd(), 0);
  EXPECT_TRUE(budget.IsConstant());
  EXPECT_TRUE(budget.Judgeable({}));
  EXPECT_TRUE(CompareValues(Values(2048, 3.00001), truth, kF32, budget).ok);
  EXPECT_TRUE(CompareValues(Values(2048, 3.00001), truth).ok);
  EXPECT_FALSE(CompareValues(Values(2048, 0), truth, kF32, budget).ok);
}

// An offset hides no error: floors count as many standard deviations of the output at most, but what its type rounds.
TEST(ErrorBudget, FloorsAreOfTheSpreadWhereOutputsHaveAnOffset) {
  struct Case {
    double offset, error;  // of every element; in standard deviations
    bool ok;
    kb_dtype dtype = kF64;
    int64_t size = 2048;
  };
  const Case cases[] = {
      {0, 1.9e-5, true},
      {0, 2.1e-5, false},  // 2e-5 of the magnitude
      {19, 3.7e-4, true},
      {19, 4.1e-4, false},  // still of the magnitude
      {100, 3.9e-4, true},
      {100, 4.1e-4, false},  // of 20 standard deviations
      {1e6, 3.9e-4, true},
      {1e6, 4.1e-4, false},  // the same
      {1e5, 0.016, true, kF32},
      {1e5, 0.04, false, kF32},  // fp32 rounds by 0.004 there
      {100, 1.9e-3, true, kF64, 8},
      {100, 2.1e-3, false, kF64, 8},  // too few numbers to tell a spread
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(testing::Message() << test.offset << " " << test.error << " " << test.size);
    Values truth(test.size), got;
    for (int64_t i = 0; i < test.size; ++i) truth[i] = test.offset + (i % 2 == 0 ? 1 : -1);
    for (double value : truth) got.push_back(value + test.error);
    EXPECT_EQ(CompareValues(got, truth, test.dtype, Anchored(truth, truth, test.dtype)).ok, test.ok);
    EXPECT_EQ(CompareValues(got, truth, test.dtype).ok, test.ok) << "without anchors";
    EXPECT_TRUE(CompareValues(got, truth, test.dtype, {}, Allclose(1, 0)).ok);
  }
  // One element may err five times as much; two anchors of 8 numbers are enough.
  const Values truth = Normal(2048, 100, 1, 21);
  Values got = truth;
  got[1500] += 1.9e-3;
  EXPECT_TRUE(CompareValues(got, truth, kF64, Anchored(truth, truth, kF64)).ok);
  got[1500] += 0.2e-3;
  EXPECT_FALSE(CompareValues(got, truth, kF64, Anchored(truth, truth, kF64)).ok);
  ErrorBudget two;
  Values eight(8, 101);
  for (int i = 0; i < 4; ++i) eight[i] = 99;
  for (int anchor = 0; anchor < 2; ++anchor) {
    two.AddAnchor(Pool(), Encode(eight, kF64).data(), kF64, 8, eight.data());
    EXPECT_EQ(CompareValues(Plus(eight, Values(8, 1e-3)), eight, kF64, two).ok, anchor == 0) << anchor;
  }
}

// n positive terms one after the other err more than what adds them up in pieces, and are right.
TEST(Compare, SerialSumsOfPositiveTermsPass) {
  const int64_t rows = 256, terms = 8192;
  std::mt19937_64 random(22);
  Values serial, pairwise, truth;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<float> x(terms);
    for (float& value : x) value = static_cast<float>(random() >> 40) * 0x1p-24f;
    float sum = 0;
    for (float value : x) sum += value;
    serial.push_back(sum);
    truth.push_back(std::accumulate(x.begin(), x.end(), 0.0));
    for (int64_t n = terms / 2; n > 0; n /= 2) {
      for (int64_t i = 0; i < n; ++i) x[i] += x[i + n];
    }
    pairwise.push_back(x[0]);
  }
  const CompareResult result = CompareValues(serial, pairwise, kF32, Anchored(pairwise, truth));
  EXPECT_TRUE(result.ok) << result.worst;
}

TEST(ErrorBudget, ScalarsPoolTheirAnchors) {
  ErrorBudget budget;
  for (const double value : {1.0, 1.1, 1.2}) {
    budget.AddAnchor(Pool(), Encode({value + 0.03}, kF64).data(), kF64, 1, &value);
  }
  EXPECT_NEAR(budget.OutputStd(), 0.1, 1e-12);
  EXPECT_FALSE(budget.Judgeable({}));
  EXPECT_TRUE(CompareValues({1.159}, {1.15}, kF64, budget).ok);  // cap 0.01
  EXPECT_FALSE(CompareValues({1.161}, {1.15}, kF64, budget).ok);
}

TEST(ErrorBudget, LeavesOutWhatIsNotFinite) {
  const Values truth = {1, 2, 1e5, kNan, kInf, 3};  // 1e5 is infinite in fp16
  const ErrorBudget budget = Anchored(truth, truth, kF16);
  EXPECT_EQ(budget.BlockMax(0), 0);
  EXPECT_NEAR(budget.OutputStd(), 1, 1e-12);
  ErrorBudget integers;
  integers.AddAnchor(Pool(), Encode({1, 2}, kI64).data(), kI64, 2, truth.data());
  EXPECT_EQ(integers.anchors(), 0);
}

// 64 sums of 4,096 products, as a matrix product computes them.
struct Product {
  Values a, b;
  template <typename Round>
  Values Sums(int64_t step, Round round) const {  // in fp32, `step` interleaved partial sums
    Values sums;
    for (int64_t row = 0; row < 64; ++row) {
      std::vector<float> partial(step, 0.0f);
      for (int64_t k = 0; k < 4096; ++k) {
        partial[k % step] += static_cast<float>(round(a[row * 4096 + k])) * static_cast<float>(round(b[k]));
      }
      sums.push_back(std::accumulate(partial.begin(), partial.end(), 0.0f));
    }
    return sums;
  }
  Values Truth() const {
    Values sums(64, 0);
    for (int64_t i = 0; i < 64 * 4096; ++i) {
      sums[i / 4096] += double{static_cast<float>(a[i])} * static_cast<float>(b[i % 4096]);
    }
    return sums;
  }
};

TEST(Compare, HonestRoundingPassesAndHalfPrecisionDoesNot) {
  const Product product = {Normal(64 * 4096, 0, 1, 18), Normal(4096, 0, 1, 19)};
  const auto exact = [](double value) { return value; };
  const auto half = [](double value) { return DecodeHalf(EncodeHalf(value)); };
  const Values reference = product.Sums(16, exact);
  const ErrorBudget budget = Anchored(reference, product.Truth());
  const Tolerance strict = {.rtol = 1e-4, .rtol_rms = 2e-5};
  for (const int64_t step : {4, 8, 32, 64}) {
    const CompareResult result = CompareValues(product.Sums(step, exact), reference, kF32, budget, strict);
    EXPECT_TRUE(result.ok) << step << ": " << result.worst;
  }
  const CompareResult result = CompareValues(product.Sums(16, half), reference, kF32, budget, strict);
  EXPECT_FALSE(result.ok);
  EXPECT_GT(result.worst, 2);
}

// Elements of one or two bytes that round to the other neighbour: single ones pass, many do not.
TEST(Compare, SingleElementsMayRoundToTheOtherNeighbour) {
  struct Format {
    kb_dtype dtype;
    int mantissa, bias;
  };
  const Format formats[] = {
      {kBf16, 7, 127}, {kF16, 10, 15}, {{KB_FLOAT8_E4M3FN, 8, 1}, 3, 7}, {{KB_FLOAT8_E5M2, 8, 1}, 2, 15}};
  for (const Format& format : formats) {
    SCOPED_TRACE(testing::Message() << int{format.dtype.code} << " " << int{format.dtype.bits});
    const size_t size = 64 * 1024, bytes = format.dtype.bits / 8;
    std::vector<uint16_t> bits;
    Values truth;
    for (const double value : Normal(size, 0, 10, 23)) {
      const int exponent = std::max(std::ilogb(value), 1 - format.bias);
      const double digits = std::nearbyint(std::ldexp(std::fabs(value), format.mantissa - exponent));
      const int magnitude =
          ((exponent + format.bias) << format.mantissa) + static_cast<int>(digits) - (1 << format.mantissa);
      bits.push_back(static_cast<uint16_t>(magnitude | (value < 0 ? 1 << (format.dtype.bits - 1) : 0)));
      truth.push_back(std::copysign(std::ldexp(digits, exponent - format.mantissa), value));
    }
    const auto encode = [&](const std::vector<uint16_t>& numbers) {
      std::vector<char> encoded;
      for (uint16_t number : numbers) {
        for (size_t byte = 0; byte < bytes; ++byte) encoded.push_back(static_cast<char>(number >> (8 * byte)));
      }
      return encoded;
    };
    const std::vector<char> expected = encode(bits);
    ErrorBudget budget;
    budget.AddAnchor(Pool(), expected.data(), format.dtype, size, truth.data());
    const auto compare = [&](const std::vector<uint16_t>& numbers) {
      return CompareBytes(encode(numbers), expected, format.dtype, budget, {.rtol = 1e-4, .rtol_rms = 2e-5});
    };
    const size_t largest = std::max_element(truth.begin(), truth.end()) - truth.begin();
    std::vector<uint16_t> got = bits;
    for (size_t i = 5; i < size; i += 1024) ++got[i];  // one in each block
    EXPECT_TRUE(compare(got).ok) << compare(got).worst;
    got = bits;
    --got[largest];
    EXPECT_TRUE(compare(got).ok) << compare(got).worst;
    got[largest] -= 2;
    EXPECT_EQ(compare(got).wrong, 1) << "three steps";
    for (const size_t every : {1, 8}) {
      got = bits;
      for (size_t i = 0; i < size; i += every) --got[i];
      EXPECT_EQ(compare(got).blocks_wrong, 64) << every;
    }
  }
}

// The rule as its documentation states it, element after element, in the plainest way.
struct Plain {
  bool ok = true;
  int64_t wrong = 0, blocks_wrong = 0, non_finite = 0;
  double worst = 0;
};

Plain PlainCompare(const Values& got, const Values& expected, const Values& reference, const Values& truth,
                   const Tolerance& tolerance) {
  const auto finite = [](double value) { return std::isfinite(value); };
  Values all, valid_truth;
  for (double value : expected) {
    if (finite(value)) all.push_back(value);
  }
  for (size_t i = 0; i < truth.size(); ++i) {
    if (finite(truth[i]) && finite(reference[i])) valid_truth.push_back(truth[i]);
  }
  const auto rms_of = [](const Values& values) {
    double sum = 0;
    for (double value : values) sum += value * value;
    return values.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(values.size()));
  };
  const Values& spread_of = truth.empty() ? all : valid_truth;
  const double mean = std::accumulate(spread_of.begin(), spread_of.end(), 0.0) / static_cast<double>(spread_of.size());
  Values centred = spread_of;
  for (double& value : centred) value -= mean;
  const double n = static_cast<double>(centred.size());
  const double spread = rms_of(centred) * std::sqrt(n / std::max(1.0, n - 1)), cap = tolerance.cap * spread;
  const auto floor_of = [&](double relative, double scale) {
    const double counted = n < 16 ? scale : std::min(scale, 20 * spread);
    return std::max(relative * counted, std::min(relative, 0x1p-51) * scale);
  };
  Plain plain;
  for (size_t begin = 0; begin < got.size(); begin += 1024) {
    const size_t end = std::min(got.size(), begin + 1024);
    Values errors, magnitudes, own;
    int64_t bad = 0;
    for (size_t i = begin; i < end; ++i) {
      if (finite(expected[i])) magnitudes.push_back(expected[i]);
      if (finite(expected[i]) && finite(got[i]))
        errors.push_back(std::fabs(got[i] - expected[i]));
      else if (!(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))))
        ++bad;
      if (!truth.empty() && finite(reference[i]) && finite(truth[i])) own.push_back(std::fabs(reference[i] - truth[i]));
    }
    const double own_max = own.empty() ? 0 : *std::max_element(own.begin(), own.end());
    const double scale = std::max(rms_of(magnitudes), 1e-6 * rms_of(all));
    double allowed_rms = std::max((tolerance.rms_factor + 1) * rms_of(own), floor_of(tolerance.rtol_rms, scale));
    double allowed_max = std::max((tolerance.max_factor + 1) * own_max, floor_of(tolerance.rtol, scale));
    allowed_rms = std::min(allowed_rms, cap);
    allowed_max = std::min(allowed_max, cap);
    const double max = errors.empty() ? 0 : *std::max_element(errors.begin(), errors.end());
    const bool by_max = max > allowed_max;
    const bool by_rms = rms_of(errors) > allowed_rms;
    plain.worst = std::max({plain.worst, max / allowed_max, rms_of(errors) / allowed_rms, bad > 0 ? kInf : 0.0});
    plain.blocks_wrong += bad > 0 || by_max || by_rms;
    plain.non_finite += bad;
    plain.wrong += bad;
    const double limit = by_rms && !by_max ? allowed_rms : allowed_max;
    for (double error : errors) plain.wrong += error > limit;
  }
  plain.ok = plain.blocks_wrong == 0;
  return plain;
}

TEST(Compare, AgreesWithThePlainWay) {
  std::mt19937_64 random(20);
  int rejected = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const int64_t size = 2 + static_cast<int64_t>(random() % 5000);
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    const double magnitude = std::pow(10, 8 * uniform() - 4);
    const double offset = trial % 7 == 0 ? 1000 : uniform();
    Values truth = Normal(size, offset * magnitude, magnitude, random());
    if (trial % 3 == 0) truth[random() % size] = trial % 2 ? kNan : kInf;
    const double own = magnitude * std::pow(10, -6 + 6 * uniform());
    const Values reference = Plus(truth, Normal(size, 0, own, random()));
    const double error = std::max(own, 1e-5 * magnitude) * (0.3 + 4 * uniform());
    Values got = Plus(reference, Normal(size, 0, error, random()));
    if (trial % 5 == 0) got[random() % size] = uniform() < 0.5 ? kNan : kInf;
    const Tolerance tolerance = {.rtol = 1e-4, .rtol_rms = 2e-5};
    const bool anchored = trial % 4 != 0;
    const ErrorBudget budget = anchored ? Anchored(reference, truth, kF64) : ErrorBudget();
    const CompareResult result = CompareValues(got, reference, kF64, budget, tolerance);
    const Plain plain =
        PlainCompare(got, reference, anchored ? reference : Values(), anchored ? truth : Values(), tolerance);
    ASSERT_EQ(result.ok, plain.ok) << trial;
    ASSERT_EQ(result.wrong, plain.wrong) << trial;
    ASSERT_EQ(result.blocks_wrong, plain.blocks_wrong) << trial;
    ASSERT_EQ(result.non_finite, plain.non_finite) << trial;
    if (std::isinf(plain.worst)) {
      ASSERT_EQ(result.worst, plain.worst);
    } else {
      // A block's variance is its mean square less its mean's, each rounded to a double: of a spread that is small
      // beside the mean as many digits are lost.
      const double lost = 16 * 0x1p-52 * std::max(1.0, offset * offset);
      ASSERT_NEAR(result.worst, plain.worst, (1e-9 + lost) * plain.worst) << trial;
    }
    ASSERT_EQ(HistogramSum(result), plain.ok ? 0 : size);
    rejected += !plain.ok;
  }
  EXPECT_GT(rejected, 80);
  EXPECT_LT(rejected, 320);
}

}  // namespace
}  // namespace kb

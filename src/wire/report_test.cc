#include "wire/report.h"

#include <gtest/gtest.h>

#include <random>

#include "wire/doorbell.h"

namespace kb {
namespace {

Report Sample() {
  Report report;
  report.status = ReportStatus::kRaised;
  report.state_differs = true;
  report.text = "ValueError: no";
  report.outputs = {{{KB_FLOAT, 32, 1}, {2, 3}}, {{KB_INT, 64, 1}, {}}};
  report.kernels = {{"relu<float>(float*)", 3, 4500, {108, 1, 1}, {256, 1, 1}, 40, 1024, 0, 8}, {"", 70, 99}};
  report.kernels_span_ns = 5000;
  return report;
}

TEST(Report, SurvivesTheTrip) {
  const auto back = DecodeReport(EncodeReport(Sample()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->status, ReportStatus::kRaised);
  EXPECT_TRUE(back->state_differs);
  EXPECT_EQ(back->text, "ValueError: no");
  ASSERT_EQ(back->outputs.size(), 2u);
  EXPECT_EQ(back->outputs[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(back->outputs[1].dtype.code, KB_INT);
  ASSERT_EQ(back->kernels.size(), 2u);
  EXPECT_EQ(back->kernels[0].name, "relu<float>(float*)");
  EXPECT_EQ(back->kernels[0].calls, 3u);
  EXPECT_EQ(back->kernels[0].total_ns, 4500u);
  EXPECT_EQ(back->kernels[0].grid[0], 108u);
  EXPECT_EQ(back->kernels[0].block[0], 256u);
  EXPECT_EQ(back->kernels[0].local, 8u);
  EXPECT_EQ(back->kernels[1].calls, 70u);
  EXPECT_EQ(back->kernels_span_ns, 5000u);
}

// 65,000 bytes are what module_runner.py allows.
TEST(Report, WhatIsAskedForFitsWhole) {
  const Report lacking{.status = ReportStatus::kLacksExtension, .text = std::string(65'000, 'x')};
  const std::string bytes = EncodeReport(lacking);
  const auto back = DecodeReport(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->status, ReportStatus::kLacksExtension);
  EXPECT_EQ(back->text, lacking.text);
  std::string unknown = bytes;
  unknown[4] = static_cast<char>(static_cast<int>(ReportStatus::kLacksExtension) + 1);
  EXPECT_FALSE(DecodeReport(unknown));
}

TEST(Report, LongTextIsCutAtItsFront) {
  Report report = Sample();
  report.text = std::string(200'000, 'x') + "end";
  const std::string bytes = EncodeReport(report);
  EXPECT_LE(bytes.size(), kReportCapacity);
  const auto back = DecodeReport(bytes);
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->text.ends_with("xend"));
}

TEST(Report, EveryTruncationIsRefused) {
  const std::string bytes = EncodeReport(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(DecodeReport(bytes.substr(0, size))) << size;
  EXPECT_FALSE(DecodeReport(bytes + "x"));
}

TEST(Report, ImpossibleFieldsAreRefused) {
  const std::string good = EncodeReport(Sample());
  const auto with = [&](size_t at, unsigned char value) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(value);
    return bytes;
  };
  EXPECT_FALSE(DecodeReport(with(0, 0)));     // magic
  EXPECT_FALSE(DecodeReport(with(4, 200)));   // status
  EXPECT_FALSE(DecodeReport(with(5, 2)));     // a bool that is neither
  EXPECT_FALSE(DecodeReport(with(9, 0xff)));  // text longer than the message
  Report negative = Sample();
  negative.outputs[0].shape[0] = -1;
  EXPECT_FALSE(DecodeReport(EncodeReport(negative)));
  Report named;
  named.kernels = {{std::string(kMaxKernelName, 'k')}};
  std::string bytes = EncodeReport(named);
  const size_t kernels_at = EncodeReport(Report{}).size() - 10;  // number of kernels, then their span
  ASSERT_TRUE(DecodeReport(bytes));
  bytes[kernels_at + 2] = static_cast<char>(kMaxKernelName + 1);  // a name longer than any
  EXPECT_FALSE(DecodeReport(bytes));
  bytes[kernels_at] = static_cast<char>(kMaxKernels + 1);
  EXPECT_FALSE(DecodeReport(bytes));
}

TEST(Report, AsManyKernelsAsThereMayBeLeaveRoomForText) {
  Report report = Sample();
  report.kernels.assign(kMaxKernels, {std::string(kMaxKernelName, 'k'), 1, 1});
  report.text = std::string(20'000, 'x');
  const auto back = DecodeReport(EncodeReport(report));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kernels.size(), kMaxKernels);
  EXPECT_EQ(back->text.size(), 20'000u);
}

TEST(Report, NoiseNeverCrashesTheDecoder) {
  std::mt19937 random(1);
  const std::string good = EncodeReport(Sample());
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 4; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (const auto report = DecodeReport(bytes)) {
      ++accepted;
      EXPECT_LE(report->outputs.size(), size_t{kMaxOutputs});
      EXPECT_LE(report->kernels.size(), kMaxKernels);
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace kb

#include "wire/report.h"

#include <gtest/gtest.h>

#include <random>

#include "wire/doorbell.h"

namespace kb {
namespace {

Report Sample() {
  Report report;
  report.status = ReportStatus::kRaised;
  report.state_copied = true;
  report.elapsed_ns = 12345;
  report.text = "ValueError: no";
  report.outputs = {{{KB_FLOAT, 32, 1}, {2, 3}}, {{KB_INT, 64, 1}, {}}};
  return report;
}

TEST(Report, SurvivesTheTrip) {
  const auto back = DecodeReport(EncodeReport(Sample()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->status, ReportStatus::kRaised);
  EXPECT_TRUE(back->state_copied);
  EXPECT_EQ(back->elapsed_ns, 12345u);
  EXPECT_EQ(back->text, "ValueError: no");
  ASSERT_EQ(back->outputs.size(), 2u);
  EXPECT_EQ(back->outputs[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(back->outputs[1].dtype.code, KB_INT);
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
  EXPECT_FALSE(DecodeReport(with(0, 0)));      // magic
  EXPECT_FALSE(DecodeReport(with(4, 200)));    // status
  EXPECT_FALSE(DecodeReport(with(5, 2)));      // a bool that is neither
  EXPECT_FALSE(DecodeReport(with(17, 0xff)));  // text longer than the message
  Report negative = Sample();
  negative.outputs[0].shape[0] = -1;
  EXPECT_FALSE(DecodeReport(EncodeReport(negative)));
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
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace kb

#include "audit/mechanical_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace kb {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(StreamFindings, RulesAboutStreamsAndThreadsAndNoOthers) {
  const auto with = [](const char* rule) {
    return json{
        {"evidence",
         {{"static_findings",
           {{{"rule", rule}, {"line", 12}, {"reason", "it is made here"}, {"excerpt", "cudaStreamCreate(&s);"}}}}}}};
  };
  const auto findings = StreamFindings(with("stream_injection"));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].audit, "streams");
  EXPECT_EQ(findings[0].where, "line 12");
  EXPECT_EQ(findings[0].evidence, "cudaStreamCreate(&s);");
  EXPECT_THAT(StreamFindings(with("native_threads")), SizeIs(1));
  EXPECT_THAT(StreamFindings(with("file_access")), IsEmpty());
  EXPECT_THAT(StreamFindings(json::object()), IsEmpty());
}

TEST(AuthorshipFindings, ALibrarysWork) {
  json evaluation = {
      {"authorship",
       {{"class", "mixed"}, {"library", 0.4}, {"by_object", {{{"object", "libtorch.so"}, {"share", 0.4}}}}}}};
  const auto findings = AuthorshipFindings(evaluation);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].says, HasSubstr("40"));
  EXPECT_THAT(findings[0].evidence, HasSubstr("libtorch.so"));
  evaluation["authorship"]["class"] = "custom";
  EXPECT_THAT(AuthorshipFindings(evaluation), IsEmpty());
  EXPECT_THAT(AuthorshipFindings({{"authorship", nullptr}}), IsEmpty());
}

TEST(HeldOutFindings, WhatIsNotCorrectAtAnotherSize) {
  HeldOut wrong{"odd", "incorrect", "element 7 is 0", {}, true}, right{"small", "correct", "", 1.5, false};
  const auto findings = HeldOutFindings(std::vector{right, wrong});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].says, HasSubstr("at the size odd it is incorrect"));
  EXPECT_EQ(findings[0].evidence, "element 7 is 0");
  EXPECT_THAT(HeldOutFindings(std::vector{right}), IsEmpty());
  const auto again = HeldOut::FromJson(wrong.ToJson());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->ToJson(), wrong.ToJson());
  EXPECT_FALSE(HeldOut::FromJson(json("x")));
}

TEST(OtherSize, TheOddOneElseTheFirstOther) {
  EXPECT_EQ(OtherSize({"standard", "small", "odd"}, "standard"), "odd");
  EXPECT_EQ(OtherSize({"standard", "small", "odd"}, "odd"), "standard");
  EXPECT_EQ(OtherSize({"standard", "small"}, "standard"), "small");
  EXPECT_EQ(OtherSize({"standard"}, "standard"), "");
}

Shingles Range(uint64_t from, uint64_t to) {
  Shingles shingles(to - from);
  std::iota(shingles.begin(), shingles.end(), from);
  return shingles;
}

TEST(SimilarFindings, TheMostAlikeIsNamed) {
  const Shingles own = Range(0, 100);
  const std::vector<EarlierSolution> earlier = {
      {"another", Range(90, 200)}, {"run a", Range(0, 130)}, {"run b", Range(5, 100)}};
  const auto findings = SimilarFindings(own, {}, earlier);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].evidence, "run b");
  EXPECT_THAT(findings[0].says, HasSubstr("95"));
  EXPECT_THAT(findings[0].says, HasSubstr("1 others"));
  EXPECT_THAT(SimilarFindings(own, {}, std::vector{earlier[0]}), IsEmpty());
  EXPECT_THAT(SimilarFindings(own, Range(0, 60), earlier), IsEmpty()) << "what is left is too short";
  EXPECT_THAT(SimilarFindings(Range(0, 10), {}, std::vector<EarlierSolution>{{"x", Range(0, 10)}}), IsEmpty());
}

TEST(TranscriptFindings, MarksButIntentsAndNotWithoutEnd) {
  std::vector<TranscriptMark> marks(25, {MarkKind::kOutside, 4, 1, "bash", "/root/x", "cat /root/x"});
  marks.push_back({MarkKind::kIntent, 4, 0, "", "tolerance", "the tolerance"});
  const auto findings = TranscriptFindings(marks);
  ASSERT_THAT(findings, SizeIs(21));
  EXPECT_EQ(findings[0].where, "turn 4, call 1 (bash)");
  EXPECT_EQ(findings[0].evidence, "cat /root/x");
  EXPECT_THAT(findings[20].says, HasSubstr("5 more"));
  EXPECT_THAT(FindingsText(findings), HasSubstr("- outside, turn 4, call 1 (bash): it names a path"));
  EXPECT_EQ(FindingsText({}), "none\n");
}

}  // namespace
}  // namespace kb

#include "generate/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generate/transcript_test_util.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(TranscriptTest, ResultsGoToTheirCalls) {
  const Transcript transcript = WholeEpisode().Read();
  ASSERT_EQ(transcript.turns.size(), 4u);
  const TranscriptTurn& first = transcript.turns[0];
  ASSERT_EQ(first.calls.size(), 2u);
  EXPECT_EQ(first.calls[0].result->text, "TASK.md\nreference.py");
  EXPECT_TRUE(first.calls[1].result->is_error);
  EXPECT_EQ(first.follows, "9 turns left");
  EXPECT_TRUE(transcript.turns[3].calls[1].parsed.is_null()) << "broken JSON";
}

TEST(TranscriptTest, IdsThatAModelRepeatsAreTakenInTheirOrder) {
  SampleEpisode sample;
  const json call = {{"id", "x"}, {"name", "bash"}, {"arguments", "{}"}};
  sample.Add({{"calls", {call, call}}}, {{"results",
                                          {{{"call_id", "x"}, {"text", "first"}},
                                           {{"call_id", "x"}, {"text", "second"}},
                                           {{"call_id", "y"}, {"text", "of none"}}}}});
  const TranscriptTurn turn = sample.Read().turns[0];
  EXPECT_EQ(turn.calls[0].result->text, "first");
  EXPECT_EQ(turn.calls[1].result->text, "second");
  ASSERT_EQ(turn.other_results.size(), 1u);
  EXPECT_EQ(turn.other_results[0].text, "of none");
}

TEST(TranscriptTest, WhatIsStoredMayHoldAnything) {
  for (const char* text : {"", "no JSON", "[]", "7", "{\"calls\": 7, \"text\": [], \"results\": {}}",
                           "{\"calls\": [7, {\"id\": 3}], \"results\": [[], {\"seconds\": \"x\", \"is_error\": 1}]}"}) {
    SampleEpisode sample;
    sample.Add({}, {});
    sample.turns[0].answer = sample.turns[0].results = sample.turns[0].context = sample.episode.opening = text;
    sample.verdicts.push_back({.turn = 1, .view = text});
    const Transcript transcript = sample.Read();
    EXPECT_EQ(transcript.turns[0].text, "") << text;
    EXPECT_EQ(TurnJson(transcript.turns[0], true).at("raw"), "") << text;
    EXPECT_EQ(EpisodeJson(transcript).at("messages"), json::array()) << text;
  }
}

TEST(TranscriptTest, ArgumentsThatNestWithoutEndAreNoJson) {
  const std::string deep(1'000'000, '[');
  SampleEpisode sample;
  sample.Add({{"calls", {{{"id", "a"}, {"name", "bash"}, {"arguments", deep + std::string(deep.size(), ']')}}}}}, {});
  EXPECT_TRUE(sample.Read().turns[0].calls[0].parsed.is_null());
}

TEST(TranscriptTest, FilesSayHowManyLinesATurnChanged) {
  SampleEpisode sample;
  for (int i = 0; i < 4; ++i) sample.Add({}, {});
  sample.File(0, "TASK.md", "task\n");
  sample.File(1, "a.py", "one\ntwo\n");
  sample.File(2, "TASK.md", "another\ntask\n");
  sample.File(2, "a.py", "one\n2\n3\n");
  sample.Remove(3, "a.py");
  sample.Remove(3, "unknown");
  sample.File(3, "core", std::string("\0\n", 2));
  sample.File(4, "a.py", "again\n");
  sample.contents.erase(Sha256("again\n"));
  const Transcript transcript = sample.Read();
  const auto changes = [&](int turn) {
    std::vector<std::string> texts;
    for (const FileChange& file : transcript.turns[turn - 1].files) {
      std::string text = file.path + " " + file.change;
      if (file.added) text += " +" + std::to_string(*file.added) + " -" + std::to_string(*file.removed);
      texts.push_back(text);
    }
    return texts;
  };
  EXPECT_THAT(changes(1), ElementsAre("a.py made +2 -0"));
  EXPECT_THAT(changes(2), ElementsAre("TASK.md changed +1 -0", "a.py changed +2 -1"));
  EXPECT_THAT(changes(3), ElementsAre("a.py removed +0 -3", "unknown removed", "core made"));
  EXPECT_THAT(changes(4), ElementsAre("a.py made")) << "its text is not in the store";
}

TEST(TranscriptTest, Sums) {
  const TranscriptTotals totals = TotalsOf(WholeEpisode().Read());
  EXPECT_EQ(totals.turns, 4);
  EXPECT_EQ(totals.condensed, 1);
  EXPECT_THAT(totals.calls, ElementsAre(Pair("bash", 1), Pair("edit_file", 1), Pair("evaluate", 1), Pair("list", 1),
                                        Pair("submit", 1), Pair("write_file", 1)));
  EXPECT_EQ(totals.failed_calls, 2);
  EXPECT_EQ(totals.Prompt(), 4 * 1120);
  EXPECT_EQ(totals.cache_read, 4000);
  EXPECT_DOUBLE_EQ(*totals.usd, 1.0);
  EXPECT_EQ(totals.lost_tokens, 900);
  EXPECT_DOUBLE_EQ(totals.device_seconds, 2.5);
  EXPECT_EQ(totals.evaluations, 1);
}

TEST(TranscriptTest, ATurnWithoutAnswerCostsNothingAndOneWithoutPriceHidesTheSum) {
  SampleEpisode sample = WholeEpisode();
  Turn& asked = sample.Add({}, {});
  asked.state = "asked";
  asked.input = asked.cache_read = asked.cache_write = asked.output = asked.reasoning_tokens = std::nullopt;
  asked.cost_usd.reset();
  EXPECT_DOUBLE_EQ(*TotalsOf(sample.Read()).usd, 1.0);
  EXPECT_EQ(TotalsOf(sample.Read()).without_usage, 0);
  asked.state = "answered";
  EXPECT_FALSE(TotalsOf(sample.Read()).usd);
  EXPECT_EQ(TotalsOf(sample.Read()).without_usage, 1);
}

TEST(TranscriptTest, TheBestOnTheWayIsTheFastestCorrectOne) {
  SampleEpisode sample = WholeEpisode();
  EXPECT_DOUBLE_EQ(*BestVerdict(sample.Read())->speedup, 1.31);
  sample.verdicts.push_back({.turn = 4, .tool = "evaluate", .verdict = "tampered", .speedup = 9.0});
  sample.verdicts.push_back({.turn = 4, .tool = "evaluate", .verdict = "correct"});
  EXPECT_DOUBLE_EQ(*BestVerdict(sample.Read())->speedup, 1.31);
  EXPECT_EQ(BestVerdict(SampleEpisode().Read()), nullptr);
  sample.verdicts.erase(sample.verdicts.begin());
  EXPECT_EQ(BestVerdict(sample.Read())->turn, 4) << "correct, and not timed";
}

TEST(TranscriptTest, JsonOfATurnAndOfTheEnd) {
  Transcript transcript = WholeEpisode().Read();
  const json turn = TurnJson(transcript.turns[1], false);
  EXPECT_EQ(turn.at("turn"), 2);
  EXPECT_EQ(turn.at("calls").at(1).at("name"), "evaluate");
  EXPECT_EQ(turn.at("calls").at(1).at("result").at("text"), "correct, 1.31x");
  EXPECT_EQ(turn.at("verdicts").at(0).at("call"), 1);
  EXPECT_EQ(turn.at("verdicts").at(0).at("speedup_interval"), (json{1.2, 1.4}));
  EXPECT_EQ(turn.at("files").at(0).at("added"), 3);
  EXPECT_EQ(turn.at("context"), nullptr);
  EXPECT_FALSE(turn.contains("raw"));
  EXPECT_EQ(TurnJson(transcript.turns[0], true).at("raw"), "{}");
  EXPECT_EQ(TurnJson(transcript.turns[3], false).at("context").at("shrunk_before"), 2);
  const json episode = EpisodeJson(transcript);
  EXPECT_EQ(episode.at("harness"), nullptr);
  EXPECT_EQ(episode.at("messages").at(0).at("role"), "user");
  json end = EndJson(transcript);
  EXPECT_EQ(end.at("ended_by"), "turns");
  EXPECT_EQ(end.at("submitted"), nullptr);
  EXPECT_EQ(end.at("best").at("turn"), 2);
  transcript.submitted = GenerationAnswer{.source_sha256 = "abc", .language = "py"};
  transcript.evaluation = {{"id", "e"}, {"verdict", "correct"}, {"reason", ""}, {"speedup", 1.25}};
  end = EndJson(transcript);
  EXPECT_EQ(end.at("submitted").at("speedup"), 1.25);
  EXPECT_EQ(end.at("submitted").at("speedup_interval"), nullptr);
}

}  // namespace
}  // namespace kb

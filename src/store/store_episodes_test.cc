// What agents did, in the store: each turn is in one state, whoever dies.
#include <gmock/gmock.h>

#include "store/store_episodes_test_util.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST_F(EpisodesTest, AnEpisodeIsBegunOnceAndEnds) {
  const int64_t request = Claim(store_);
  EXPECT_FALSE(store_.FindEpisode(request).value());
  ExpectStoreError(store_.AskTurn(request, kMe, Asked(1)), "no episode");
  ExpectStoreError(store_.EndEpisode(request, kMe, "submit", ""), "no episode");
  const Episode begun =
      store_.BeginEpisode(kMe, {.request = request, .harness = "h", .opening = R"({"system":"s"})"}).value();
  EXPECT_EQ(begun.opening, R"({"system":"s"})");
  EXPECT_NE(begun.created, "");
  const std::vector<TurnFile> later = {File("later", "x")};
  EXPECT_EQ(store_.BeginEpisode(kMe, {.request = request, .opening = R"({"system":"other"})"}, later)->opening,
            begun.opening);
  EXPECT_THAT(store_.TurnFiles(request).value(), IsEmpty()) << "it had begun";
  ASSERT_TRUE(store_.EndEpisode(request, kMe, "usd", "it was too dear"));
  const Episode ended = store_.FindEpisode(request).value().value();
  EXPECT_EQ(ended.harness, "h");
  EXPECT_EQ(ended.ended_by, "usd");
  EXPECT_EQ(ended.ending, "it was too dear");
  ExpectStoreError(store_.AskTurn(request, kMe, Asked(1)), "has ended");
  ASSERT_TRUE(store_.EndEpisode(request, kMe, "", ""));
  EXPECT_TRUE(store_.AskTurn(request, kMe, Asked(1)));
}

TEST_F(EpisodesTest, ATurnGoesThroughItsStatesInOrder) {
  const int64_t request = Begin();
  ExpectStoreError(store_.AskTurn(request, kMe, Asked(2)), "the next is 1");
  const int64_t id = store_.AskTurn(request, kMe, Asked(1)).value();
  ExpectStoreError(store_.FinishTurn(id, kMe, Done(), {}, {}), "turn 1 of request 1 is asked and not answered");
  ASSERT_TRUE(store_.AnswerTurn(id, kMe, Answered()));
  ExpectStoreError(store_.AnswerTurn(id, kMe, Answered()), "is answered and not asked");
  ExpectStoreError(store_.AskTurn(request, kMe, Asked(1)), "has been answered");
  EXPECT_EQ(store_.Turns(request)->at(0).state, "answered");
  ASSERT_TRUE(store_.FinishTurn(id, kMe, Done(), {}, {}));
  ExpectStoreError(store_.FinishTurn(id, kMe, Done(), {}, {}), "is done and not answered");
  ExpectStoreError(store_.AnswerTurn(id + 1, kMe, Answered()), "no turn");
  Work(request, 2);

  const std::vector<Turn> turns = store_.Turns(request).value();
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[1].number, 2);
  const Turn& turn = turns[0];
  EXPECT_EQ(turn.id, id);
  EXPECT_EQ(turn.request, request);
  EXPECT_EQ(turn.kind, "work");
  EXPECT_EQ(turn.state, "done");
  EXPECT_EQ(turn.context, Asked(1).context);
  EXPECT_EQ(turn.answer, Answered().answer);
  EXPECT_EQ(turn.results, Done().results);
  EXPECT_EQ(turn.input, 10);
  EXPECT_EQ(turn.cache_read, 20);
  EXPECT_EQ(turn.cache_write, std::nullopt);
  EXPECT_EQ(turn.output, 5);
  EXPECT_EQ(turn.reasoning_tokens, std::nullopt);
  EXPECT_EQ(turn.cost_usd, 0.25);
  EXPECT_EQ(turn.price_source, "table");
  EXPECT_EQ(turn.calls, 2);
  EXPECT_EQ(turn.seconds, 1.5);
  EXPECT_EQ(turn.tool_seconds, 3.5);
}

TEST_F(EpisodesTest, AskedAgainItAddsWhatWasLost) {
  const int64_t request = Begin();
  const int64_t id = store_.AskTurn(request, kMe, Asked(1)).value();
  EXPECT_EQ(store_.AskTurn(request, kMe, Asked(1, 1)).value(), id);
  Turn last = Asked(1, 2);
  last.kind = "condense";
  last.context = R"({"drop":[2]})";
  EXPECT_EQ(store_.AskTurn(request, kMe, last).value(), id);
  const std::vector<Turn> turns = store_.Turns(request).value();
  ASSERT_EQ(turns.size(), 1u);
  EXPECT_EQ(turns[0].lost, 3);
  EXPECT_EQ(turns[0].lost_tokens, 3000);
  EXPECT_DOUBLE_EQ(turns[0].lost_usd, 1.5);
  EXPECT_EQ(turns[0].kind, "condense");
  EXPECT_EQ(turns[0].context, last.context) << "what the model is asked now";
}

TEST_F(EpisodesTest, AnAnswerAddsWhatWasLostBeforeIt) {
  const int64_t request = Begin();
  const int64_t id = store_.AskTurn(request, kMe, Asked(1, 1)).value();
  Turn answer = Answered();
  answer.lost = 2;
  answer.lost_tokens = 500;
  answer.lost_usd = 0.25;
  ASSERT_TRUE(store_.AnswerTurn(id, kMe, answer));
  const std::vector<Turn> turns = store_.Turns(request).value();
  EXPECT_EQ(turns.at(0).lost, 3);
  EXPECT_EQ(turns[0].lost_tokens, 1500);
  EXPECT_DOUBLE_EQ(turns[0].lost_usd, 0.75);
}

TEST_F(EpisodesTest, VerdictsMayFollowATurnThatIsDone) {
  const int64_t request = Begin();
  const std::vector<TurnVerdict> late = {Verdict("b", -1)};
  ExpectStoreError(store_.AddTurnVerdicts(request, kMe, 1, late), "turn 1 of request 1 is not done");
  Work(request, 1, {}, {Verdict("a")});
  ExpectStoreError(store_.AddTurnVerdicts(request, "another", 1, late), "was taken over");
  ASSERT_TRUE(store_.AddTurnVerdicts(request, kMe, 1, late));
  const std::vector<TurnVerdict> verdicts = store_.TurnVerdicts(request).value();
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[1].turn, 1);
  EXPECT_EQ(verdicts[1].call, -1);
  EXPECT_EQ(verdicts[1].source_sha256, Sha256("b"));
}

TEST_F(EpisodesTest, NobodyElseChangesIt) {
  const int64_t request = Begin();
  const int64_t id = store_.AskTurn(request, kMe, Asked(1)).value();
  const std::string said = "request 1 was taken over by another process";
  const auto all_fail = [&](const std::string& owner, const std::string& why) {
    ExpectStoreError(store_.BeginEpisode(owner, {.request = request}), why);
    ExpectStoreError(store_.AskTurn(request, owner, Asked(1, 1)), why);
    ExpectStoreError(store_.AnswerTurn(id, owner, Answered()), why);
    ExpectStoreError(store_.FinishTurn(id, owner, Done(), {}, {}), why);
    ExpectStoreError(store_.EndEpisode(request, owner, "usd", ""), why);
  };
  all_fail("another", said);
  ASSERT_TRUE(store_.GiveUpRequest(request, kMe, "busy", true));
  all_fail(kMe, "request 1 is queued");
  all_fail("", "request 1 is queued");
  ExpectStoreError(store_.BeginEpisode(kMe, {.request = 77}), "no request 77");
  EXPECT_EQ(store_.Turns(request)->at(0).lost, 0);
  EXPECT_EQ(store_.Turns(request)->at(0).state, "asked");
  EXPECT_EQ(store_.FindEpisode(request).value()->ended_by, "");

  EXPECT_EQ(Claim(store_), request);
  EXPECT_EQ(store_.AskTurn(request, kMe, Asked(1, 1)).value(), id) << "it goes on in the same turn";
}

TEST_F(EpisodesTest, AnAnswerEndsARowOfRefusals) {
  const int64_t request = Begin(0, "");
  EXPECT_EQ(store_.CountRefusal(request, kMe).value(), 1);
  EXPECT_EQ(store_.CountRefusal(request, kMe).value(), 2);
  Turn lost = Answered();
  lost.calls = 0;
  ASSERT_TRUE(store_.AnswerTurn(store_.AskTurn(request, kMe, Asked(1)).value(), kMe, lost));
  EXPECT_EQ(store_.CountRefusal(request, kMe).value(), 3) << "that was no answer";
  ASSERT_TRUE(store_.AnswerTurn(store_.AskTurn(request, kMe, Asked(2)).value(), kMe, Answered()));
  EXPECT_EQ(store_.CountRefusal(request, kMe).value(), 1);
  ExpectStoreError(store_.CountRefusal(request, "other"), "");
  ExpectStoreError(store_.CountRefusal(Claim(store_, 1), kMe), "no episode");
}

// A program is started anew by each command, and asks what was answered before, too.
TEST_F(EpisodesTest, OfAProgramItsEndEndsTheRow) {
  const int64_t request = Begin();
  EXPECT_EQ(store_.CountRefusal(request, kMe).value(), 1);
  Work(request, 1);
  EXPECT_EQ(store_.CountRefusal(request, kMe).value(), 2);
  ASSERT_TRUE(store_.EndEpisode(request, kMe, "turns", "its turns were over"));
  ASSERT_TRUE(store_.EndEpisode(request, kMe, "", ""));  // with more of them it goes on
  EXPECT_EQ(store_.CountRefusal(request, kMe).value(), 1);
}

TEST_F(EpisodesTest, WhatEndedSoIsReopened) {
  const auto answer = [&](int sample, const std::string& ended_by) {
    const int64_t request = Begin(sample);
    Work(request, 1, {File("a", "x")});
    EXPECT_TRUE(store_.EndEpisode(request, kMe, ended_by, "so it was"));
    const int64_t id = store_.AddAnswer(request, kMe, {}).value();
    EXPECT_TRUE(store_.SettleAnswer(id, kMe, "x", "py", "", true));
    return request;
  };
  const int64_t refused = answer(0, "model_error"), submitted = answer(1, "submit");
  ASSERT_TRUE(store_.ReleaseRequests("r"));
  EXPECT_EQ(store_.ReopenEpisodes("other", "model_error").value(), 0);
  EXPECT_EQ(store_.ReopenEpisodes("r", "model_error").value(), 1);
  EXPECT_EQ(store_.ReopenEpisodes("r", "model_error").value(), 0);
  EXPECT_EQ(Claim(store_), refused) << "it is to be had again";
  EXPECT_THAT(store_.AnswersTo(refused).value(), IsEmpty());
  EXPECT_EQ(store_.FindEpisode(refused).value()->ended_by, "");
  EXPECT_EQ(store_.CountRefusal(refused, kMe).value(), 1);
  EXPECT_EQ(store_.Turns(refused).value().size(), 1u);
  EXPECT_EQ(store_.FolderAfter(refused, 1).value().size(), 2u);
  EXPECT_EQ(store_.AnswersTo(submitted).value().size(), 1u);
  EXPECT_EQ(store_.FindEpisode(submitted).value()->ended_by, "submit");
}

TEST_F(EpisodesTest, ParallelCallsHaveTheirVerdicts) {
  const int64_t request = Begin();
  TurnVerdict fast = Verdict("fast", 1);
  fast.verdict = "correct";
  fast.speedup = 2.0;
  fast.low = 1.5;
  fast.high = 2.5;
  Work(request, 1, {}, {Verdict("first", 0, "compile"), fast, Verdict("fast", 1, "profile")});
  Work(request, 2, {}, {Verdict("fast")});
  const auto verdicts = store_.TurnVerdicts(request).value();
  ASSERT_EQ(verdicts.size(), 4u);
  EXPECT_EQ(verdicts[0].tool, "compile");
  EXPECT_EQ(verdicts[0].verdict, "");
  EXPECT_EQ(verdicts[0].speedup, std::nullopt);
  EXPECT_EQ(verdicts[1].turn, 1);
  EXPECT_EQ(verdicts[1].call, 1);
  EXPECT_EQ(verdicts[1].tool, "evaluate");
  EXPECT_EQ(verdicts[1].source_sha256, Sha256("fast"));
  EXPECT_EQ(verdicts[1].language, "cu");
  EXPECT_EQ(verdicts[1].verdict, "correct");
  EXPECT_EQ(verdicts[1].speedup, 2.0);
  EXPECT_EQ(verdicts[1].low, 1.5);
  EXPECT_EQ(verdicts[1].high, 2.5);
  EXPECT_EQ(verdicts[1].view, fast.view);
  EXPECT_EQ(verdicts[1].device_seconds, 2.5);
  EXPECT_EQ(verdicts[2].tool, "profile");
  EXPECT_EQ(verdicts[3].turn, 2);
  EXPECT_EQ(store_.Source(Sha256("first")).value(), "first");
}

TEST_F(EpisodesTest, AFolderIsWhatItsTurnsMadeOfIt) {
  const int64_t request = Begin();
  const std::string binary("\0\xff\xfe not text\n\0", 13);
  Work(request, 1, {File("a", "one"), File("dir/b", binary, 0755)});
  Work(request, 2);
  Work(request, 3, {Gone("a"), File("dir/b", "two", 0600)});
  Work(request, 4, {File("a", "again")});
  const auto after = [&](int turn) { return Texts(store_.FolderAfter(request, turn).value()); };
  EXPECT_THAT(after(0), ElementsAre(Pair("TASK.md", "task")));
  EXPECT_THAT(after(1), ElementsAre(Pair("TASK.md", "task"), Pair("a", "one"), Pair("dir/b", binary)));
  EXPECT_EQ(after(2), after(1));
  EXPECT_THAT(after(3), ElementsAre(Pair("TASK.md", "task"), Pair("dir/b", "two")));
  EXPECT_THAT(after(4), ElementsAre(Pair("TASK.md", "task"), Pair("a", "again"), Pair("dir/b", "two")));
  EXPECT_EQ(store_.FolderAfter(request, 1)->at(2).mode, 0755u);
  EXPECT_EQ(store_.FolderAfter(request, 4)->at(2).mode, 0600u);

  const auto files = store_.TurnFiles(request).value();
  ASSERT_EQ(files.size(), 6u);
  EXPECT_EQ(files[0].first, 0);
  EXPECT_EQ(files[3].first, 3);
  EXPECT_EQ(files[3].second.path, "a");
  EXPECT_EQ(files[3].second.sha256, "");
  EXPECT_EQ(files[4].second.sha256, Sha256("two"));
  EXPECT_EQ(files[4].second.contents, "");
}

TEST_F(EpisodesTest, WhatHasAnotherHashIsNotStored) {
  const int64_t request = Begin();
  const int64_t id = store_.AskTurn(request, kMe, Asked(1)).value();
  ASSERT_TRUE(store_.AnswerTurn(id, kMe, Answered()));
  TurnFile file = File("a", "one");
  file.contents = "two";
  TurnVerdict verdict = Verdict("one");
  verdict.source = "two";
  for (const Status& status : {store_.FinishTurn(id, kMe, Done(), std::vector{file}, {}),
                               store_.FinishTurn(id, kMe, Done(), {}, std::vector{verdict})}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kEngine);
    EXPECT_THAT(status.error().message, HasSubstr(Sha256("one")));
  }
  EXPECT_EQ(store_.Turns(request)->at(0).state, "answered") << "all or nothing";
  EXPECT_FALSE(store_.Source(Sha256("two")));
}

TEST_F(EpisodesTest, SpentCountsTurnsUntilTheirAnswerIsThere) {
  const int64_t open = Begin(0), other = Begin(1), idle = Begin(2);
  ASSERT_TRUE(store_.AskTurn(idle, kMe, Asked(1)));
  Work(open, 1, {}, {Verdict("a"), Verdict("b"), Verdict("b", 0, "profile")});
  const int64_t id = store_.AskTurn(open, kMe, Asked(2)).value();
  store_.AskTurn(open, kMe, Asked(2, 1)).value();
  Turn unknown = Answered();
  unknown.input = std::nullopt;
  unknown.cost_usd = std::nullopt;
  ASSERT_TRUE(store_.AnswerTurn(id, kMe, unknown));
  ASSERT_TRUE(store_.AskTurn(other, kMe, Asked(1, 1)));

  const GenerationSpent before = store_.Spent("r").value();
  EXPECT_EQ(before.answers, 2) << "what has taken nothing is none";
  EXPECT_EQ(before.input, (30 + 20 + 1000) + 1000);
  EXPECT_EQ(before.output, 10);
  EXPECT_EQ(before.without_usage, 1);
  EXPECT_EQ(before.without_cost, 1);
  EXPECT_DOUBLE_EQ(before.usd, (0.25 + 0.5) + 0.5);
  EXPECT_EQ(before.evaluations, 3);
  EXPECT_EQ(store_.Spent("r", "m")->input, before.input);
  EXPECT_EQ(store_.Spent("r", "another")->answers, 0);
  EXPECT_EQ(store_.Spent("r", "another")->evaluations, 0);
  EXPECT_EQ(store_.Spent("elsewhere")->input, 0);

  GenerationAnswer answer;
  answer.input = 7;
  answer.output = 1;
  answer.cost_usd = 4;
  const int64_t stored = store_.AddAnswer(open, kMe, answer).value();
  ASSERT_TRUE(store_.SettleAnswer(stored, kMe, "b", "cu", "", true));
  ASSERT_TRUE(store_.Add(RunEvaluation("e")));
  ASSERT_TRUE(store_.AddJobs("r", std::vector<Job>{QueuedJob(0)}));
  ASSERT_TRUE(store_.ClaimJob(1, kMe).value());
  ASSERT_TRUE(store_.FinishJob(1, kMe, RunEvaluation("f")).value());
  const GenerationSpent after = store_.Spent("r").value();
  EXPECT_EQ(after.answers, 2);
  EXPECT_EQ(after.input, 7 + 1000);
  EXPECT_EQ(after.output, 1);
  EXPECT_EQ(after.without_usage, 0);
  EXPECT_EQ(after.without_cost, 0);
  EXPECT_DOUBLE_EQ(after.usd, 4 + 0.5);
  EXPECT_EQ(after.evaluations, 4) << "the job and those of the turns, profiles too";
}

}  // namespace
}  // namespace kb

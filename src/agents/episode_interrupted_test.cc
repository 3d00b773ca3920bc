// Episodes that more than one command works on.
#include <gmock/gmock.h>

#include "agents/episode_test_util.h"

namespace kb {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST_F(EpisodeTest, ASpentBudgetLeavesItOpen) {
  Says({WriteCall("a.py", "x")});
  RunUntilItIsOpen();
  EXPECT_EQ(Stored().ended_by, "");
  ASSERT_EQ(Turns().size(), 1u) << "no turn is begun that nobody asks";
  RunUntilItIsOpen();
  Says({CallOf("s", "submit", {{"solution_path", "a.py"}})});
  const EpisodeWorkDone done = RunToItsEnd();
  EXPECT_EQ(done.source, "x");
  EXPECT_EQ(done.answer.input, 80) << "nothing was lost";
}

// Killed after it was asked, before there was an answer.
TEST_F(EpisodeTest, ACallThatWasLostIsAskedAgainAndCounted) {
  Says({WriteCall("a.py", "x")});
  Dies();
  EXPECT_EQ(Failure().code, ErrorCode::kInterrupted);
  ASSERT_EQ(Turns().size(), 2u);
  EXPECT_EQ(Turns()[1].state, "asked");
  Dies();
  EXPECT_EQ(Failure().code, ErrorCode::kInterrupted);
  Says({CallOf("s", "submit", {{"solution_path", "a.py"}})});
  const EpisodeWorkDone done = RunToItsEnd();
  EXPECT_EQ(done.source, "x");
  const std::vector<Turn> turns = Turns();
  ASSERT_EQ(turns.size(), 2u) << "in the same turn";
  EXPECT_EQ(turns[1].lost, 2);
  EXPECT_EQ(turns[1].lost_tokens, 10'000);
  EXPECT_EQ(done.answer.input, 80 + 10'000);
  EXPECT_NEAR(done.answer.cost_usd.value_or(0), 0.02 + 1.0, 1e-9);
  EXPECT_EQ(requests_[1].messages.size(), requests_[2].messages.size());
  EXPECT_EQ(requests_[1].messages.back().results[0].text, requests_[2].messages.back().results[0].text);
}

// Killed while a tool ran, behind others of the same answer.
TEST_F(EpisodeTest, CallsThatWereCutOffAreToldAndNotRun) {
  Says({WriteCall("a.py", "before")});
  Says({WriteCall("a.py", "after"), WriteCall("b.py", "new"), CallOf("e", "evaluate", {{"path", "a.py"}})});
  api_.on_request = [this] { stop_ = true; };
  EXPECT_EQ(Failure().code, ErrorCode::kInterrupted);
  EXPECT_TRUE(box_->folder().Read("b.py"));
  EXPECT_EQ(Turns()[1].state, "answered");
  stop_ = false;
  api_.requests.clear();
  Says({CallOf("b", "bash", {{"command", "cat a.py; ls"}})});
  Says({CallOf("l", "list")});
  RunUntilItIsOpen();
  EXPECT_THAT(api_.requests, IsEmpty());
  EXPECT_EQ(Turns()[1].state, "done");
  for (size_t i = 0; i < 3; ++i) EXPECT_THAT(TextOf(2, i), StartsWith("This call was cut off"));
  EXPECT_EQ(TextOf(3, 0), "exit code 0\nbeforeTASK.md\na.py\n") << "the folder is as it was before that answer";
  EXPECT_EQ(Turns()[1].lost, 0);
}

// Between turns; what is sent then is what would have been sent.
TEST_F(EpisodeTest, AKillBetweenTurnsChangesNothing) {
  const auto script = [&] {
    Says({WriteCall("a.py", "x\xe2\x82\xac"),
          CallOf("b", "bash", {{"command", "printf '\\303\\251%.0s' $(seq 30000)"}})});
    Says(Answer({}, "hm"));
    Says({CallOf("l", "list")});
    Says({CallOf("s", "submit", {{"solution_path", "a.py"}})});
  };
  script();
  const EpisodeWorkDone whole = RunToItsEnd();
  const std::vector<CompletionRequest> wanted = std::exchange(requests_, {});
  GenerationRequest request = work_.request;
  request.sample = request.candidate = 1;
  work_.request = store_.ClaimRequest("r", request, kMe).value().value();
  script();
  std::deque<Result<Completion>> all = std::exchange(script_, {});
  while (all.size() > 1) {
    script_ = {all.front()};
    all.pop_front();
    RunUntilItIsOpen();
  }
  script_ = all;
  const EpisodeWorkDone parts = RunToItsEnd();
  EXPECT_EQ(parts.source, whole.source);
  EXPECT_EQ(parts.answer.input, whole.answer.input);
  ASSERT_EQ(requests_.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(requests_[i].messages.size(), wanted[i].messages.size());
    EXPECT_EQ(requests_[i].max_tokens, wanted[i].max_tokens);
    for (size_t m = 0; m < wanted[i].messages.size(); ++m) {
      EXPECT_EQ(requests_[i].messages[m].text, wanted[i].messages[m].text);
      EXPECT_EQ(requests_[i].messages[m].raw, wanted[i].messages[m].raw);
      ASSERT_EQ(requests_[i].messages[m].results.size(), wanted[i].messages[m].results.size());
      for (size_t r = 0; r < wanted[i].messages[m].results.size(); ++r) {
        EXPECT_EQ(requests_[i].messages[m].results[r].text, wanted[i].messages[m].results[r].text);
      }
    }
  }
}

TEST_F(EpisodeTest, FilesThatAreTooLargeAreNotKept) {
  options_.kept_bytes = 100'000;
  Says({CallOf("b", "bash", {{"command", "head -c 50000 /dev/zero >big; echo small >a.py"}})});
  Says({CallOf("b", "bash", {{"command", "ls"}})});
  RunUntilItIsOpen();
  EXPECT_THAT(NewestText(), AllOf(StartsWith("[turn 1 of 20 is over]\n["), HasSubstr("big (50000 bytes)")));
  Says({CallOf("b", "bash", {{"command", "ls; head -c 10000 /dev/zero >big"}})});
  Says({CallOf("b", "bash", {{"command", "ls"}})});
  RunUntilItIsOpen();
  EXPECT_EQ(TextOf(3, 0), "exit code 0\nTASK.md\na.py\n") << "another process does not have it";
  EXPECT_THAT(requests_[3].messages.at(2).text, HasSubstr("big (50000 bytes)")) << "what was told does not change";
  EXPECT_EQ(store_.FolderAfter(work_.request.id, 3)->size(), 3u);
}

// Killed before the end was stored, or after it and before the request has its answer.
TEST_F(EpisodeTest, AnEndIsFoundAgain) {
  Says({WriteCall("a.py", "x"), CallOf("s", "submit", {{"solution_path", "a.py"}})});
  EXPECT_EQ(RunToItsEnd().source, "x");
  const auto stays = [&] {
    const EpisodeWorkDone done = RunToItsEnd();
    EXPECT_EQ(done.source, "x");
    EXPECT_EQ(done.answer.input, 40);
    EXPECT_EQ(Stored().ended_by, "submit");
    EXPECT_EQ(Stored().ending, "the agent submitted a candidate");
    EXPECT_EQ(requests_.size(), 1u);
  };
  stays();
  ASSERT_TRUE(store_.EndEpisode(work_.request.id, kMe, "", ""));
  stays();
}

TEST_F(EpisodeTest, AnEndWithoutCallsIsFoundAgain) {
  for (int i = 0; i < 3; ++i) Says(Answer({}, "done"));
  RunToItsEnd();
  const std::string ending = Stored().ending;
  ASSERT_TRUE(store_.EndEpisode(work_.request.id, kMe, "", ""));
  RunToItsEnd();
  EXPECT_EQ(Stored().ended_by, "no_calls");
  EXPECT_EQ(Stored().ending, ending);
  EXPECT_EQ(requests_.size(), 3u);
}

TEST_F(EpisodeTest, ALimitThatIsRaisedGoesOn) {
  options_.limits.turns = 1;
  Says({WriteCall("a.py", "x")});
  EXPECT_FALSE(RunToItsEnd().source);
  RunToItsEnd();
  EXPECT_EQ(requests_.size(), 1u);
  options_.limits.turns = 2;
  Says({CallOf("s", "submit", {{"solution_path", "a.py"}})});
  EXPECT_EQ(RunToItsEnd().source, "x");
  EXPECT_EQ(Stored().ended_by, "submit");
}

// It may be an empty account, or an answer that is too long for ever.
TEST_F(EpisodeTest, AModelThatRefusesInThreeCommandsEndsIt) {
  Says({WriteCall("a.py", "x"), CallOf("e", "evaluate", {{"path", "a.py"}})});
  JudgeSays(SampleCorrect("a", "1/19", 2.0));
  for (int command = 1; command <= 2; ++command) {
    Dies(ErrorCode::kUsage, "the answer is longer than 1000 bytes");
    EXPECT_EQ(Failure().message, "the answer is longer than 1000 bytes");
    EXPECT_EQ(Stored().ended_by, "") << "the next command may go on";
  }
  Dies(ErrorCode::kUnavailable, "503");
  EXPECT_EQ(Failure().code, ErrorCode::kUnavailable) << "which is no refusal";
  Dies(ErrorCode::kUsage, "the answer is longer than 1000 bytes");
  const EpisodeWorkDone done = RunToItsEnd();
  EXPECT_EQ(done.source, "x");
  EXPECT_EQ(Stored().ended_by, "model_error");
  EXPECT_THAT(Stored().ending, AllOf(HasSubstr("longer than 1000 bytes"), HasSubstr("best candidate")));
}

TEST_F(EpisodeTest, AnAnswerEndsTheRowOfRefusals) {
  Says({WriteCall("a.py", "x")});
  for (int i = 0; i < 2; ++i) {
    Dies(ErrorCode::kUsage, "no credit");
    EXPECT_EQ(Failure().message, "no credit");
  }
  Says({CallOf("l", "list")});
  for (int i = 0; i < 2; ++i) {
    Dies(ErrorCode::kUsage, "no credit");
    EXPECT_EQ(Failure().message, "no credit");
  }
  EXPECT_EQ(Turns().back().lost, 0) << "what is refused costs nothing";
  Dies(ErrorCode::kUsage, "no credit");
  RunToItsEnd();
  EXPECT_EQ(Stored().ended_by, kModelError);
}

// A wrong key says nothing about a problem; a filter that stops this one alone does.
TEST_F(EpisodeTest, RefusalsCountWhereTheModelAnswersAtAll) {
  for (int i = 0; i < 4; ++i) {
    Dies(ErrorCode::kUsage, "wrong key");
    EXPECT_EQ(Failure().code, ErrorCode::kUsage);
  }
  model_answers_ = true;
  for (int i = 0; i < 2; ++i) {
    Dies(ErrorCode::kUsage, "filtered");
    EXPECT_EQ(Failure().code, ErrorCode::kUsage);
  }
  Dies(ErrorCode::kUsage, "filtered");
  EXPECT_THAT(RunToItsEnd().complaint, HasSubstr("submitted nothing: in 3 commands in a row the model refused to "
                                                 "answer (--retry-refused asks it again): filtered"));
}

}  // namespace
}  // namespace kb

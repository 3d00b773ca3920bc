#include "agents/episode.h"

#include <gmock/gmock.h>

#include "agents/episode_test_util.h"

namespace kb {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kLibraryCode = "import torch\n";

TEST_F(EpisodeTest, FromTheTaskToASubmission) {
  Says({WriteCall("model_new.py", "first\n"), CallOf("b", "bash", {{"command", "cat TASK.md model_new.py"}})});
  JudgeSays(SampleCorrect("a", "1/19", 2.0));
  Says({CallOf("e", "evaluate")});
  Says({CallOf("s", "submit")});
  const EpisodeWorkDone done = RunToItsEnd();
  EXPECT_EQ(done.source, "first\n");
  EXPECT_EQ(done.language, "py");
  EXPECT_EQ(done.complaint, "");
  EXPECT_EQ(Stored().ended_by, "submit");
  EXPECT_EQ(TextOf(1, 1), "exit code 0\nthe taskfirst\n");
  EXPECT_EQ(NewestText(), "[turn 2 of 20 is over]");
  EXPECT_EQ(told_of_evaluations_, 1);
  const std::vector<Turn> turns = Turns();
  ASSERT_EQ(turns.size(), 3u);
  for (const Turn& turn : turns) EXPECT_EQ(turn.state, "done");
  EXPECT_EQ(store_.FolderAfter(work_.request.id, 1)->at(1).contents, "first\n");
  const auto verdicts = store_.TurnVerdicts(work_.request.id).value();
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].tool, "evaluate");
  EXPECT_EQ(verdicts[0].turn, 2);
  EXPECT_EQ(verdicts[1].tool, "submit");
  EXPECT_EQ(done.answer.input, 120);
  EXPECT_EQ(done.answer.cache_read, 180);
  EXPECT_EQ(done.answer.output, 30);
  EXPECT_NEAR(done.answer.cost_usd.value_or(0), 0.03, 1e-9);
  EXPECT_EQ(done.answer.answered_by, "m-1");
  EXPECT_EQ(done.answer.seconds, 6);
}

TEST_F(EpisodeTest, EachRequestBeginsWithTheOneBefore) {
  for (int i = 0; i < 4; ++i)
    Says({CallOf("c" + std::to_string(i), "bash", {{"command", "echo " + std::to_string(i)}})});
  RunUntilItIsOpen();
  for (size_t i = 1; i < requests_.size(); ++i) {
    const auto& before = requests_[i - 1].messages;
    const auto& now = requests_[i].messages;
    ASSERT_EQ(now.size(), before.size() + 2);
    for (size_t m = 0; m < before.size(); ++m) {
      EXPECT_EQ(now[m].text, before[m].text);
      EXPECT_EQ(now[m].raw, before[m].raw);
    }
  }
}

TEST_F(EpisodeTest, LimitsEndIt) {
  const struct {
    EpisodeLimits limits;
    std::string ended_by, ending;
    size_t turns;
  } cases[] = {
      {{.turns = 2}, "turns", "the limit of 2 turns was reached", 2},
      {{.turns = 9, .tokens = 300}, "tokens", "the limit of 300 tokens was reached", 3},
      {{.turns = 9, .usd = 0.035}, "usd", "the limit of $0.035 was reached", 4},
      {{.turns = 0, .seconds = 9}, "seconds", "the limit of 9 seconds was reached", 5},
  };
  int sample = 0;
  for (const auto& [limits, ended_by, ending, turns] : cases) {
    GenerationRequest request = work_.request;
    request.sample = request.candidate = ++sample;
    work_.request = store_.ClaimRequest("r", request, kMe).value().value();
    options_.limits = limits;
    script_.clear();
    for (int i = 0; i < 9; ++i) Says({CallOf("l", "list")});
    const EpisodeWorkDone done = RunToItsEnd();
    EXPECT_EQ(Turns().size(), turns) << ended_by;
    EXPECT_EQ(Stored().ended_by, ended_by);
    EXPECT_EQ(Stored().ending, ending);
    EXPECT_FALSE(done.source);
    EXPECT_EQ(done.complaint, "the agent submitted nothing: " + ending);
  }
}

TEST_F(EpisodeTest, WhatIsLeftIsTold) {
  options_.limits = {.turns = 3, .tokens = 1000, .usd = 1, .seconds = 60};
  tool_limits_.evaluations = 4;
  for (int i = 0; i < 3; ++i) Says({CallOf("l", "list")});
  RunToItsEnd();
  EXPECT_THAT(requests_[1].messages.back().text,
              StartsWith("[turn 1 of 3 is over; 890 of 1000 tokens left; $0.99 of $1.00 left; 58 of 60 s left; 4 of 4 "
                         "evaluations left]"));
  EXPECT_THAT(requests_[2].messages.back().text, EndsWith("; one turn is left: submit in it]"));
}

TEST_F(EpisodeTest, AtALimitAFileThatBuildsIsSubmittedByItself) {
  options_.limits.turns = 1;
  Says({WriteCall("model_new.py", kLibraryCode)});
  JudgeCompiles();
  EXPECT_EQ(RunToItsEnd().source, kLibraryCode);
  EXPECT_THAT(Stored().ending, EndsWith("1 turns was reached; model_new.py was submitted by itself"));
}

TEST_F(EpisodeTest, ElseTheBestThatWasEvaluatedIs) {
  options_.limits.turns = 2;
  Says({WriteCall("good.py", "good\n"), CallOf("e", "evaluate", {{"path", "good.py"}})});
  JudgeSays(SampleCorrect("a", "1/19", 2.0));
  Says({WriteCall("model_new.py", "broken\n")});
  JudgeCompiles(false);
  const EpisodeWorkDone done = RunToItsEnd();
  EXPECT_EQ(done.source, "good\n");
  EXPECT_EQ(done.language, "py");
  EXPECT_THAT(Stored().ending, EndsWith("the best candidate that was evaluated was submitted by itself"));
}

TEST_F(EpisodeTest, TheBestCountsWhereItIsToldSo) {
  options_.counts.best = true;
  Says({WriteCall("a.py", "fast\n"), CallOf("e", "evaluate", {{"path", "a.py"}})});
  JudgeSays(SampleCorrect("a", "1/19", 3.0));
  Says({WriteCall("a.py", "slow\n"), CallOf("e", "evaluate", {{"path", "a.py"}})});
  JudgeSays(SampleCorrect("a", "1/19", 1.5));
  Says({CallOf("s", "submit", {{"solution_path", "a.py"}})});
  EXPECT_EQ(RunToItsEnd().source, "fast\n");
}

TEST_F(EpisodeTest, AnswersWithoutCallsEndIt) {
  Says({CallOf("l", "list")});
  Says(Answer({}, "I am done."));
  Says({CallOf("l", "list")});
  Completion refused = Answer({}, "No.");
  refused.finish = FinishReason::kRefused;
  Says(refused);
  Completion paused = Answer({}, "...");
  paused.finish = FinishReason::kPaused;
  Says(paused);
  Completion cut = Answer({}, "so long");
  cut.finish = FinishReason::kLength;
  Says(cut);
  Says(Answer({}, "I said that I am done."));
  RunToItsEnd();
  EXPECT_EQ(Stored().ended_by, "no_calls");
  ASSERT_EQ(requests_.size(), 7u) << "a call between them begins anew, and a pause is none";
  EXPECT_THAT(requests_[2].messages.back().text, AllOf(StartsWith("You called no tool. Go on"), HasSubstr("submit")));
  EXPECT_THAT(requests_[4].messages.back().text, StartsWith("You refused to answer."));
  EXPECT_THAT(requests_[5].messages.back().text, StartsWith("Go on. [turn 5"));
  EXPECT_THAT(requests_[6].messages.back().text, StartsWith("Your answer reached its limit of tokens"));
}

TEST_F(EpisodeTest, TheLastCallOfACutAnswerIsNotRun) {
  Completion cut = Answer({WriteCall("whole.py", "x"), WriteCall("half.py", "x")});
  cut.finish = FinishReason::kLength;
  Says(cut);
  Says({CallOf("l", "list")});
  RunUntilItIsOpen();
  EXPECT_THAT(TextOf(1, 0), HasSubstr("whole.py has 1 bytes now"));
  EXPECT_THAT(TextOf(1, 1), HasSubstr("may lack its end, and was not run"));
  EXPECT_TRUE(box_->folder().Read("whole.py"));
  EXPECT_FALSE(box_->folder().Read("half.py"));
}

TEST_F(EpisodeTest, ManyCallsAtOnceAreBounded) {
  std::vector<ToolCall> calls;
  for (int i = 0; i < 100; ++i)
    calls.push_back(CallOf("c" + std::to_string(i), "bash", {{"command", "seq 9999; echo >>n"}}));
  Says(calls);
  Says({CallOf("l", "list")});
  RunUntilItIsOpen();
  const auto& results = requests_[1].messages.back().results;
  ASSERT_EQ(results.size(), 100u) << "every call wants its result";
  EXPECT_EQ(box_->folder().Take()->files.at(1).bytes, 32u);
  EXPECT_THAT(results[99].text, HasSubstr("was not run"));
  size_t bytes = 0;
  for (const ToolResult& result : results) bytes += result.text.size();
  EXPECT_LT(bytes, 64'000u);
}

TEST_F(EpisodeTest, TheRunsEvaluationsMayBeSpent) {
  evaluations_left_ = 0;
  Says({WriteCall("model_new.py", "x"), CallOf("e", "evaluate")});
  Says({CallOf("l", "list")});
  RunUntilItIsOpen();
  EXPECT_THAT(TextOf(1, 1), HasSubstr("no evaluations left"));
  EXPECT_THAT(api_.requests, IsEmpty());
  EXPECT_EQ(told_of_evaluations_, 0);
}

TEST_F(EpisodeTest, UnknownUsageCountsAsWhatItMayBe) {
  options_.limits = {.turns = 9, .tokens = 2500};
  for (int i = 0; i < 9; ++i) {
    Completion completion = Answer({CallOf("l", "list")});
    completion.usage = {};
    Says(completion);
  }
  RunToItsEnd();
  EXPECT_EQ(Stored().ended_by, "tokens");
  EXPECT_EQ(Turns().size(), 3u);
}

TEST_F(EpisodeTest, AHistoryThatIsTooLongIsCondensed) {
  options_.window = 8000;
  options_.limits.turns = 100;
  Says({WriteCall("NOTES.md", "remember 42"), WriteCall("a.py", "best of all\n"),
        CallOf("e", "evaluate", {{"path", "a.py"}})});
  JudgeSays(SampleCorrect("a", "1/19", 2.0));
  RunUntilItIsOpen();
  const auto next_turn = [&] {
    Completion completion = Answer({CallOf("l", "list")}, std::string(3000, 'w'));
    completion.usage = {};
    Says(completion);
    RunUntilItIsOpen();
    return Turns().back();
  };
  Turn condensed;
  while (condensed.kind != "condense" && Turns().size() < 30) condensed = next_turn();
  ASSERT_EQ(condensed.kind, "condense");
  EXPECT_THAT(NewestText(), HasSubstr("Write down now"));
  EXPECT_EQ(condensed.state, "done");
  next_turn();
  ASSERT_EQ(requests_.back().messages.size(), 1u);
  const std::string task = NewestText();
  EXPECT_THAT(task, AllOf(StartsWith("the task\n\n"), HasSubstr("www"), HasSubstr("remember 42"),
                          HasSubstr("best of all"), HasSubstr("speedup 2.000")));
  next_turn();
  ASSERT_EQ(requests_.back().messages.size(), 3u);
  EXPECT_EQ(requests_.back().messages[0].text, task);
}

TEST_F(EpisodeTest, TextForm) {
  options_.text_form = true;
  const auto say = [&](const std::string& text) { Says(Answer({}, text)); };
  say("```tool\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.py\"}}\nx = 1\n```");
  say("```tool\nls -l\n```");
  say("```tool\n{\"name\":\"list\"}\n```\n```tool\n{\"name\":\"list\"}\n```");
  say("```tool\n{\"name\": \"submit\", \"arguments\": {\"solution_path\": \"a.py\"}}\n```");
  EXPECT_EQ(RunToItsEnd().source, "x = 1\n");
  const auto text = [&](size_t i) { return requests_.at(i).messages.back().text; };
  EXPECT_THAT(text(1), StartsWith("Result of write_file:\na.py has 6 bytes now\n\n[turn 1"));
  EXPECT_THAT(text(2), AllOf(StartsWith("Result of your call:\nThe block must begin"), HasSubstr("Nothing was run")));
  EXPECT_THAT(text(3), AllOf(HasSubstr("exactly one block"), HasSubstr("none or several")));
  EXPECT_THAT(requests_.back().messages.back().results, IsEmpty());
}

// Nothing that a model writes ends more than its own turn.
TEST_F(EpisodeTest, NonsenseIsTold) {
  Says({{"", "", ""}, {"a", "no_such_tool", "{"}, {"a", "bash", "{\"command\": \"exit 3\"}"}});
  Says({CallOf(
      "b", "bash",
      {{"command", "ln -s / out; mkfifo pipe; printf '' >$(printf 'a\\nb'); truncate -s 1T big; rm TASK.md"}})});
  Says({CallOf("l", "list")});
  RunUntilItIsOpen();
  EXPECT_THAT(TextOf(1, 1), HasSubstr("there is no tool no_such_tool"));
  EXPECT_THAT(TextOf(1, 2), StartsWith("exit code 3"));
  EXPECT_EQ(Turns().size(), 3u);
  const std::vector<TurnFile> files = store_.FolderAfter(work_.request.id, 2).value();
  ASSERT_EQ(files.size(), 1u) << "regular files with plain names";
  EXPECT_EQ(files[0].path, "big");
}

}  // namespace
}  // namespace kb

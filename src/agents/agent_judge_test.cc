#include "agents/agent_judge.h"

#include <gmock/gmock.h>

#include <atomic>

#include "agents/agent_test_util.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "judge/candidate/folder.h"

namespace kb {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const AgentCandidate kKernel = {.name = "kernel.cpp", .text = "int kb_forward();\n", .rejection = ""};

class AgentJudgeTest : public testing::Test {
 protected:
  AgentJudge Judge(milliseconds patience = milliseconds(0)) {
    return AgentJudge({.ask = api_.Ask(),
                       .request = {{"problem", "1/19"}, {"size", "small"}, {"protocol", "strict"}},
                       .stop = [this] { return stop_.load(); },
                       .patience = patience,
                       .pause = milliseconds(0)});
  }
  AgentVerdict Evaluated(const AgentCandidate& candidate = kKernel) {
    const auto verdict = Judge().Evaluate(candidate);
    EXPECT_TRUE(verdict) << verdict.error().message;
    return verdict.value_or(AgentVerdict());
  }

  ScriptedApi api_;
  std::atomic<bool> stop_ = false;
};

TEST_F(AgentJudgeTest, ACorrectCandidate) {
  json evaluation = SampleCorrect("e1", "1/19", 2.0);
  evaluation["engine_us"] = {{"build", 5e6}, {"rounds", 2e6}, {"load", 1e6}};
  evaluation["candidate"]["source"] = kKernel.text;
  api_.Says(202, Unfinished());
  api_.Says(200, ViewOf(evaluation));
  const AgentVerdict verdict = Evaluated();
  EXPECT_THAT(verdict.text, AllOf(StartsWith("# What became of your candidate\n\nIt is correct."),
                                  HasSubstr("speedup 2.00×, between 1.96× and 2.04×: the reference takes"),
                                  Not(HasSubstr("; evaluation e1"))));
  EXPECT_FALSE(verdict.is_error);
  EXPECT_EQ(verdict.stored.tool, "evaluate");
  EXPECT_EQ(verdict.stored.verdict, "correct");
  EXPECT_EQ(verdict.stored.speedup, 2.0);
  EXPECT_NEAR(verdict.stored.low.value_or(0), 1.96, 1e-6);
  EXPECT_NEAR(verdict.stored.high.value_or(0), 2.04, 1e-6);
  EXPECT_EQ(verdict.stored.device_seconds, 3) << "what was built before held no device";
  EXPECT_EQ(verdict.stored.source, kKernel.text);
  EXPECT_EQ(verdict.stored.source_sha256, Sha256(kKernel.text));
  EXPECT_EQ(verdict.stored.language, "cpp");
  EXPECT_THAT(verdict.stored.view, AllOf(HasSubstr("\"rounds\""), Not(HasSubstr("kb_forward"))));
  EXPECT_THAT(api_.requests, ElementsAre("POST /v1/evaluations?wait=30&whole=true",
                                         "GET /v1/evaluations/" + SomeId() + "?wait=30&whole=true"));
  EXPECT_EQ(api_.bodies[0], json({{"problem", "1/19"},
                                  {"size", "small"},
                                  {"protocol", "strict"},
                                  {"keep", false},
                                  {"source", kKernel.text},
                                  {"name", "kernel.cpp"}}));
}

TEST_F(AgentJudgeTest, AWrongCandidate) {
  api_.Says(200, ViewOf(SampleIncorrect("e2", "1/19")));
  const AgentVerdict verdict = Evaluated();
  EXPECT_THAT(verdict.text, AllOf(HasSubstr("Its output is wrong."), HasSubstr("- wrong: ")));
  EXPECT_FALSE(verdict.is_error);
  EXPECT_EQ(verdict.stored.verdict, "incorrect");
  EXPECT_FALSE(verdict.stored.speedup || verdict.stored.low);
}

TEST_F(AgentJudgeTest, Compilations) {
  json view = ViewOf(json::object());
  view.erase("evaluation");
  view.update({{"compiled", false},
               {"verdict", "build_failed"},
               {"reason", "evidence.compiler_output"},
               {"findings", json::array()},
               {"compiler_output", "kernel.cpp:3:1: error: 'x' was not declared\n"}});
  api_.Says(200, view);
  const auto failed = Judge().Compile(kKernel);
  ASSERT_TRUE(failed);
  EXPECT_THAT(failed->text, AllOf(HasSubstr("It does not compile."), HasSubstr("'x' was not declared")));
  EXPECT_EQ(failed->stored.tool, "compile");
  EXPECT_EQ(failed->stored.verdict, "build_failed");
  view.update({{"compiled", true}, {"verdict", nullptr}, {"reason", nullptr}, {"notes", {"it is slow to build"}}});
  api_.Says(200, view);
  const auto built = Judge().Compile(kKernel);
  ASSERT_TRUE(built);
  EXPECT_EQ(built->text, "It compiles. Call evaluate to have it judged.\n- it is slow to build\n");
  EXPECT_EQ(built->stored.verdict, "");
  EXPECT_EQ(built->stored.tool, "compile");
  EXPECT_THAT(api_.requests[0], StartsWith("POST /v1/compilations?"));
}

TEST_F(AgentJudgeTest, ProfilesHaveRulesOfTheirOwn) {
  json view = ViewOf(SampleCorrect("e3", "1/19", 2.0));
  view["profile"] = nullptr;
  api_.Says(200, view);
  const auto verdict = Judge().Profile(kKernel);
  ASSERT_TRUE(verdict);
  EXPECT_THAT(verdict->text, HasSubstr("No kernel could be traced"));
  EXPECT_EQ(verdict->stored.tool, "profile");
  EXPECT_FALSE(verdict->stored.speedup);
  EXPECT_FALSE(api_.bodies[0].contains("protocol"));
}

TEST_F(AgentJudgeTest, FoldersAndWhatIsNoCandidate) {
  const FolderFiles files = {{"model_new.py", "class ModelNew: pass\n"}, {"a.cpp", "int x;\n"}};
  api_.Says(200, ViewOf(SampleIncorrect("e4", "1/19")));
  const AgentVerdict verdict = Evaluated({.name = "", .text = *Pack(files), .rejection = ""});
  EXPECT_EQ(verdict.stored.language, "py");
  EXPECT_EQ(api_.bodies[0].at("files"), json(files));
  EXPECT_FALSE(api_.bodies[0].contains("source") || api_.bodies[0].contains("name"));
  const AgentVerdict none = Evaluated({.name = "x.py", .text = "", .rejection = "it is empty"});
  EXPECT_TRUE(none.is_error);
  EXPECT_EQ(none.text, "It is no candidate: it is empty.");
  EXPECT_EQ(api_.requests.size(), 1u);
}

TEST_F(AgentJudgeTest, ARefusalThatStands) {
  api_.Says(400, {{"detail", "/name: its ending says no language"}, {"fault", "caller"}, {"retryable", false}});
  const AgentVerdict verdict = Evaluated();
  EXPECT_TRUE(verdict.is_error);
  EXPECT_FALSE(verdict.later);
  EXPECT_EQ(verdict.text, "The judge refuses it: name: its ending says no language.");
  EXPECT_EQ(verdict.stored.tool, "");
  api_.Says(200, Failed("the problem is broken", "caller"));
  EXPECT_EQ(Evaluated().text, "It cannot be judged: the problem is broken.");
  EXPECT_EQ(api_.requests.size(), 2u) << "neither is asked again";
}

TEST_F(AgentJudgeTest, WhatIsUsedUpOrOverloadedIsWaitedFor) {
  for (const int status : {429, 503, 429, 503}) {
    api_.Says(status, {{"detail", "too many"}, {"fault", "caller"}, {"retryable", true}}, {{"Retry-After", "0"}});
  }
  api_.Says(200, ViewOf(SampleIncorrect("e5", "1/19")));
  const auto verdict = Judge(std::chrono::minutes(10)).Evaluate(kKernel);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->stored.verdict, "incorrect");
  EXPECT_EQ(api_.requests.size(), 5u);

  api_.Says(503, {{"detail", "cannot connect"}, {"fault", "machine"}, {"retryable", true}}, {{"Retry-After", "60"}});
  const AgentVerdict late = Evaluated();
  EXPECT_TRUE(late.is_error);
  EXPECT_TRUE(late.later);
  EXPECT_EQ(late.text,
            "The judge cannot judge it now: cannot connect. The candidate is not the cause. Call again in 60 s.");
}

TEST_F(AgentJudgeTest, FailuresThatAreNotTheCandidates) {
  api_.Says(200, Failed("the device process died", "engine"));
  api_.Says(202, Unfinished());
  api_.Says(404, {{"detail", "there is no evaluation"}, {"fault", "caller"}, {"retryable", false}});
  api_.Says(200, ViewOf(SampleIncorrect("e6", "1/19")));
  EXPECT_EQ(Evaluated().stored.verdict, "incorrect");
  EXPECT_THAT(api_.requests,
              ElementsAre(StartsWith("POST"), StartsWith("POST"), StartsWith("GET"), StartsWith("POST")));

  api_.requests.clear();
  for (int i = 0; i < 3; ++i) api_.Says(200, Failed("no memory", "machine"));
  const AgentVerdict verdict = Evaluated();
  EXPECT_TRUE(verdict.is_error);
  EXPECT_EQ(verdict.text, "It cannot be judged: no memory. The candidate is not the cause: call evaluate again.");
  EXPECT_EQ(api_.requests.size(), 3u);
}

TEST_F(AgentJudgeTest, ABusyMachineIsAskedOnceMore) {
  json busy = SampleCorrect("e7", "1/19", 2.0);
  busy.update({{"speedup", nullptr}, {"speedup_interval", nullptr}, {"no_speedup", "machine_busy"}});
  busy["engine_us"] = {{"rounds", 2e6}};
  api_.Says(200, ViewOf(busy));
  api_.Says(200, ViewOf(busy));
  const AgentVerdict verdict = Evaluated();
  EXPECT_THAT(verdict.text, AllOf(HasSubstr("It is correct."), HasSubstr("Evaluate it again")));
  EXPECT_EQ(verdict.stored.verdict, "correct");
  EXPECT_EQ(verdict.stored.device_seconds, 4) << "of both";
  EXPECT_EQ(api_.requests.size(), 2u);
}

TEST_F(AgentJudgeTest, Nonsense) {
  json without_verdict = ViewOf(SampleIncorrect("e8", "1/19"));
  without_verdict.erase("verdict");
  json of_another_type = ViewOf(SampleIncorrect("e9", "1/19"));
  of_another_type["state"] = 7;
  for (const std::string& text : {std::string("nonsense"), std::string("[]"), std::string("{\"id\": 7}"),
                                  without_verdict.dump(), of_another_type.dump(), std::string()}) {
    for (int i = 0; i < 3; ++i) api_.SaysText(200, text);
    const AgentVerdict verdict = Evaluated();
    EXPECT_TRUE(verdict.is_error) << text;
    EXPECT_THAT(verdict.text, HasSubstr("nonsense")) << text;
  }
}

// It is cancelled, whether its id is known or comes later.
TEST_F(AgentJudgeTest, StoppedItIsCancelled) {
  api_.on_request = [this] { stop_ = true; };
  const auto early = Judge().Evaluate(kKernel);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(api_.forgotten, 1);
  EXPECT_THAT(api_.requests, ElementsAre(StartsWith("POST")));
  auto told = api_.told;
  told({202, "application/json", Unfinished().dump(), {}});
  EXPECT_THAT(api_.requests, ElementsAre(StartsWith("POST"), "DELETE /v1/evaluations/" + SomeId()));

  stop_ = false;
  api_.requests.clear();
  api_.Says(202, Unfinished());
  api_.on_request = [this] { stop_ = api_.requests.size() == 2; };
  ASSERT_FALSE(Judge().Evaluate(kKernel));
  EXPECT_THAT(api_.requests, ElementsAre(StartsWith("POST"), StartsWith("GET"), "DELETE /v1/evaluations/" + SomeId()));

  stop_ = false;
  const std::atomic<bool> interrupt = true;
  const WorksUnder under(interrupt);
  ASSERT_FALSE(Judge().Evaluate(kKernel)) << "Ctrl-C";
}

TEST_F(AgentJudgeTest, StoppedWhileItWaitsForAQuota) {
  api_.Says(429, {{"detail", "too many"}, {"fault", "caller"}, {"retryable", true}}, {{"Retry-After", "60"}});
  api_.on_request = [this] { stop_ = true; };
  const auto verdict = Judge(std::chrono::hours(1)).Evaluate(kKernel);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace kb

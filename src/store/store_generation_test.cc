// Requests to models in the store: each is in one state, whoever dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/temp_dir.h"
#include "store/store.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

GenerationRequest Turn(int sample, int turn = 0) {
  GenerationRequest request;
  request.model = "m";
  request.problem = "1/19";
  request.sample = sample;
  request.turn = turn;
  request.candidate = 10 * turn + sample;
  return request;
}

GenerationAnswer SomeAnswer(std::optional<double> cost = 0.25) {
  GenerationAnswer answer;
  answer.prompt = R"({"system":"s","messages":[]})";
  answer.response = "text \xf0\x9f\x98\x80";
  answer.reasoning = "thought";
  answer.finish = "stop";
  answer.answered_by = "m-1";
  answer.input = 100;
  answer.cache_read = 40;
  answer.output = 50;
  answer.cost_usd = cost;
  answer.price_source = "table";
  answer.calls = 2;
  answer.seconds = 1.5;
  return answer;
}

class GenerationTest : public ::testing::Test {
 protected:
  GenerationTest() : directory_(TempDir::Create("kb-generation-test").value()) {}
  Store Open() const { return Store::Open(directory_.path() / "store.sqlite").value(); }
  const TempDir directory_;
};

TEST_F(GenerationTest, ARequestIsAskedByOneAndAnsweredOnce) {
  Store store = Open();
  const auto mine = store.ClaimRequest("r", Turn(0), OwnerName());
  ASSERT_TRUE(mine) << mine.error().message;
  ASSERT_TRUE(*mine);
  EXPECT_FALSE(store.ClaimRequest("r", Turn(0), "another").value()) << "it is being asked";
  const int64_t id = (*mine)->id;
  EXPECT_EQ(store.AddAnswer(id, "another", SomeAnswer()).error().code, ErrorCode::kStore);
  const auto answer = store.AddAnswer(id, OwnerName(), SomeAnswer());
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_TRUE(store.SettleAnswer(*answer, OwnerName(), std::nullopt, "", "no code", false));
  EXPECT_EQ(store.Requests("r")->at(0).state, "asked") << "it is asked again";
  const auto second = store.AddAnswer(id, OwnerName(), SomeAnswer(std::nullopt));
  ASSERT_TRUE(store.SettleAnswer(*second, OwnerName(), "a source", "py", "", true));
  EXPECT_EQ(store.Requests("r")->at(0).state, "answered");
  EXPECT_FALSE(store.ClaimRequest("r", Turn(0), OwnerName()).value());
  EXPECT_EQ(store.Source(Sha256("a source")).value(), "a source");

  const auto answers = store.AnswersTo(id).value();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].attempt, 0);
  EXPECT_EQ(answers[0].complaint, "no code");
  EXPECT_EQ(answers[0].source_sha256, "");
  EXPECT_EQ(answers[1].attempt, 1);
  EXPECT_EQ(answers[1].source_sha256, Sha256("a source"));
  EXPECT_EQ(answers[1].response, SomeAnswer().response);
  EXPECT_EQ(answers[1].prompt, SomeAnswer().prompt);
  EXPECT_EQ(answers[1].cache_read, 40);
  EXPECT_EQ(answers[1].cache_write, std::nullopt);
  EXPECT_EQ(answers[1].cost_usd, std::nullopt);
  const GenerationSpent spent = store.Spent("r").value();
  EXPECT_EQ(spent.answers, 2);
  EXPECT_EQ(spent.input, 280);
  EXPECT_EQ(spent.output, 100);
  EXPECT_EQ(spent.without_cost, 1);
  EXPECT_EQ(spent.without_usage, 0);
  EXPECT_DOUBLE_EQ(spent.usd, 0.25);
  EXPECT_EQ(store.History("m")->size(), 2u);
  EXPECT_EQ(store.History("m", false, 1)->at(0).output, 50);
  EXPECT_TRUE(store.History("another")->empty());
  EXPECT_TRUE(store.Check()->wrong.empty());
}

TEST_F(GenerationTest, WhatTheDeadAskedIsAskedAgainAndKeepsItsAnswers) {
  Store store = Open();
  const std::string dead = OwnerName() + "9";  // a process that started later with this one's number
  const int64_t id = (*store.ClaimRequest("r", Turn(0), dead).value()).id;
  ASSERT_TRUE(store.AddAnswer(id, dead, SomeAnswer()));
  const int64_t alive = (*store.ClaimRequest("r", Turn(1), OwnerName()).value()).id;
  ASSERT_TRUE(
      store.GiveUpRequest((*store.ClaimRequest("r", Turn(2), OwnerName()).value()).id, OwnerName(), "500", false));
  EXPECT_EQ(store.ReleaseRequests("r").value(), 2);
  const auto requests = store.Requests("r").value();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].id, alive);
  EXPECT_EQ(requests[1].state, "asked");
  EXPECT_EQ(requests[2].state, "queued");
  EXPECT_EQ(requests[2].error, "500");
  EXPECT_EQ(store.AnswersTo(id)->size(), 1u);
  EXPECT_FALSE(store.AnswersTo(id)->at(0).settled);
}

TEST_F(GenerationTest, ACandidateNumberIsOneTurnsOwn) {
  Store store = Open();
  ASSERT_TRUE(store.ClaimRequest("r", Turn(0, 1), OwnerName()));
  const auto clash = store.ClaimRequest("r", Turn(10, 0), OwnerName());
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().code, ErrorCode::kUsage);
  EXPECT_THAT(clash.error().message, HasSubstr("--run"));
}

TEST_F(GenerationTest, SettingsOfARunAreThoseOfItsFirstCommand) {
  Store store = Open();
  EXPECT_TRUE(store.Generation("r")->is_null());
  EXPECT_EQ(store.BeginGeneration("r", {{"samples", 2}})->at("samples"), 2);
  EXPECT_EQ(store.BeginGeneration("r", {{"samples", 3}})->at("samples"), 2);
  ASSERT_TRUE(store.ChangeGeneration("r", {{"samples", 4}}));
  EXPECT_EQ(store.Generation("r")->at("samples"), 4);
}

TEST_F(GenerationTest, AnArchiveTakesAnswersAndReviewsAlong) {
  Store store = Open();
  ASSERT_TRUE(store.BeginGeneration("r", {{"samples", 2}}));
  const int64_t id = (*store.ClaimRequest("r", Turn(0), OwnerName()).value()).id;
  const int64_t answer = store.AddAnswer(id, OwnerName(), SomeAnswer()).value();
  ASSERT_TRUE(store.SettleAnswer(answer, OwnerName(), "only in an answer", "py", "", true));
  ASSERT_TRUE(store.ClaimRequest("r", Turn(1), OwnerName()));
  ASSERT_TRUE(store.Add(RunEvaluation("e1")));
  ASSERT_TRUE(store.AddReview({"e1", "auditor", "", false, 1.0, R"({"a":1})", R"({"b":2})"}));
  const auto archive = directory_.path() / "r.kbrun";
  const auto exported = store.ExportRun("r", archive);
  ASSERT_TRUE(exported) << exported.error().message;

  Store other = Store::Open(directory_.path() / "other.sqlite").value();
  for (int time = 0; time < 2; ++time) {
    const auto imported = other.ImportRun(archive, "copy");
    ASSERT_TRUE(imported) << imported.error().message;
    ASSERT_EQ(other.Requests("copy")->size(), 2u);
    EXPECT_EQ(other.Requests("copy")->at(0).state, "answered");
    EXPECT_EQ(other.Requests("copy")->at(1).state, "queued") << "nobody asks it here";
    ASSERT_EQ(other.Answers("copy")->size(), 1u);
    EXPECT_EQ(other.AnswersTo(other.Requests("copy")->at(0).id)->at(0).response, SomeAnswer().response);
    EXPECT_EQ(other.Source(Sha256("only in an answer")).value(), "only in an answer");
    ASSERT_EQ(other.Reviews("copy")->size(), 1u);
    EXPECT_EQ(other.Reviews("copy")->at(0).exchange, R"({"b":2})");
  }
  ASSERT_TRUE(other.CollectGarbage({}));
  EXPECT_TRUE(other.Source(Sha256("only in an answer"))) << "an answer refers to it";
  EXPECT_TRUE(other.Check()->wrong.empty());
}

}  // namespace
}  // namespace kb

#include "server/faces/openenv_episode.h"

#include <gmock/gmock.h>

#include "base/hash.h"
#include "server/faces/openenv_observation.h"
#include "server/faces/openenv_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(OpenEnvTest, AResetChoosesAProblem) {
  for (const auto& [id, name] : {std::pair("1/19", "1/19"),
                                 {"L1_19_ReLU", "1/19"},
                                 {"level1/19_ReLU.py", "1/19"},
                                 {"L2_40", "2/40"},
                                 {"v3:1/1", "v3:1/1"},
                                 {"modern:3", "modern:3"}}) {
    const auto episode = Begin({{"problem_id", id}});
    ASSERT_TRUE(episode) << refused_;
    EXPECT_EQ(episode->First()["observation"]["problem_id"], name) << id;
  }
  EXPECT_FALSE(Begin({{"problem_id", "L1_190"}}));
  EXPECT_EQ(refused_, "/problem_id: there is no problem L1_190; there are 1/1 to 1/19, 2/40, 4/1, v3:1/1, modern:3");
  EXPECT_FALSE(Begin({{"problem_id", "1/1"}, {"reward", "none"}}));
  EXPECT_THAT(refused_, HasSubstr("/reward: there is no none"));
  EXPECT_FALSE(Begin({{"level", 3}}));
  EXPECT_THAT(refused_, HasSubstr("/level: there are only 1/1"));

  std::vector<std::string> seeded;
  for (int seed = 0; seed < 4; ++seed) seeded.push_back(Begin({{"seed", seed}})->First()["observation"]["problem_id"]);
  EXPECT_THAT(seeded, ElementsAre("1/1", "1/19", "2/40", "1/1")) << "of levels 1 to 3 of KernelBench";
  EXPECT_EQ(Begin({{"level", 4}, {"seed", 7}, {"problem_id", nullptr}})->First()["observation"]["problem_id"], "4/1");

  const json first = Begin({{"problem_id", "2/40"}, {"episode_id", "mine"}})->First();
  EXPECT_EQ(first["observation"]["max_turns"], 12);
  EXPECT_EQ(first["observation"]["reference_code"], "class Model");
  EXPECT_EQ(first["metadata"]["episode_id"], "mine");
  EXPECT_TRUE(first["reward"].is_null());
  EXPECT_EQ(first["done"], false);
}

TEST_F(OpenEnvTest, StepsPayWhatIsAboveTheBest) {
  const auto episode = Begin({{"problem_id", "1/19"}, {"max_turns", 5}, {"size", "small"}, {"keys", nullptr}});
  api_.rewards = {Judged(-0.5), Judged(0.3, "correct", 0.9), Judged(0, "incorrect"), Judged(0.8, "correct", 2.0),
                  Judged(0.3)};
  std::vector<double> rewards;
  std::vector<bool> done;
  for (int turn = 1; turn <= 5; ++turn) {
    const json told = Step(episode);
    rewards.push_back(told["reward"]);
    done.push_back(told["done"]);
    EXPECT_EQ(told["observation"]["turn"], turn);
    EXPECT_EQ(told["observation"]["metadata"], told["metadata"]);
    EXPECT_EQ(State(episode)["solved"], turn >= 4);
  }
  EXPECT_THAT(rewards, ElementsAre(-0.5, 0.8, 0, 0.5, 0));
  EXPECT_THAT(done, ElementsAre(false, false, false, false, true));
  EXPECT_EQ(State(episode)["best_speedup"], 2.0);
  EXPECT_EQ(State(episode)["best_reward"], 0.8);
  EXPECT_EQ(Step(episode), "409 the episode is over: reset");
  const json& sent = api_.bodies_[0]["evaluations"][0];
  EXPECT_EQ(sent["size"], "small");
  EXPECT_EQ(sent["name"], "candidate.py");
  EXPECT_FALSE(sent.contains("keys"));
  EXPECT_NE(sent["idempotency_key"], api_.bodies_[1]["evaluations"][0]["idempotency_key"]);
}

TEST_F(OpenEnvTest, WithoutANumberThereIsNoReward) {
  const auto episode = Begin({{"problem_id", "1/19"}});
  json busy = Judged(nullptr);
  busy["evaluation"].update({{"no_speedup", "machine_busy"}, {"fault", "machine"}, {"retryable", true}});
  api_.rewards = {busy, Lost("failed", "the device has gone"), Judged(0.3)};
  for (const char* why : {"too busy", "the device has gone"}) {
    const json told = Step(episode);
    EXPECT_TRUE(told["reward"].is_null());
    EXPECT_EQ(told["metadata"]["reward_applicable"], false);
    EXPECT_THAT(told["metadata"]["no_reward"], HasSubstr(why));
    EXPECT_THAT(told["observation"]["feedback"], HasSubstr("This turn has no reward"));
    EXPECT_EQ(told["observation"]["retryable"], true);
  }
  EXPECT_EQ(Step(episode)["reward"], 0.3);
}

TEST_F(OpenEnvTest, WhatIsStillJudgedIsWaitedForByTheNextStep) {
  const auto episode = Begin({{"problem_id", "1/19"}, {"max_turns", 1}});
  api_.rewards = {Lost("judging"), Lost("judging"), Judged(0.3), Judged(0.3)};
  json told = Step(episode);
  EXPECT_EQ(told["observation"]["judging"], true);
  EXPECT_EQ(told["observation"]["turn"], 0);
  EXPECT_EQ(told["done"], false);
  EXPECT_TRUE(told["reward"].is_null());
  EXPECT_EQ(State(episode)["judging"], true);
  EXPECT_EQ(State(episode)["judging"], false) << "it has ended, and its reward is the next step's";
  told = Step(episode, "class ModelNew: 2");
  EXPECT_EQ(told["reward"], 0.3);
  EXPECT_EQ(told["done"], true);
  EXPECT_THAT(told["observation"]["feedback"], HasSubstr("The code that was sent now is not judged"));
  json named = api_.bodies_[0]["evaluations"];
  named[0].erase("source");
  named[0]["sha256"] = Sha256("class ModelNew: 1");
  ASSERT_EQ(api_.bodies_.size(), 4U);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(api_.bodies_[i]["evaluations"], named) << "the text is not kept twice";
}

TEST_F(OpenEnvTest, AnAnswerThatNobodyTakesCostsNoTurn) {
  const auto episode = Begin({{"problem_id", "1/19"}});
  json untaken;
  const Forget let_go = episode->Step({{"code", "class ModelNew: 1"}}, "", 50, api_.ask(),
                                      [&](const OpenEnvEpisode::Answer& answer) { untaken = *answer; });
  let_go();
  EXPECT_EQ(untaken["observation"]["judging"], true);
  EXPECT_EQ(api_.forgotten_, 1);
  api_.rewards = {Judged(0.3)};
  api_.Release();
  api_.rewards = {Judged(0.3)};
  const json told = Step(episode);
  EXPECT_EQ(told["reward"], 0.3);
  EXPECT_EQ(told["observation"]["turn"], 1);
  EXPECT_EQ(api_.bodies_[1], api_.bodies_[0]);
  let_go();
  EXPECT_EQ(api_.forgotten_, 1);
}

TEST_F(OpenEnvTest, AStepThatIsSentTwiceIsOne) {
  const auto episode = Begin({{"problem_id", "1/19"}, {"max_turns", 2}});
  api_.rewards = {Judged(0.3), Judged(0.8)};
  for (const char* id : {"first", "last"}) {
    const json told = Step(episode, id, id);
    EXPECT_EQ(told["done"], std::string(id) == "last");
    EXPECT_EQ(Step(episode, id, id), told);
  }
  EXPECT_EQ(api_.bodies_.size(), 2U);
  EXPECT_THAT(Step(episode, "x", "first"), HasSubstr("409 the episode is over"));
  EXPECT_THAT(Step(episode, "x"), HasSubstr("409 the episode is over"));
}

TEST_F(OpenEnvTest, WhatFailsIsTold) {
  const auto episode = Begin({{"problem_id", "1/19"}});
  api_.rewards = {{{"reward", 1}, {"evaluation", {{"id", nullptr}, {"state", "done"}}}}, Judged(0.3)};
  EXPECT_THAT(Step(episode), HasSubstr("500 "));
  EXPECT_EQ(Step(episode)["reward"], 0.3);
}

TEST_F(OpenEnvTest, ARefusedStepIsNoTurn) {
  const auto episode = Begin({{"problem_id", "1/19"}});
  api_.rewards = {{{"status", 400}}, Judged(0.3)};
  EXPECT_EQ(Step(episode), "400 no");
  EXPECT_EQ(Step(episode, "class ModelNew: 2")["observation"]["turn"], 1);
  EXPECT_EQ(api_.bodies_[1]["evaluations"][0]["source"], "class ModelNew: 2");

  EXPECT_TRUE(Step(episode).is_null());
  EXPECT_THAT(Step(episode), HasSubstr("409 the episode is busy"));
  episode->Abandon(api_.ask());
  EXPECT_EQ(api_.forgotten_, 1);
  EXPECT_EQ(api_.asked_.back(), "DELETE /v1/evaluations/e");
}

TEST(OpenEnv, ACandidateIsFoundInAnAction) {
  const std::string alias = "\n\nModelNew = Model\n";
  for (const char* code :
       {"class Model(nn.Module): pass", "import torch\nclass  Model :\n  pass", "x\nclass Model():"}) {
    EXPECT_EQ(CandidateOf(code, ".py"), code + alias);
    EXPECT_EQ(CandidateOf(code, ".cpp"), code);
  }
  for (const char* code : {"class ModelNew(Model): pass\nclass Model(): pass", " class Model: pass",
                           "class Models(): 1", "# class Model", "class Model", "class ", ""}) {
    EXPECT_EQ(CandidateOf(code, ".py"), code);
  }
  const std::string body = "(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n";
  const auto answer = [&](const char* name) {
    return "Like this:\n```python\nimport torch\n\nclass " + (name + body) + "```\nIt is fast.";
  };
  EXPECT_EQ(CandidateOf(answer("ModelNew"), ".py"), "import torch\n\nclass ModelNew" + body);
  EXPECT_EQ(CandidateOf(answer("Model"), ".py"), "import torch\n\nclass ModelNew" + body + "\n\nModel = ModelNew\n");
}

}  // namespace
}  // namespace kb::server

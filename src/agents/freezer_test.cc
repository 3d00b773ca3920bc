#include "agents/freezer.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "agents/agent_test_util.h"

namespace kb {
namespace {

// A box in which something runs that is never done.
class Busy {
 public:
  Busy() {
    auto made = SmallBox();
    EXPECT_TRUE(made) << made.error().message;
    box_.emplace(std::move(*made));
    runs_ = std::thread([this] { (void)box_->Run("while :; do echo >>beat; done"); });
    while (Beats() == 0) usleep(1000);
  }
  ~Busy() {
    box_->Stop();
    runs_.join();
  }
  Box* box() { return &*box_; }
  size_t Beats() { return box_->folder().Read("beat").value_or("").size(); }
  bool Rests() {
    const auto text = [this] { return box_->folder().Take().value().files.at(0).sha256; };
    const std::string before = text();
    usleep(100'000);
    return text() == before;
  }
  void AwaitBeat() {
    const auto text = [this] { return box_->folder().Take().value().files.at(0).sha256; };
    const std::string before = text();
    while (text() == before) usleep(1000);
  }

 private:
  std::optional<Box> box_;
  std::thread runs_;
};

TEST(FreezerTest, AllBoxesRestUntilTheLastHoldIsOver) {
  Freezer freezer;
  Busy one, two;
  freezer.Add(one.box());
  freezer.Add(two.box());
  {
    std::optional<Freezer::Hold> first(&freezer);
    const Freezer::Hold second(&freezer);
    EXPECT_TRUE(one.Rests());
    EXPECT_TRUE(two.Rests());
    first.reset();
    EXPECT_TRUE(one.Rests());
  }
  one.AwaitBeat();
  two.AwaitBeat();
  freezer.Remove(one.box());
  const Freezer::Hold third(&freezer);
  EXPECT_TRUE(two.Rests());
  one.AwaitBeat();
  freezer.Remove(two.box());
}

TEST(FreezerTest, ABoxWithADeviceToItselfRuns) {
  Freezer freezer;
  Busy one, two;
  freezer.Add(one.box());
  freezer.Add(two.box());
  {
    const Freezer::Hold hold(&freezer);
    EXPECT_TRUE(one.Rests());
    {
      const Freezer::Awake awake(&freezer, one.box());
      one.AwaitBeat();
      EXPECT_TRUE(two.Rests());
      const Freezer::Hold another(&freezer);
      one.AwaitBeat();
    }
    EXPECT_TRUE(one.Rests());
  }
  one.AwaitBeat();
  const Freezer::Awake nothing(nullptr, one.box());
  freezer.Remove(one.box());
  freezer.Remove(two.box());
}

TEST(FreezerTest, BoxesComeAndGoMeanwhile) {
  Freezer freezer;
  Busy busy;
  {
    const Freezer::Hold hold(&freezer);
    freezer.Add(busy.box());
    EXPECT_TRUE(busy.Rests());
    freezer.Remove(busy.box());
    busy.AwaitBeat();
  }
  const Freezer::Hold nothing(nullptr);
}

// Once it is known where: the agent's own, and those that may be in the way.
TEST(FreezerTest, BoxesElsewhereGoOn) {
  Freezer freezer;
  Busy own, apart, near, anywhere;
  int agent = 0;
  freezer.Add(own.box(), {.agent = &agent, .cores = {2, 3}});
  freezer.Add(apart.box(), {.agent = &freezer, .cores = {2, 3}});
  freezer.Add(near.box(), {.cores = {1, 2}});
  freezer.Add(anywhere.box());
  {
    const Freezer::Hold hold(&freezer, &agent);
    EXPECT_TRUE(apart.Rests()) << "nobody knows yet";
  }
  freezer.Measured({0, 1});
  {
    const Freezer::Hold hold(&freezer, &agent);
    EXPECT_TRUE(own.Rests());
    EXPECT_TRUE(near.Rests());
    EXPECT_TRUE(anywhere.Rests());
    apart.AwaitBeat();
    {
      const Freezer::Hold second(&freezer);
      apart.AwaitBeat();
    }
    EXPECT_TRUE(own.Rests());
  }
  own.AwaitBeat();
  freezer.Measured({});
  {
    const Freezer::Hold hold(&freezer, &agent);
    EXPECT_TRUE(apart.Rests()) << "another device has no cores of its own";
  }
  for (Busy* busy : {&own, &apart, &near, &anywhere}) freezer.Remove(busy->box());
}

TEST(FreezerTest, TheJudgeTellsWhereItMeasured) {
  Freezer freezer;
  Busy apart;
  freezer.Add(apart.box(), {.cores = {2, 3}});
  ScriptedApi api;
  AgentJudge judge({.ask = api.Ask(), .request = {{"problem", "1/19"}}, .freezer = &freezer});
  auto view = ViewOf(SampleCorrect("e", "1/19", 2.0));
  view["seat"] = {{"cores", {0, 1}}, {"nice", -20}};
  api.Says(200, view);
  ASSERT_TRUE(judge.Evaluate({.name = "k.cpp", .text = "x", .rejection = ""}));
  {
    const Freezer::Hold hold(&freezer);
    apart.AwaitBeat();
  }
  view["seat"]["cores"] = nullptr;
  api.Says(200, view);
  ASSERT_TRUE(judge.Evaluate({.name = "k.cpp", .text = "x", .rejection = ""}));
  const Freezer::Hold hold(&freezer);
  EXPECT_TRUE(apart.Rests());
  freezer.Remove(apart.box());
}

TEST(FreezerTest, BoxesRestWhileTheJudgeMeasures) {
  Freezer freezer;
  Busy busy;
  freezer.Add(busy.box());
  ScriptedApi api;
  bool rested = true;
  api.on_request = [&] { rested = rested && busy.Rests(); };
  AgentJudge judge({.ask = api.Ask(), .request = {{"problem", "1/19"}}, .freezer = &freezer});
  api.Says(202, Unfinished());
  api.Says(200, ViewOf(SampleCorrect("e", "1/19", 2.0)));
  ASSERT_TRUE(judge.Evaluate({.name = "k.cpp", .text = "x", .rejection = ""}));
  EXPECT_TRUE(rested);
  busy.AwaitBeat();
  freezer.Remove(busy.box());
}

}  // namespace
}  // namespace kb

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "base/interrupt.h"
#include "server/desk.h"
#include "server/desk_test_util.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(DeskTest, WhatHasNotEndedIsCancelled) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  const std::string first = Take(desk.get(), "first");
  gate.Await(1);
  const std::string second = Take(desk.get(), "second");
  auto waiting = std::async(std::launch::async, [&] { return End(desk.get(), second); });
  ASSERT_TRUE(Soon([&] { return desk->remembered().listeners == 1; }));
  const json cancelled = desk->Cancel("ann", second, "for a test").value();
  EXPECT_EQ(cancelled["state"], "cancelled");
  EXPECT_EQ(cancelled["error"], "cancelled: for a test");
  EXPECT_EQ(waiting.get()->at("state"), "cancelled");
  EXPECT_THAT(EventsOf(desk.get(), second, 0), ElementsAre("0 queued", "1 cancelled"));
  EXPECT_EQ(desk->Cancel("ann", second, "again")->at("error"), "cancelled: for a test");
  gate.Open();
  EXPECT_EQ(End(desk.get(), first)->at("state"), "done");
  EXPECT_EQ(desk->Cancel("ann", first, "for a test")->at("state"), "done") << "it has ended";
  EXPECT_EQ(Judged("second"), 0);
}

// Its judge is interrupted, the next one is judged, and no later service judges it.
TEST_F(DeskTest, WhatIsBeingJudgedIsCancelled) {
  Gate gate;
  std::atomic<int> interrupted = 0;
  judging_.judge = [&](const kb::Request& request) -> Result<Evaluation> {
    if (request.candidate.source == "next") return Evaluation();
    while (!Interrupted()) std::this_thread::yield();
    ++interrupted;
    gate.Pass();
    return Evaluation();  // the interrupt came too late for it
  };
  auto desk = Open();
  const std::string kept = Take(desk.get(), "kept"), unkept = Take(desk.get(), "unkept", {{"keep", false}});
  const std::string next = Take(desk.get(), "next");
  for (const std::string& id : {kept, unkept}) {
    ASSERT_TRUE(Soon([&] { return StateOf(desk.get(), id) == "judging"; }));
    EXPECT_EQ(desk->Cancel("ann", id, "for a test")->at("state"), "cancelled");
    EXPECT_THAT(EventsOf(desk.get(), id, 0), ElementsAre("0 queued", "1 preparing", "2 judging", "3 cancelled"));
    gate.Open();
  }
  EXPECT_EQ(End(desk.get(), next)->at("state"), "done");
  EXPECT_EQ(interrupted, 2);
  EXPECT_EQ(desk->counts().ended["cancelled"], 2);
  EXPECT_EQ(desk->counts().Open(), 0);
  EXPECT_EQ(store_.List()->size(), 1u) << "nothing is kept of what was cancelled";
  desk = Open();
  EXPECT_EQ(desk->remembered().open, 0u);
  EXPECT_EQ(desk->Find("ann", kept, false)->at("error"), "cancelled: for a test");
}

// Whichever comes first counts, for clients and for the store.
TEST_F(DeskTest, ACancelThatMeetsTheEndSaysWhatTheStoreSays) {
  const auto desk = Open();
  std::vector<Order> orders;
  for (int i = 0; i < 100; ++i) orders.push_back(MakeOrder(std::to_string(i)));
  const auto ids = desk->Take({"ann"}, std::move(orders)).value();
  std::map<std::string, int> last;
  std::mutex mutex;
  for (const std::string& id : ids) {
    ASSERT_TRUE(desk->Watch("ann", id, 0, [&](size_t, const Event& event) {
      const std::lock_guard lock(mutex);
      if (event.last) ++last[event.name];
      return !event.last;
    }));
  }
  std::map<std::string, std::string> told;
  for (const std::string& id : ids) {
    const auto view = desk->Cancel("ann", id, "for a test");
    told[id] = view ? view->at("state").get<std::string>() : view.error().message;
  }
  ASSERT_TRUE(Soon([&] { return desk->counts().Open() == 0; }));
  int done = 0;
  for (const std::string& id : ids) {
    const std::string state = store_.FindSubmission(id)->value().job.state;
    EXPECT_EQ(told[id], state == "done" ? "done" : "cancelled") << id;
    EXPECT_EQ(StateOf(desk.get(), id), told[id]);
    done += state == "done" ? 1 : 0;
  }
  EXPECT_EQ(store_.List()->size(), static_cast<size_t>(done));
  desk->Stop();
  EXPECT_EQ(last["done"], done);
  EXPECT_EQ(last["cancelled"], 100 - done);
}

// The store says so before anything is ended: a service that is killed then has not forgotten it.
TEST_F(DeskTest, ACancelIsInTheStoreWhileItsJudgeStillWorks) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  const std::string id = Take(desk.get(), "one");
  gate.Await(1);
  ASSERT_TRUE(desk->Cancel("ann", id, "for a test"));
  const Job job = store_.FindSubmission(id)->value().job;
  EXPECT_EQ(job.state, "failed");
  EXPECT_EQ(job.error, "cancelled: for a test");
  EXPECT_EQ(job.owner, "");
  gate.Open();
}

TEST_F(DeskTest, WhatAnotherKindOfDeviceIsToJudgeIsCancelledInTheStore) {
  Gate gate;
  JudgeBehind(&gate);
  auto desk = Open();
  Take(desk.get(), "first");
  gate.Await(1);
  const std::string id = Take(desk.get(), "second");
  auto stopping = std::async(std::launch::async, [&] { desk->Stop(); });
  ASSERT_TRUE(Soon([&] { return !desk->Take({"ann"}, {MakeOrder("refused")}); }));
  gate.Open();
  stopping.get();
  reader_ = std::make_shared<const OrderReader>(path("problems"), std::string(KB_SOURCE_DIR) + "/protocols", "cuda");
  desk = Open();
  EXPECT_EQ(StateOf(desk.get(), id), "queued");
  EXPECT_FALSE(desk->Cancel("bob", id, "for bob"));
  EXPECT_EQ(desk->Cancel("ann", id, "for a test")->at("state"), "cancelled");
}

TEST_F(DeskTest, OneThatIsNotKeptEndsWithTheLastWhoListens) {
  judging_.judge = [&](const kb::Request&) -> Result<Evaluation> {
    while (!Interrupted()) std::this_thread::yield();
    return Fail(ErrorCode::kInterrupted, "interrupted");
  };
  const auto desk = Open();
  const std::string id = Take(desk.get(), "one", {{"keep", false}});
  const auto silent = [](const Result<json>&) {};
  const uint64_t first = desk->Await("ann", id, kLong, false, silent);
  const uint64_t second = desk->Watch("ann", id, 100, [](size_t, const Event&) { return true; }).value();
  desk->Forget(id, first);
  EXPECT_NE(StateOf(desk.get(), id), "cancelled") << "another listens";
  desk->Forget(id, second);
  EXPECT_EQ(StateOf(desk.get(), id), "cancelled");
  EXPECT_EQ(desk->remembered().timers, 0u);
}

TEST_F(DeskTest, ADeadlineEndsWhatWaitsAndNothingElse) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  const std::string judged = Take(desk.get(), "judged", {{"deadline_s", 500}});
  gate.Await(1);
  EXPECT_EQ(desk->remembered().timers, 0u) << "its turn has come";
  const std::string late = Take(desk.get(), "late", {{"deadline_s", 0.01}});
  const std::string patient = Take(desk.get(), "patient", {{"deadline_s", 500}});
  EXPECT_THAT(End(desk.get(), late)->at("error"), HasSubstr("deadline"));
  gate.Open();
  EXPECT_EQ(End(desk.get(), judged)->at("state"), "done");
  EXPECT_EQ(End(desk.get(), patient)->at("state"), "done");
  EXPECT_EQ(Judged("late"), 0);
  EXPECT_EQ(desk->remembered().timers, 0u);
}

}  // namespace
}  // namespace kb::server

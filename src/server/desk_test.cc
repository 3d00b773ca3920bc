#include "server/desk.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <future>

#include "server/http_test_util.h"
#include "server/service_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kLong = 600;

// The judge waits in it until it is opened.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  // Until so many have come.
  void Await(int came) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return came_ >= came; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int came_ = 0;
};

class DeskTest : public ServiceTest {
 protected:
  // Every candidate waits in the gate, while it is judged.
  void JudgeBehind(Gate* gate) {
    judging_.judge = [gate](const kb::Request&) -> Result<Evaluation> {
      gate->Pass();
      return Evaluation();
    };
  }
  // What is told of it when it has ended.
  static Result<json> End(Desk* desk, const std::string& id, const std::string& client = "ann", bool whole = false) {
    std::promise<Result<json>> told;
    desk->Await(client, id, kLong, whole, [&](Result<json> view) { told.set_value(std::move(view)); });
    return told.get_future().get();
  }
  static std::string StateOf(Desk* desk, const std::string& id, const std::string& client = "ann") {
    const auto view = desk->Find(client, id, false);
    return view ? view->at("state").get<std::string>() : view.error().message;
  }
  // Names of the events from number `from` on, with their numbers, until the last.
  static std::vector<std::string> EventsOf(Desk* desk, const std::string& id, size_t from) {
    const auto names = std::make_shared<std::vector<std::string>>();
    const auto ended = std::make_shared<std::promise<void>>();
    const auto watching = desk->Watch("ann", id, from, [names, ended](size_t at, const Event& event) {
      names->push_back(std::to_string(at) + " " + event.name);
      if (event.last) ended->set_value();
      return !event.last;
    });
    EXPECT_TRUE(watching) << watching.error().message;
    ended->get_future().wait();
    return *names;
  }
  int Judged(const std::string& source) {
    const std::lock_guard lock(judging_.mutex);
    return judging_.judged[source];
  }
};

TEST_F(DeskTest, WhatIsAcceptedIsJudgedAndKept) {
  const auto desk = Open();
  const std::string id = Take(desk.get(), "one", {{"run", "r"}, {"model", "m"}, {"sample", 3}});
  const json view = End(desk.get(), id).value();
  EXPECT_EQ(view["state"], "done");
  EXPECT_EQ(view["id"], id);
  EXPECT_EQ(view["run"], "r");
  EXPECT_FALSE(view.contains("evaluation"));
  const json kept = store_.Get(view["evaluation_id"].get<std::string>()).value();
  EXPECT_EQ(kept["run"], "r");
  EXPECT_EQ(kept["model"], "m");
  EXPECT_EQ(kept["sample"], 3);
  EXPECT_EQ(End(desk.get(), id, "ann", true)->at("evaluation")["id"], view["evaluation_id"]);
}

TEST_F(DeskTest, AClientSeesItsOwnAlone) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  const auto ids = desk->Take("ann", {MakeOrder("one")}, "batch").value();
  EXPECT_EQ(StateOf(desk.get(), ids[0], "bob"), "there is no evaluation " + ids[0]);
  EXPECT_FALSE(End(desk.get(), ids[0], "bob"));
  EXPECT_FALSE(desk->Watch("bob", ids[0], 0, [](size_t, const Event&) { return true; }));
  EXPECT_FALSE(desk->Cancel("bob", ids[0], "for bob"));
  EXPECT_FALSE(desk->FindBatch("bob", "batch"));
  EXPECT_EQ(desk->FindBatch("ann", "batch")->size(), 1u);
  gate.Open();
  EXPECT_EQ(End(desk.get(), ids[0])->at("state"), "done");
  EXPECT_EQ(StateOf(desk.get(), ids[0], "bob"), "there is no evaluation " + ids[0]) << "nor after its end";
}

TEST_F(DeskTest, WhoWaitsIsToldHowFarItIsWhenTheTimeIsOver) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  const std::string id = Take(desk.get(), "one");
  gate.Await(1);
  std::promise<std::string> told;
  desk->Await("ann", id, 0.01, false, [&](const Result<json>& view) { told.set_value(view->at("state")); });
  EXPECT_EQ(told.get_future().get(), "judging");
  EXPECT_EQ(desk->remembered().listeners, 0u);
  gate.Open();
  EXPECT_EQ(End(desk.get(), id)->at("state"), "done");
}

TEST_F(DeskTest, AnErrorOfTheEngineFailsItAndIsNoVerdict) {
  judging_.judge = [](const kb::Request&) -> Result<Evaluation> { return Fail(ErrorCode::kUnavailable, "no device"); };
  const auto desk = Open();
  const json view = End(desk.get(), Take(desk.get(), "one")).value();
  EXPECT_EQ(view["state"], "failed");
  EXPECT_TRUE(view["verdict"].is_null());
  EXPECT_EQ(view["fault"], "machine");
  EXPECT_EQ(view["retryable"], true);
  EXPECT_THAT(view["error"], HasSubstr("no device"));
}

TEST_F(DeskTest, EventsComeInOrderFromAnyNumberAndAfterTheEnd) {
  Gate gate;
  judging_.judge = [&](const kb::Request& request) -> Result<Evaluation> {
    gate.Pass();
    request.watch(1, false);
    request.watch(2, false);
    return Evaluation();
  };
  const auto desk = Open();
  const std::string id = Take(desk.get(), "one");
  gate.Await(1);
  auto early = std::async(std::launch::async, [&] { return EventsOf(desk.get(), id, 1); });
  ASSERT_TRUE(Soon([&] { return desk->remembered().listeners == 1; }));
  gate.Open();
  EXPECT_THAT(early.get(), ElementsAre("1 preparing", "2 judging", "3 round", "4 round", "5 done"));
  EXPECT_THAT(EventsOf(desk.get(), id, 0),
              ElementsAre("0 queued", "1 preparing", "2 judging", "3 round", "4 round", "5 done"));
  int more = 0;
  EXPECT_EQ(desk->Watch("ann", id, 6, [&](size_t, const Event&) { return ++more > 0; }).value(), 0u);
  EXPECT_EQ(more, 0) << "none comes after the last";
  EXPECT_EQ(desk->remembered().listeners, 0u);
}

TEST_F(DeskTest, WhoGoesAwayIsForgotten) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  const std::string id = Take(desk.get(), "one");
  gate.Await(1);
  bool told = false;
  std::vector<uint64_t> numbers;
  for (int i = 0; i < 100; ++i) {
    numbers.push_back(desk->Await("ann", id, kLong, false, [&](const Result<json>&) { told = true; }));
    numbers.push_back(desk->Watch("ann", id, 100, [&](size_t, const Event&) { return told = true; }).value());
  }
  EXPECT_EQ(desk->remembered().listeners, 200u);
  EXPECT_EQ(desk->remembered().timers, 100u);
  for (const uint64_t number : numbers) desk->Forget(id, number);
  EXPECT_EQ(desk->remembered().listeners, 0u);
  EXPECT_EQ(desk->remembered().timers, 0u);
  gate.Open();
  EXPECT_EQ(End(desk.get(), id)->at("state"), "done");
  EXPECT_FALSE(told);
}

TEST_F(DeskTest, WhatHasNotBegunIsCancelled) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  const std::string first = Take(desk.get(), "first");
  gate.Await(1);
  const std::string second = Take(desk.get(), "second");
  auto waiting = std::async(std::launch::async, [&] { return End(desk.get(), second); });
  ASSERT_TRUE(Soon([&] { return desk->remembered().listeners == 1; }));
  EXPECT_EQ(desk->Cancel("ann", first, "for a test")->at("state"), "judging") << "what has begun is judged";
  const json cancelled = desk->Cancel("ann", second, "for a test").value();
  EXPECT_EQ(cancelled["state"], "cancelled");
  EXPECT_EQ(cancelled["error"], "cancelled: for a test");
  EXPECT_EQ(waiting.get()->at("state"), "cancelled");
  EXPECT_THAT(EventsOf(desk.get(), second, 0), ElementsAre("0 queued", "1 cancelled"));
  EXPECT_EQ(desk->Cancel("ann", second, "again")->at("error"), "cancelled: for a test");
  gate.Open();
  EXPECT_EQ(End(desk.get(), first)->at("state"), "done");
  EXPECT_EQ(Judged("second"), 0);
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

TEST_F(DeskTest, AKeyAsksOnceAlsoFromManyThreads) {
  const auto desk = Open();
  std::vector<std::future<std::string>> asked;
  for (int i = 0; i < 8; ++i) {
    asked.push_back(std::async(std::launch::async, [&] {
      std::string id;
      for (int time = 0; time < 20; ++time) id = Take(desk.get(), "one", {{"idempotency_key", "k"}});
      return id;
    }));
  }
  const std::string id = asked[0].get();
  for (size_t i = 1; i < asked.size(); ++i) EXPECT_EQ(asked[i].get(), id);
  EXPECT_EQ(End(desk.get(), id)->at("state"), "done");
  EXPECT_EQ(Take(desk.get(), "one", {{"idempotency_key", "k"}}), id) << "after its end, too";
  EXPECT_EQ(Judged("one"), 1);
  EXPECT_EQ(desk->remembered().open, 0u);
  const auto other = desk->Take("ann", {MakeOrder("two", {{"idempotency_key", "k"}})});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("another request"));
}

TEST_F(DeskTest, WhatIsNotKeptLeavesNothingInTheStore) {
  const auto desk = Open();
  const std::string id = Take(desk.get(), "secret", {{"keep", false}});
  const json view = End(desk.get(), id, "ann", true).value();
  EXPECT_EQ(view["state"], "done");
  EXPECT_EQ(view["run"], "");
  EXPECT_FALSE(store_.FindSubmission(id).value());
  EXPECT_FALSE(store_.Source(view["candidate"]["sha256"].get<std::string>()));
  EXPECT_TRUE(store_.List()->empty());
  EXPECT_TRUE(store_.Runs()->empty());
}

TEST_F(DeskTest, WhatWasQueuedIsJudgedOnceByTheNext) {
  Gate gate;
  judging_.judge = [&](const kb::Request&) -> Result<Evaluation> {
    gate.Pass();
    return Fail(ErrorCode::kInterrupted, "interrupted");
  };
  auto desk = Open();
  const std::string begun = Take(desk.get(), "begun");
  gate.Await(1);
  const std::string queued = Take(desk.get(), "queued");
  const std::string late = Take(desk.get(), "late", {{"deadline_s", 1e5}});
  const std::string cancelled = Take(desk.get(), "cancelled");
  ASSERT_TRUE(desk->Cancel("ann", cancelled, "for a test"));
  gate.Open();
  desk.reset();
  judging_.judge = nullptr;
  desk = Open();
  for (const std::string& id : {begun, queued, late}) EXPECT_EQ(End(desk.get(), id)->at("state"), "done");
  EXPECT_EQ(StateOf(desk.get(), cancelled), "cancelled");
  EXPECT_EQ(Judged("begun"), 2) << "once by each";
  EXPECT_EQ(Judged("queued"), 1);
  EXPECT_EQ(Judged("cancelled"), 0);
  EXPECT_EQ(store_.List()->size(), 3u);
}

TEST_F(DeskTest, WhatCannotBeJudgedAnyMoreHasFailedAfterARestart) {
  WriteProblem("level1/20_Gone.py", kProblem);
  reader_ = std::make_shared<const OrderReader>(path("problems"), std::string(KB_SOURCE_DIR) + "/protocols", "cpu");
  Gate gate;
  JudgeBehind(&gate);
  auto desk = Open();
  Take(desk.get(), "first");
  gate.Await(1);
  const std::string gone = Take(desk.get(), "second", {{"problem", "1/20"}});
  auto stopping = std::async(std::launch::async, [&] { desk->Stop(); });
  ASSERT_TRUE(Soon([&] { return !desk->Take("ann", {MakeOrder("refused")}); }));
  gate.Open();
  stopping.get();
  desk.reset();
  std::filesystem::remove(path("problems") / "level1/20_Gone.py");
  reader_ = std::make_shared<const OrderReader>(path("problems"), std::string(KB_SOURCE_DIR) + "/protocols", "cpu");
  desk = Open();
  const json view = desk->Find("ann", gone, false).value();
  EXPECT_EQ(view["state"], "failed");
  EXPECT_THAT(view["error"], HasSubstr("there is no problem 1/20"));
}

// `kernelbench run` goes on with a run that clients write into.
TEST_F(DeskTest, WhatAnotherProcessJudgesIsToldFromTheStore) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  Take(desk.get(), "first");
  gate.Await(1);
  const std::string id = Take(desk.get(), "second");
  const int64_t job = store_.FindSubmission(id)->value().job.id;
  ASSERT_TRUE(store_.ClaimJob(job, "another").value());
  auto waiting = std::async(std::launch::async, [&] { return End(desk.get(), id); });
  ASSERT_TRUE(Soon([&] { return desk->remembered().listeners == 1; }));
  gate.Open();
  EXPECT_EQ(waiting.get()->at("state"), "judging");
  ASSERT_TRUE(store_.GiveUpJob(job, "another", "no memory", false).value());
  EXPECT_EQ(StateOf(desk.get(), id), "failed");
  EXPECT_EQ(Judged("second"), 0);
  EXPECT_EQ(desk->remembered().open, 0u);
}

TEST_F(DeskTest, WhoWaitsWhenItStopsIsTold) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  const std::string judged = Take(desk.get(), "judged");
  gate.Await(1);
  const std::string kept = Take(desk.get(), "kept"), unkept = Take(desk.get(), "unkept", {{"keep", false}});
  std::vector<std::future<Result<json>>> waiting;
  for (const std::string& id : {judged, kept, unkept}) {
    waiting.push_back(std::async(std::launch::async, [&desk, id] { return End(desk.get(), id); }));
  }
  ASSERT_TRUE(Soon([&] { return desk->remembered().listeners == 3; }));
  auto stopping = std::async(std::launch::async, [&] { desk->Stop(); });
  ASSERT_TRUE(Soon([&] { return !desk->Take("ann", {MakeOrder("refused")}); }));
  gate.Open();
  stopping.get();
  EXPECT_EQ(waiting[0].get()->at("state"), "done") << "what is being judged is judged to its end";
  EXPECT_EQ(waiting[1].get()->at("state"), "queued");
  const auto lost = waiting[2].get();
  ASSERT_FALSE(lost) << "nobody will judge it";
  EXPECT_EQ(lost.error().code, ErrorCode::kInterrupted);
  EXPECT_FALSE(desk->Find("ann", unkept, false));
  EXPECT_EQ(End(desk.get(), kept)->at("state"), "queued") << "at once, though it has not ended";
  EXPECT_EQ(store_.FindSubmission(kept)->value().job.state, "queued");
  EXPECT_EQ(desk->remembered().timers, 0u);
}

// The end of the desk meets deadlines, waiting and cancelling: nothing is called that has gone.
TEST_F(DeskTest, ItMayEndAtAnyMoment) {
  for (int round = 0; round < 30; ++round) {
    auto desk = Open();
    std::atomic<int> told = 0;
    std::vector<std::string> ids;
    for (int i = 0; i < 20; ++i) {
      ids.push_back(Take(desk.get(), std::to_string(i), {{"keep", false}, {"deadline_s", 0.001 * (1 + i)}}));
      desk->Await("ann", ids.back(), 0.001 * (20 - i), false, [&](const Result<json>&) { ++told; });
    }
    auto cancelling = std::async(std::launch::async, [&] {
      for (const std::string& id : ids) (void)desk->Cancel("ann", id, "for a test");
    });
    desk->Stop();
    cancelling.get();
    EXPECT_TRUE(Soon([&] { return told == 20; })) << told;
    desk.reset();
  }
}

TEST_F(DeskTest, ThousandsLeaveNothingBehind) {
  const auto desk = Open();
  std::atomic<int> ended = 0;
  std::vector<Order> orders;
  for (int i = 0; i < 500; ++i) orders.push_back(MakeOrder(std::to_string(i), {{"keep", false}, {"deadline_s", 1e5}}));
  for (int batch = 0; batch < 10; ++batch) {
    const auto ids = desk->Take("ann", orders).value();
    for (const std::string& id : ids) {
      desk->Await("ann", id, kLong, false, [&](const Result<json>&) { ++ended; });
      (void)desk->Watch("ann", id, 0, [](size_t, const Event&) { return true; });
    }
    ASSERT_TRUE(Soon([&] { return ended == 500 * (batch + 1); })) << ended;
  }
  const Desk::Remembered left = desk->remembered();
  EXPECT_LE(left.entries, 256u);
  EXPECT_EQ(left.open, 0u);
  EXPECT_EQ(left.timers, 0u);
  EXPECT_EQ(left.listeners, 0u);
  EXPECT_EQ(desk->OpenOf("ann"), 0u);
  for (const auto& [state, count] : desk->counts().open) EXPECT_EQ(count, 0) << state;
}

}  // namespace
}  // namespace kb::server

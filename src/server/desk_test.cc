#include "server/desk.h"

#include <gmock/gmock.h>

#include <future>

#include "server/desk_test_util.h"
#include "server/evaluation_view.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  const auto ids = desk->Take({"ann"}, {MakeOrder("one")}, "batch").value();
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

TEST_F(DeskTest, WhoseFaultAFailureWasIsKept) {
  const std::map<std::string, std::pair<ErrorCode, std::string>> errors = {
      {"caller", {ErrorCode::kUsage, "no get_inputs()"}},
      {"machine", {ErrorCode::kUnavailable, "no memory"}},
      {"engine", {ErrorCode::kEngine, "a bug"}}};
  judging_.judge = [&](const kb::Request& request) -> Result<Evaluation> {
    const auto& [code, message] = errors.at(request.candidate.source);
    return Fail(code, message);
  };
  std::map<std::string, json> live;
  auto desk = Open();
  for (const auto& [fault, error] : errors) {
    const json view = End(desk.get(), Take(desk.get(), fault)).value();
    EXPECT_EQ(view["fault"], fault);
    EXPECT_EQ(view["error"], error.second);
    live[view["id"]] = view;
  }
  desk.reset();
  desk = Open();
  for (const auto& [id, view] : live) EXPECT_EQ(desk->Find("ann", id, false).value(), view);
  const auto lines = store_.Submissions({.client = "ann", .limit = 3}).value();
  EXPECT_EQ(lines.items.size(), 3u);
  for (const auto& line : lines.items) {
    EXPECT_EQ(LineOf(line, "failed")["error"], live[line.submission.id]["error"]);
  }
  // One of an earlier version.
  Job old;
  old.state = "failed";
  old.error = "out of memory";
  EXPECT_EQ(ErrorOf(old).code, ErrorCode::kEngine);
  EXPECT_EQ(ErrorOf(old).message, "out of memory");
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

// On a machine that is too busy it is put off, and judged once more when others have been.
TEST_F(DeskTest, WhatIsPutOffIsNotBeingJudged) {
  Gate taken, gate;
  judging_.judge = [&](const kb::Request& request) -> Result<Evaluation> {
    Evaluation evaluation;
    evaluation.verdict = Verdict::kCorrect;
    if (request.candidate.source == "busy") taken.Pass();
    if (request.candidate.source == "busy") evaluation.timings.no_speedup = kMachineBusy;
    if (request.candidate.source == "next") gate.Pass();
    return evaluation;
  };
  const auto desk = Open();
  const auto ids = desk->Take({"ann"}, {MakeOrder("busy"), MakeOrder("next")}).value();
  taken.Open();  // alone it would be judged once more at once
  gate.Await(1);
  EXPECT_EQ(StateOf(desk.get(), ids[0]), "preparing");
  EXPECT_EQ(desk->counts().open["judging"], 1);
  gate.Open();
  EXPECT_THAT(EventsOf(desk.get(), ids[0], 0),
              ElementsAre("0 queued", "1 preparing", "2 judging", "3 preparing", "4 judging", "5 done"));
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

TEST_F(DeskTest, AQuotaHoldsForManyThatAskAtOnce) {
  Gate gate;
  JudgeBehind(&gate);
  const auto desk = Open();
  std::atomic<int> accepted = 0, refused = 0;
  std::vector<std::future<void>> asking;
  for (int i = 0; i < 8; ++i) {
    asking.push_back(std::async(std::launch::async, [&, i] {
      for (int time = 0; time < 5; ++time) {
        const auto ids = desk->Take({.name = "ann", .queued = 7}, {MakeOrder(std::to_string(i * 100 + time))});
        EXPECT_TRUE(ids || ids.error().status == 429);
        ++(ids ? accepted : refused);
      }
    }));
  }
  for (auto& each : asking) each.get();
  EXPECT_EQ(accepted, 7);
  EXPECT_EQ(refused, 33);
  EXPECT_TRUE(desk->Take({.name = "bob", .queued = 1}, {MakeOrder("bob's")})) << "each client has its own";
  gate.Open();
}

TEST_F(DeskTest, DeviceSecondsOfAClientAreCounted) {
  judging_.judge = [](const kb::Request&) -> Result<Evaluation> {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return Evaluation();
  };
  const auto desk = Open();
  const Client ann{.name = "ann", .device_s = 0.001};
  const auto ids = desk->Take(ann, {MakeOrder("one")});
  ASSERT_TRUE(ids);
  EXPECT_EQ(End(desk.get(), ids->at(0))->at("state"), "done");
  const auto over = desk->Take(ann, {MakeOrder("two")});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().status, 429);
  EXPECT_THAT(over.error().detail, HasSubstr("--device-seconds"));
  EXPECT_TRUE(desk->Take({.name = "bob", .device_s = 0.001}, {MakeOrder("three")}));
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
  const auto other = desk->Take({"ann"}, {MakeOrder("two", {{"idempotency_key", "k"}})});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().status, 409);
  EXPECT_THAT(other.error().detail, HasSubstr("another request"));
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
  const int before = Judged("queued");  // perhaps the first came to it before it stopped
  judging_.judge = nullptr;
  desk = Open();
  for (const std::string& id : {begun, queued, late}) EXPECT_EQ(End(desk.get(), id)->at("state"), "done");
  EXPECT_EQ(StateOf(desk.get(), cancelled), "cancelled");
  EXPECT_EQ(Judged("begun"), 2) << "once by each";
  EXPECT_EQ(Judged("queued") - before, 1);
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
  ASSERT_TRUE(Soon([&] { return !desk->Take({"ann"}, {MakeOrder("refused")}); }));
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
  ASSERT_TRUE(Soon([&] { return !desk->Take({"ann"}, {MakeOrder("refused")}); }));
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
    const auto ids = desk->Take({"ann"}, orders).value();
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

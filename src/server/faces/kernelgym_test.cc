#include "server/faces/kernelgym.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "server/api_test_util.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Its requests over HTTP, with the fake judge.
class KernelGymTest : public ApiTest {
 protected:
  KernelGymTest() {
    judging_.judge = [](const kb::Request&) -> Result<Evaluation> {
      Evaluation evaluation;
      evaluation.verdict = Verdict::kIncorrect;
      evaluation.reason = "it is wrong";
      return evaluation;
    };
  }
  static json Task(const std::string& id, const std::string& source, const json& more = json::object()) {
    json task = {{"task_id", id}, {"reference_code", kProblem}, {"kernel_code", source}};
    task.update(more);
    return task;
  }
  int Judged(const std::string& source) {
    const std::lock_guard lock(judging_.mutex);
    return judging_.judged[source];
  }
};

TEST_F(KernelGymTest, ATaskIsJudgedOnceAndFoundAgain) {
  Serve();
  const auto [status, result] = Post("/evaluate", Task("a/b c", "one"));
  EXPECT_EQ(status, 200) << result;
  EXPECT_EQ(result["task_id"], "a/b c");
  EXPECT_EQ(result["status"], "completed");
  EXPECT_EQ(result["error_code"], "CORRECTNESS_ERROR");
  EXPECT_EQ(result["error_message"], "it is wrong");
  EXPECT_EQ(result["metadata"]["problem"], "1/19") << "its text is that of the file";
  EXPECT_EQ(Ask("GET", "/status/a/b%20c").second["status"], "completed");
  EXPECT_EQ(Ask("GET", "/results/a/b%20c").second, result);
  EXPECT_EQ(Post("/evaluate", Task("a/b c", "one")).second, result);
  EXPECT_EQ(Judged("one"), 1);
  EXPECT_THAT(Detail(Post("/evaluate", Task("a/b c", "two"))), HasSubstr("409 task a/b c was another request"));
  // Anew, and then that counts.
  EXPECT_EQ(Post("/evaluate", Task("a/b c", "two", {{"force_refresh", true}})).first, 200);
  EXPECT_NE(Ask("GET", "/results/a/b%20c").second["metadata"]["id"], result["metadata"]["id"]);
  EXPECT_THAT(Detail(Ask("GET", "/status/none")), HasSubstr("404 there is no task none"));
  EXPECT_THAT(Detail(Ask("GET", "/results/none")), HasSubstr("404 there is no task none"));
  EXPECT_EQ(Ask("GET", "/queue/status").second["completed"], 2);
  // After a restart, too.
  StopServing();
  Serve();
  EXPECT_EQ(Ask("GET", "/status/a/b%20c").second["status"], "completed");
  EXPECT_EQ(Post("/evaluate", Task("a/b c", "two")).first, 200);
  EXPECT_EQ(Judged("two"), 1);
}

TEST_F(KernelGymTest, WhatIsSpoiltIsNoResultAndJudgedAnew) {
  std::atomic<int> times = 0;
  judging_.judge = [&](const kb::Request&) -> Result<Evaluation> {
    if (++times <= 2) return Fail(ErrorCode::kUnavailable, "the device is gone");
    return Evaluation();
  };
  Serve();
  for (int i = 1; i <= 2; ++i) {
    const auto [status, result] = Post("/evaluate", Task("t", "one"));
    EXPECT_EQ(status, 503) << result;
    EXPECT_EQ(times, i);
    EXPECT_EQ(result["error_code"], "RESOURCE_ERROR");
    EXPECT_EQ(result["fault"], "machine");
    EXPECT_EQ(result["retryable"], true);
    for (const char* path : {"/status/t", "/results/t"}) {
      EXPECT_EQ(Detail(Ask("GET", path)), "503 the device is gone") << "what its client takes for final is not told";
    }
  }
  EXPECT_EQ(Post("/evaluate", Task("t", "one")).first, 200);
  EXPECT_EQ(times, 3);
  EXPECT_EQ(Ask("GET", "/status/t").second["status"], "completed");
}

// Its client sends it again after 503, and polls once that has gone on for too long.
TEST_F(KernelGymTest, WhatTakesLongerIsWaitedForAgain) {
  std::promise<void> go;
  judging_.judge = [going = go.get_future().share()](const kb::Request&) -> Result<Evaluation> {
    going.wait();
    return Evaluation();
  };
  Serve();
  for (int i = 0; i < 2; ++i) {
    const auto [status, result] = Post("/evaluate", Task("t", "one", {{"timeout", 1}}));
    EXPECT_EQ(status, 503);
    EXPECT_THAT(result["detail"], HasSubstr("it is not judged yet"));
    EXPECT_EQ(result["retryable"], true);
  }
  EXPECT_EQ(Ask("GET", "/status/t").second["status"], "processing");
  EXPECT_THAT(Detail(Ask("GET", "/results/t")), HasSubstr("404 task t has not ended"));
  EXPECT_EQ(Ask("GET", "/queue/status").second["processing"], 1);
  go.set_value();
  EXPECT_EQ(Post("/evaluate", Task("t", "one", {{"timeout", 1}})).second["status"], "completed");
  EXPECT_EQ(Judged("one"), 1);
}

TEST_F(KernelGymTest, WhatIsSentAgainIsJudgedOnceAlsoAnew) {
  std::promise<void> go;
  judging_.judge = [going = go.get_future().share()](const kb::Request&) -> Result<Evaluation> {
    going.wait();
    return Evaluation();
  };
  Serve();
  const json anew = {{"timeout", 1}, {"force_refresh", true}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Post("/evaluate", Task("t", "one", anew)).first, 503);
  EXPECT_EQ(Ask("GET", "/v1/evaluations").second["evaluations"].size(), 1u);
  // Another one of that name.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Post("/evaluate", Task("t", "two", anew)).first, 503);
  EXPECT_EQ(Ask("GET", "/v1/evaluations").second["evaluations"].size(), 2u);
  go.set_value();
  EXPECT_TRUE(Soon([&] { return desk_->OpenOf(kLocalClient) == 0; }));
  EXPECT_EQ(Post("/evaluate", Task("t", "two", anew)).first, 200);
  EXPECT_EQ(Judged("one"), 1);
  EXPECT_EQ(Judged("two"), 2) << "it had ended";
  // Without a name.
  json task = Task("", "three");
  task.erase("task_id");
  const auto [status, result] = Post("/evaluate", task);
  EXPECT_EQ(status, 200) << result;
  EXPECT_EQ(Post("/evaluate", task).second, result);
  EXPECT_EQ(Post("/evaluate/batch", {{"tasks", {task}}}).second["results"][0], result);
  EXPECT_EQ(Judged("three"), 1);
}

TEST_F(KernelGymTest, ABatchWithWhatIsSpoiltIsSentAgain) {
  std::atomic<bool> gone = true;
  judging_.judge = [&](const kb::Request& request) -> Result<Evaluation> {
    if (request.candidate.source == "two" && gone.exchange(false)) return Fail(ErrorCode::kUnavailable, "it is gone");
    return Evaluation();
  };
  Serve();
  const json batch = {{"tasks", {Task("a", "one"), Task("b", "two")}}};
  EXPECT_EQ(Detail(Post("/evaluate/batch", batch)), "503 it is gone");
  const auto [status, results] = Post("/evaluate/batch", batch);
  EXPECT_EQ(status, 200) << results;
  EXPECT_EQ(results["completed_tasks"], 2);
  EXPECT_EQ(Judged("one"), 1);
  EXPECT_EQ(Judged("two"), 2);
}

TEST_F(KernelGymTest, RightsAndQuotasAreThoseOfTheToken) {
  const TokenFile tokens(path("tokens.json"));
  const std::string plain = tokens.Add({.name = "plain", .queued = 2}).value();
  const std::string other = tokens.Add({.name = "other", .rights = {"judge", "problems"}}).value();
  std::promise<void> go;
  judging_.judge = [going = go.get_future().share()](const kb::Request&) -> Result<Evaluation> {
    going.wait();
    return Evaluation();
  };
  Serve("127.0.0.1:0");
  const json own = Task("own", "x", {{"reference_code", std::string(kProblem) + "\n"}, {"timeout", 1}});
  EXPECT_THAT(Detail(Post("/evaluate", own, plain)), HasSubstr("403 reference_code is none of our problems"));
  EXPECT_EQ(Post("/evaluate", own, other).first, 503);
  EXPECT_EQ(Ask("GET", "/status/own", "", other).second["status"], "processing");
  json tasks = json::array();
  for (int i = 0; i < 3; ++i) tasks.push_back(Task("t" + std::to_string(i), std::to_string(i)));
  auto batch = std::async([&] { return Post("/evaluate/batch", {{"batch_id", "b"}, {"tasks", tasks}}, plain); });
  EXPECT_EQ(Ask("GET", "/status/t0", "", other).first, 404) << "it is another client's";
  EXPECT_TRUE(Soon([&] { return desk_->OpenOf("plain") == 2; }));
  go.set_value();
  const auto [status, refused] = batch.get();
  EXPECT_EQ(status, 429);
  EXPECT_EQ(refused["error_code"], "RESOURCE_ERROR");
  EXPECT_EQ(refused["retryable"], true);
  std::pair<int, json> again;  // what is known counts, too, while it is asked for
  EXPECT_TRUE(Soon([&] {
    again = Post("/evaluate/batch", {{"batch_id", "b"}, {"tasks", tasks}}, plain);
    return again.first == 200;
  })) << again.second;
  const json& results = again.second;
  EXPECT_EQ(results["completed_tasks"], 3);
  for (const char* source : {"0", "1", "2"}) EXPECT_EQ(Judged(source), 1);
}

TEST_F(KernelGymTest, ABatchNamesWhatIsWrongAndJudgesTheRest) {
  Serve();
  json tasks = {Task("a", "one"), Task("b", "two", {{"workflow", "other"}}), Task("c", "three"),
                Task("d", "x", {{"size", "huge"}})};
  tasks[2].erase("task_id");
  const auto [status, results] = Post("/evaluate/batch", {{"batch_id", "B"}, {"tasks", tasks}});
  ASSERT_EQ(status, 200) << results;
  EXPECT_EQ(results["total_tasks"], 4);
  EXPECT_EQ(results["completed_tasks"], 2);
  EXPECT_EQ(results["failed_tasks"], 2);
  EXPECT_EQ(results["batch_status"], "completed");
  EXPECT_EQ(results["results"][1]["task_id"], "b");
  EXPECT_THAT(results["results"][1]["error_message"].get<std::string>(), HasSubstr("/tasks/1/workflow: "));
  EXPECT_EQ(results["results"][2]["task_id"], "B/2");
  EXPECT_THAT(results["results"][3]["error_message"].get<std::string>(), HasSubstr("/size: 1/19 has the sizes"));
  EXPECT_EQ(Post("/evaluate/batch", {{"batch_id", "B"}, {"tasks", tasks}}).second, results);
  EXPECT_EQ(Judged("three"), 1);
  // All are wrong.
  EXPECT_EQ(Post("/evaluate/batch", {{"tasks", {tasks[1]}}}).first, 400);
  EXPECT_EQ(Post("/evaluate/batch", {{"tasks", json::array()}}).first, 400);
  tasks = json::array();
  for (int i = 0; i < 101; ++i) tasks.push_back(Task("x", "y"));
  EXPECT_THAT(Detail(Post("/evaluate/batch", {{"tasks", tasks}})), HasSubstr("400 /tasks: must be at most 100"));
}

// A client that goes away leaves its task to be judged, and nobody who waits.
TEST_F(KernelGymTest, WhoGoesAwayIsForgotten) {
  std::promise<void> go;
  judging_.judge = [going = go.get_future().share()](const kb::Request&) -> Result<Evaluation> {
    going.wait();
    return Evaluation();
  };
  Serve();
  {
    const RawClient raw(path("s"));
    const std::string body = Task("t", "one").dump();
    raw.Write("POST /evaluate HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
              body);
    EXPECT_TRUE(Soon([&] { return desk_->remembered().listeners > 0; }));
  }
  EXPECT_TRUE(Soon([&] { return desk_->remembered().listeners == 0; }));
  EXPECT_EQ(Ask("GET", "/status/t").second["status"], "processing");
  go.set_value();
  EXPECT_EQ(Post("/evaluate", Task("t", "one")).second["status"], "completed");
  EXPECT_EQ(Judged("one"), 1);
}

}  // namespace
}  // namespace kb::server

// A judge that says what its test wrote down, and boxes.
#ifndef AGENTS_AGENT_TEST_UTIL_H_
#define AGENTS_AGENT_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "agents/agent_judge.h"
#include "agents/box.h"
#include "open_paths.h"
#include "report/sample_evaluations.h"

namespace kb {

// Answers requests one after the other, in the same thread.
class ScriptedApi {
 public:
  void Says(int status, const nlohmann::json& body, server::HttpHeaders headers = {}) {
    answers_.push_back({status, "application/json", body.dump(), std::move(headers)});
  }
  void SaysText(int status, const std::string& text) { answers_.push_back({status, "text/plain", text, {}}); }

  server::ApiAsk Ask() {
    return [this](const server::Asked& asked, std::function<void(server::HttpAnswer)> tell) -> server::Forget {
      requests.push_back(asked.method + " " + asked.target);
      bodies.push_back(asked.body);
      told = tell;
      if (on_request) on_request();
      if (asked.method == "DELETE") return [] {};
      if (!answers_.empty()) {
        const server::HttpAnswer answer = answers_.front();
        answers_.pop_front();
        tell(answer);
      }
      return [this] { ++forgotten; };
    };
  }

  std::vector<std::string> requests;  // "POST /v1/evaluations?wait=30&whole=true"
  std::vector<nlohmann::json> bodies;
  std::function<void(server::HttpAnswer)> told;  // of the last one
  std::function<void()> on_request;
  int forgotten = 0;

 private:
  std::deque<server::HttpAnswer> answers_;  // without one a request waits
};

inline std::string SomeId() { return std::string(32, 'a'); }

// As the API tells of `evaluation`.
inline nlohmann::json ViewOf(nlohmann::json evaluation) {
  nlohmann::json view = {{"id", SomeId()}, {"state", "done"}, {"error", nullptr}, {"notes", nlohmann::json::array()}};
  for (const char* key : {"verdict", "reason", "speedup", "speedup_interval", "no_speedup"}) {
    view[key] = evaluation.contains(key) ? evaluation[key] : nlohmann::json();
  }
  const bool busy = view["no_speedup"] == "machine_busy";
  view["retryable"] = busy;
  view["fault"] = view["verdict"] != "correct" ? "candidate" : busy ? "machine" : "";
  view["evaluation"] = std::move(evaluation);
  return view;
}

inline nlohmann::json Unfinished(const std::string& state = "queued") {
  return {{"id", SomeId()}, {"state", state}, {"retryable", false}, {"evaluation", nullptr}};
}

inline nlohmann::json Failed(const std::string& error, const std::string& fault) {
  nlohmann::json view = Unfinished("failed");
  view.update({{"error", error}, {"fault", fault}, {"retryable", fault != "caller"}});
  return view;
}

inline Installation BoxPrograms() {
  static const bool open = (OpenPaths({KB_PROGRAMS}), true);  // before there are threads
  (void)open;
  Installation installation;
  installation.libexec = KB_PROGRAMS;
  return installation;
}

inline Result<Box> SmallBox() {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  return Box::Create(
      BoxPrograms(),
      {.memory_bytes = 512 * kMiB, .processes = 64, .task_bytes = 16 * kMiB, .scratch_bytes = 16 * kMiB});
}

// One box for all tests of a suite.
class SharedBoxTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto made = SmallBox();
    ASSERT_TRUE(made) << made.error().message;
    box_ = new Box(std::move(*made));
  }
  static void TearDownTestSuite() {
    delete box_;
    box_ = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(box_) << "there is no box"; }

  static inline Box* box_ = nullptr;
};

}  // namespace kb

#endif  // AGENTS_AGENT_TEST_UTIL_H_

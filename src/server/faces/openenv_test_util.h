// The API as OpenEnv's face sees it, and what a test asks of an episode.
#ifndef SERVER_FACES_OPENENV_TEST_UTIL_H_
#define SERVER_FACES_OPENENV_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "server/faces/openenv_episode.h"
#include "server/refusal.h"

namespace kb::server {

inline nlohmann::json Line(const std::string& name, const std::string& deck, int level) {
  return {{"name", name}, {"title", "title of " + name}, {"deck", deck}, {"level", level}};
}

inline const nlohmann::json kProblems = {Line("1/1", "kernelbench", 1),  Line("1/19", "kernelbench", 1),
                                         Line("2/40", "kernelbench", 2), Line("4/1", "kernelbench", 4),
                                         Line("v3:1/1", "v3", 1),        Line("modern:3", "modern", 0)};

// The API as the face sees it: `rewards` are the answers to POST /v1/rewards, in order.
class FakeApi {
 public:
  ApiAsk ask() {
    return [this](const Asked& asked, const std::function<void(HttpAnswer)>& told) -> Forget {
      asked_.push_back(asked.method + " " + asked.target);
      if (asked.method == "GET") {
        told(Get(asked.target));
      } else if (asked.method == "DELETE") {
        told(JsonAnswer(nlohmann::json::object()));
      } else if (asked.target == "/v1/evaluations") {
        told(JsonAnswer({{"id", "e"}, {"state", "judging"}}, 202));
      } else {
        bodies_.push_back(asked.body);
        held_ = told;
        if (!rewards.empty()) Release();
      }
      return [this] { ++forgotten_; };
    };
  }
  // What POST /v1/rewards answers to the one that waits.
  void Release() {
    const nlohmann::json next = rewards.front();
    rewards.erase(rewards.begin());
    std::exchange(held_, nullptr)(next.contains("status") ? AnswerOf(Refusal{next["status"], "no", "caller", false, 0})
                                                          : JsonAnswer({{"rewards", {next}}}));
  }

  std::vector<nlohmann::json> rewards, bodies_;
  std::vector<std::string> asked_;
  int forgotten_ = 0;

 private:
  static HttpAnswer Get(const std::string& target) {
    if (target == "/v1/problems") return JsonAnswer({{"problems", kProblems}});
    if (target == "/v1/rewards")
      return JsonAnswer({{"rewards", {{{"name", "sure_increments"}}, {{"name", "staged"}}}}});
    if (target == "/health") return JsonAnswer({{"device", "cpu"}, {"devices", {"cpu"}}});
    if (target.starts_with("/v1/evaluations/")) return AnswerOf(CallersFault(404, "gone"));
    for (nlohmann::json problem : kProblems) {
      if (target != "/v1/problems/" + problem["name"].get<std::string>()) continue;
      problem["source"] = "class Model";
      return JsonAnswer(problem);
    }
    return AnswerOf(CallersFault(404, "there is no " + target));
  }

  std::function<void(HttpAnswer)> held_;
};

inline nlohmann::json Judged(const nlohmann::json& reward, const std::string& verdict = "correct",
                             const nlohmann::json& speedup = nullptr) {
  nlohmann::json view = {
      {"id", "e"},          {"state", "done"},         {"verdict", verdict},         {"speedup", speedup},
      {"reason", "why"},    {"no_speedup", nullptr},   {"authorship", "custom"},     {"fault", nullptr},
      {"retryable", false}, {"evaluation_id", "20 e"}, {"speedup_interval", nullptr}};
  if (speedup.is_number()) view["speedup_interval"] = {speedup.get<double>() - 0.1, speedup.get<double>() + 0.1};
  return {{"reward", reward}, {"evaluation", view}};
}
inline nlohmann::json Lost(const std::string& state, const std::string& error = "") {
  return {{"reward", nullptr},
          {"evaluation",
           {{"id", "e"},
            {"state", state},
            {"verdict", nullptr},
            {"error", error},
            {"fault", "engine"},
            {"retryable", true}}}};
}

class OpenEnvTest : public testing::Test {
 protected:
  std::shared_ptr<OpenEnvEpisode> Begin(const nlohmann::json& reset) {
    std::shared_ptr<OpenEnvEpisode> episode;
    OpenEnvEpisode::Begin(reset, api_.ask(), [&](auto begun) {
      refused_ = begun ? "" : begun.error().detail;
      if (begun) episode = *begun;
    });
    return episode;
  }
  // What becomes of a step; null: nothing yet.
  nlohmann::json Step(const std::shared_ptr<OpenEnvEpisode>& episode, const std::string& code = "class ModelNew: 1",
                      const std::string& request_id = "") {
    nlohmann::json told;
    episode->Step({{"code", code}}, request_id, 50, api_.ask(), [&](const OpenEnvEpisode::Answer& answer) {
      told = answer ? *answer : nlohmann::json(std::to_string(answer.error().status) + " " + answer.error().detail);
    });
    return told;
  }
  nlohmann::json State(const std::shared_ptr<OpenEnvEpisode>& episode) {
    nlohmann::json state;
    episode->State(50, api_.ask(), [&](const OpenEnvEpisode::Answer& answer) { state = *answer; });
    return state;
  }

  FakeApi api_;
  std::string refused_;
};

}  // namespace kb::server

#endif  // SERVER_FACES_OPENENV_TEST_UTIL_H_

// An episode of OpenEnv: a problem, and the candidates for it, one after the other. Each is judged by requests of
// docs/reference/api.md and by nothing else.
#ifndef SERVER_FACES_OPENENV_EPISODE_H_
#define SERVER_FACES_OPENENV_EPISODE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/ask.h"
#include "server/refusal.h"

namespace kb::server {

// Thread-safe. What is asked for is told once, on any thread, perhaps before the call returns. `ask` asks as the client
// whose call it is.
class OpenEnvEpisode : public std::enable_shared_from_this<OpenEnvEpisode> {
 public:
  using Answer = tl::expected<nlohmann::json, Refusal>;
  using Told = std::function<void(Answer answer)>;
  using Begun = std::function<void(tl::expected<std::shared_ptr<OpenEnvEpisode>, Refusal> episode)>;

  // Clients wait 60 s for an answer.
  static constexpr double kMostWait = 50;

  // `reset`: checked by kOpenEnvReset.
  static void Begin(const nlohmann::json& reset, const ApiAsk& ask, Begun begun);

  const std::string& id() const { return id_; }
  // What a reset answers: kOpenEnvResult.
  nlohmann::json First() const;
  // Has a candidate judged: kOpenEnvResult. After `wait_s` it tells that it is still being judged. Then the next call
  // waits on for the same one, whatever its code. `action`: checked by kOpenEnvAction.
  void Step(const nlohmann::json& action, double wait_s, const ApiAsk& ask, Told told);
  // kOpenEnvState. Waits up to `wait_s` for what is being judged.
  void State(double wait_s, const ApiAsk& ask, Told told);
  // The same where no episode has begun.
  static nlohmann::json NoState();
  // Nobody will ask any more: what is being judged is cancelled.
  void Abandon(const ApiAsk& ask);

 private:
  struct Setting {
    nlohmann::json observation;  // of no candidate yet
    nlohmann::json request;      // of an evaluation, without its text
    std::string reward;
    int max_turns = 0;
  };

  OpenEnvEpisode(std::string id, Setting setting);
  static std::shared_ptr<OpenEnvEpisode> Make(const nlohmann::json& reset, const nlohmann::json& problem,
                                              const nlohmann::json& health, const std::string& reward);

  // Waits for what is pending; it has ended, or `judging`.
  void Await(double wait_s, const ApiAsk& ask,
             std::function<void(tl::expected<nlohmann::json, Refusal> rewarded)> then);
  void Finish(const nlohmann::json& rewarded, const nlohmann::json& view, bool other_code, const Told& told);
  nlohmann::json StillJudging(bool other_code) const;
  nlohmann::json StateNow() const;
  nlohmann::json Result(nlohmann::json observation, nlohmann::json reward) const;
  bool done() const { return turn_ >= setting_.max_turns; }

  const std::string id_, key_;  // key_: nobody else's, as clients choose id_
  const Setting setting_;
  mutable std::mutex mutex_;
  bool busy_ = false;       // a call is being answered
  bool judged_ = false;     // what is pending has ended, as State() found
  nlohmann::json pending_;  // the evaluation's request; null: none
  Forget forget_;           // what is being asked
  int turn_ = 0, sent_ = 0;
  bool solved_ = false;
  std::optional<double> best_reward_, best_speedup_;
};

// Why one of our own requests was refused.
Refusal RefusalIn(const HttpAnswer& answer);

}  // namespace kb::server

#endif  // SERVER_FACES_OPENENV_EPISODE_H_

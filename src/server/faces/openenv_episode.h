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
  // After the last turn, or when it was abandoned.
  bool over() const;
  // Has a candidate judged: kOpenEnvResult. After `wait_s` it tells that it is still being judged. Then the next call
  // waits on for the same one, whatever its code. So it does where nobody takes the answer, as what is returned says:
  // nothing is lost by that. With the `request_id` of the last step that was judged, unless it is empty, that one's
  // answer is told once more. `action`: checked by kOpenEnvAction.
  Forget Step(const nlohmann::json& action, const std::string& request_id, double wait_s, const ApiAsk& ask, Told told);
  // kOpenEnvState. Waits up to `wait_s` for what is being judged.
  Forget State(double wait_s, const ApiAsk& ask, Told told);
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

  // What is told at once instead of having a candidate judged.
  std::optional<Answer> AtOnce(const std::string& request_id) const;
  // Begins a call; its number.
  uint64_t Open(Told told);
  // Ends it; what is to be told. Null: it has ended already.
  Told Close(uint64_t number);
  // What ends it where nobody takes what it waits for: with this answer.
  Forget LetGo(uint64_t number, nlohmann::json (OpenEnvEpisode::*answer)() const);
  // Where `then` throws the call ends with that.
  std::function<void(HttpAnswer)> Guard(uint64_t number, std::function<void(const HttpAnswer&)> then);
  // Waits for what is pending; it has ended, or `judging`.
  void Await(uint64_t number, double wait_s, const ApiAsk& ask,
             std::function<void(const tl::expected<nlohmann::json, Refusal>& rewarded)> then);
  void Rewarded(uint64_t number, bool fresh, const std::string& request_id, const ApiAsk& ask,
                const tl::expected<nlohmann::json, Refusal>& rewarded);
  void Finish(uint64_t number, const std::string& request_id, const nlohmann::json& rewarded,
              const nlohmann::json& view);
  void DropText();  // of what is pending
  nlohmann::json StillJudging() const;
  nlohmann::json StateNow() const;
  nlohmann::json Result(nlohmann::json observation, nlohmann::json reward) const;
  bool done() const { return turn_ >= setting_.max_turns; }

  const std::string id_, key_;  // key_: nobody else's, as clients choose id_
  const Setting setting_;
  mutable std::mutex mutex_;
  uint64_t call_ = 0;        // number of the last one
  Told told_;                // of the call that is being answered; null: none is
  bool judged_ = false;      // what is pending has ended, as State() found
  nlohmann::json pending_;   // the evaluation's request; null: none
  std::string code_sha256_;  // of the code that became it, as it was sent
  bool other_code_ = false;  // the call that is being answered has another
  Forget forget_;            // what is being asked
  struct {
    std::string request_id;
    nlohmann::json result;
  } finished_;  // the last step that was judged
  int turn_ = 0, sent_ = 0;
  bool solved_ = false;
  std::optional<double> best_reward_, best_speedup_;
};

// Why one of our own requests was refused.
Refusal RefusalIn(const HttpAnswer& answer);

}  // namespace kb::server

#endif  // SERVER_FACES_OPENENV_EPISODE_H_

// One WebSocket of OpenEnv: its messages, answered one after the other.
#ifndef SERVER_FACES_OPENENV_SESSION_H_
#define SERVER_FACES_OPENENV_SESSION_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "server/ask.h"
#include "server/faces/openenv_episode.h"
#include "server/http_responder.h"

namespace kb::server {

class OpenEnvSession : public std::enable_shared_from_this<OpenEnvSession> {
 public:
  using Do = std::function<bool(std::function<void()> work)>;

  // `held`: bytes of messages that all sessions hold.
  OpenEnvSession(Do have_done, ApiAsk ask, std::shared_ptr<HttpResponder> responder,
                 std::shared_ptr<std::atomic<size_t>> held)
      : do_(std::move(have_done)), ask_(std::move(ask)), responder_(std::move(responder)), held_(std::move(held)) {}

  // A message. Does not block.
  void Push(std::string text);
  // The client has gone.
  void Gone();

  // An answer that says what is wrong: {"type": "error", ...}.
  static std::string ErrorText(const char* code, const Refusal& refusal);

 private:
  void Begin();  // the next message
  // Work that throws ends the session.
  void Try(const std::function<void()>& work);
  void Handle(const std::string& text);
  void Reset(const nlohmann::json& data);
  void Step(const nlohmann::json& data);
  void Tell(const char* type, const OpenEnvEpisode::Answer& answer);
  void Send(const std::string& text);
  void Fail(const char* code, std::string why);
  std::shared_ptr<OpenEnvEpisode> episode();

  const Do do_;
  const ApiAsk ask_;
  const std::shared_ptr<HttpResponder> responder_;
  const std::shared_ptr<std::atomic<size_t>> held_;
  std::mutex mutex_;
  struct Waiting {
    std::string text;
    size_t size;
  };
  std::deque<Waiting> waiting_;  // the first one is being answered
  bool gone_ = false;
  std::shared_ptr<OpenEnvEpisode> episode_;
};

}  // namespace kb::server

#endif  // SERVER_FACES_OPENENV_SESSION_H_

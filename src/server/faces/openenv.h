// The service as an environment of OpenEnv (docs/guide/openenv.md): sessions over a WebSocket, and episodes over HTTP.
#ifndef SERVER_FACES_OPENENV_H_
#define SERVER_FACES_OPENENV_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "server/ask.h"
#include "server/faces/openenv_episode.h"
#include "server/http_responder.h"

namespace kb::server {

struct OpenEnvLimits {
  int sessions = 1024;              // WebSockets
  int client_sessions = 256;        // of a client
  int episodes = 256;               // of a client over HTTP
  std::chrono::seconds idle{1800};  // until one of those that nobody asks about is gone
};

class OpenEnv {
 public:
  // Has `work` done on another thread; false: there is too much of it.
  using Do = std::function<bool(std::function<void()> work)>;

  OpenEnv(Do have_done, OpenEnvLimits limits = {});

  // Begins a session, which ends with its connection.
  void Serve(const std::string& client, const ApiAsk& ask, const std::shared_ptr<HttpResponder>& responder);

  // Over HTTP. Episodes are a client's own. The bodies are checked.
  void Reset(const std::string& client, const nlohmann::json& body, const ApiAsk& ask,
             std::shared_ptr<HttpResponder> responder);
  void Step(const std::string& client, const nlohmann::json& body, const ApiAsk& ask,
            std::shared_ptr<HttpResponder> responder);
  void State(const std::string& client, const std::string& episode_id, const ApiAsk& ask,
             std::shared_ptr<HttpResponder> responder);

 private:
  struct Kept {
    std::shared_ptr<OpenEnvEpisode> episode;
    ApiAsk ask;  // as it was asked last
    std::chrono::steady_clock::time_point asked;
  };
  using Key = std::pair<std::string, std::string>;  // client, episode
  struct Sessions {
    std::mutex mutex;
    int all = 0;
    std::map<std::string, int> of;  // a client
  };

  std::shared_ptr<OpenEnvEpisode> Find(const Key& key, const ApiAsk& ask);
  // Under the lock: takes out those that nobody asks about.
  std::vector<Kept> TakeIdle();
  // The same for the one, of this client if it is given, that is over and was asked about longest ago.
  void TakeOver(const std::string* client, std::vector<Kept>* taken);
  // False: the client has too many.
  bool Keep(const std::string& client, std::shared_ptr<OpenEnvEpisode> episode, const ApiAsk& ask);

  const Do do_;
  const OpenEnvLimits limits_;
  const std::shared_ptr<Sessions> sessions_ = std::make_shared<Sessions>();
  const std::shared_ptr<std::atomic<size_t>> held_ = std::make_shared<std::atomic<size_t>>(0);
  std::mutex mutex_;
  std::map<Key, Kept> kept_;
};

}  // namespace kb::server

#endif  // SERVER_FACES_OPENENV_H_

#include "server/faces/openenv.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/faces/openenv_session.h"

namespace kb::server {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kMostEpisodes = 4096;  // of all clients

void SendTo(const std::shared_ptr<HttpResponder>& responder, const OpenEnvEpisode::Answer& answer) {
  responder->Send(answer ? JsonAnswer(*answer) : AnswerOf(answer.error()));
}

Refusal NoEpisode(const std::string& id) {
  return CallersFault(404, fmt::format("/episode_id: there is no episode {}: POST /reset begins one, and half an hour "
                                       "without a request ends it",
                                       id));
}

}  // namespace

OpenEnv::OpenEnv(Do have_done, OpenEnvLimits limits) : do_(std::move(have_done)), limits_(limits) {}

// ---- Over a WebSocket ---------------------------------------------------------------------------------------------

void OpenEnv::Serve(const std::string& client, const ApiAsk& ask, const std::shared_ptr<HttpResponder>& responder) {
  const auto refuse = [&](const Refusal& refusal) {
    responder->BeginMessages([](const std::string&) {});
    responder->SendMessage(OpenEnvSession::ErrorText("CAPACITY_REACHED", refusal));
    responder->EndMessages(CloseCode::kTryLater, "too many sessions");
  };
  int all = 0, own = 0;
  {
    const std::lock_guard lock(sessions_->mutex);
    all = ++sessions_->all;
    own = ++sessions_->of[client];
  }
  // Given back when the last owner of the session lets it go.
  const std::shared_ptr<void> place(nullptr, [open = sessions_, client](void*) {
    const std::lock_guard lock(open->mutex);
    --open->all;
    if (--open->of[client] == 0) open->of.erase(client);
  });
  if (own > limits_.client_sessions) {
    return refuse(
        {429, fmt::format("{} has {} sessions, and no more are taken: end one", client, own - 1), "caller", true, 5});
  }
  if (all > limits_.sessions) {
    return refuse({503, "there are as many sessions as this service takes; try again later", "engine", true, 5});
  }
  const auto session = std::make_shared<OpenEnvSession>(do_, ask, responder, held_);
  responder->WhenGone([session, place] { session->Gone(); });
  responder->BeginMessages([session, place](std::string text) { session->Push(std::move(text)); });
}

// ---- Over HTTP ----------------------------------------------------------------------------------------------------

std::vector<OpenEnv::Kept> OpenEnv::TakeIdle() {
  std::vector<Kept> idle;
  const auto since = Clock::now() - limits_.idle;
  for (auto each = kept_.begin(); each != kept_.end();) {
    const bool is_idle = each->second.asked < since;
    if (is_idle) idle.push_back(std::move(each->second));
    each = is_idle ? kept_.erase(each) : std::next(each);
  }
  return idle;
}

void OpenEnv::TakeOver(const std::string* client, std::vector<Kept>* taken) {
  auto oldest = kept_.end();
  for (auto each = kept_.begin(); each != kept_.end(); ++each) {
    if ((client != nullptr && each->first.first != *client) || !each->second.episode->over()) continue;
    if (oldest == kept_.end() || each->second.asked < oldest->second.asked) oldest = each;
  }
  if (oldest == kept_.end()) return;
  taken->push_back(std::move(oldest->second));
  kept_.erase(oldest);
}

std::shared_ptr<OpenEnvEpisode> OpenEnv::Find(const Key& key, const ApiAsk& ask) {
  std::shared_ptr<OpenEnvEpisode> episode;
  std::vector<Kept> idle;
  {
    const std::lock_guard lock(mutex_);
    idle = TakeIdle();
    if (const auto found = kept_.find(key); found != kept_.end()) {
      found->second.ask = ask;
      found->second.asked = Clock::now();
      episode = found->second.episode;
    }
  }
  for (const Kept& each : idle) each.episode->Abandon(each.ask);
  return episode;
}

bool OpenEnv::Keep(const std::string& client, std::shared_ptr<OpenEnvEpisode> episode, const ApiAsk& ask) {
  std::vector<Kept> ended;
  bool room = true;
  {
    const std::lock_guard lock(mutex_);
    ended = TakeIdle();
    Key key{client, episode->id()};
    if (const auto same = kept_.find(key); same != kept_.end()) {
      ended.push_back(std::move(same->second));
      kept_.erase(same);
    }
    const auto client_full = [&] {
      return std::count_if(kept_.begin(), kept_.end(), [&](const auto& each) { return each.first.first == client; }) >=
             limits_.episodes;
    };
    if (client_full()) TakeOver(&client, &ended);
    if (kept_.size() >= kMostEpisodes) TakeOver(nullptr, &ended);
    room = !client_full() && kept_.size() < kMostEpisodes;
    if (room) kept_[std::move(key)] = {std::move(episode), ask, Clock::now()};
  }
  for (const Kept& each : ended) each.episode->Abandon(each.ask);
  return room;
}

void OpenEnv::Reset(const std::string& client, const json& body, const ApiAsk& ask,
                    std::shared_ptr<HttpResponder> responder) {
  OpenEnvEpisode::Begin(body, ask, [this, client, ask, responder](auto begun) {
    if (!begun) return responder->Send(AnswerOf(begun.error()));
    const json first = (*begun)->First();
    if (Keep(client, *begun, ask)) return responder->Send(JsonAnswer(first));
    responder->Send(
        AnswerOf({429, fmt::format("{} has too many episodes: they end half an hour after the last request", client),
                  "caller", true, 60}));
  });
}

void OpenEnv::Step(const std::string& client, const json& body, const ApiAsk& ask,
                   std::shared_ptr<HttpResponder> responder) {
  const std::string id = body["episode_id"];
  const auto episode = Find({client, id}, ask);
  if (!episode) return responder->Send(AnswerOf(NoEpisode(id)));
  const json wait = body.value("timeout_s", json()), request_id = body.value("request_id", json());
  responder->WhenGone(episode->Step(body["action"], request_id.is_string() ? request_id.get<std::string>() : "",
                                    wait.is_number() ? wait.get<double>() : OpenEnvEpisode::kMostWait, ask,
                                    [responder](const OpenEnvEpisode::Answer& answer) { SendTo(responder, answer); }));
}

void OpenEnv::State(const std::string& client, const std::string& episode_id, const ApiAsk& ask,
                    std::shared_ptr<HttpResponder> responder) {
  const auto episode = Find({client, episode_id}, ask);
  if (!episode) return responder->Send(AnswerOf(NoEpisode(episode_id)));
  responder->WhenGone(episode->State(OpenEnvEpisode::kMostWait, ask,
                                     [responder](const OpenEnvEpisode::Answer& answer) { SendTo(responder, answer); }));
}

}  // namespace kb::server

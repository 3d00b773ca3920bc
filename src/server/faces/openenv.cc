#include "server/faces/openenv.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

void OpenEnv::Serve(const ApiAsk& ask, const std::shared_ptr<HttpResponder>& responder) {
  // Given back when the last owner of the session lets it go.
  const std::shared_ptr<void> place(nullptr, [open = sessions_](void*) { --*open; });
  if (++*sessions_ > limits_.sessions) {
    responder->BeginMessages([](const std::string&) {});
    responder->SendMessage(OpenEnvSession::ErrorText(
        "CAPACITY_REACHED",
        {503, "there are as many sessions as this service takes; try again later", "engine", true, 5}));
    return responder->EndMessages(CloseCode::kTryLater, "too many sessions");
  }
  const auto session = std::make_shared<OpenEnvSession>(do_, ask, responder, held_);
  responder->WhenGone([session, place] { session->Gone(); });
  responder->BeginMessages([session, place](std::string text) { session->Push(std::move(text)); });
}

// ---- Over HTTP ----------------------------------------------------------------------------------------------------

std::shared_ptr<OpenEnvEpisode> OpenEnv::Find(const Key& key, const ApiAsk& ask) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found == kept_.end() || Clock::now() > found->second.asked + limits_.idle) return nullptr;
  found->second.ask = ask;
  found->second.asked = Clock::now();
  return found->second.episode;
}

bool OpenEnv::Keep(const std::string& client, std::shared_ptr<OpenEnvEpisode> episode, const ApiAsk& ask) {
  std::vector<Kept> ended;
  bool room = true;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (auto each = kept_.begin(); each != kept_.end();) {
      const bool over = now > each->second.asked + limits_.idle;
      if (over) ended.push_back(std::move(each->second));
      each = over ? kept_.erase(each) : std::next(each);
    }
    Key key{client, episode->id()};
    if (const auto same = kept_.find(key); same != kept_.end()) {
      ended.push_back(std::move(same->second));
      kept_.erase(same);
    }
    const auto of_client =
        std::count_if(kept_.begin(), kept_.end(), [&](const auto& each) { return each.first.first == client; });
    room = of_client < limits_.episodes && kept_.size() < kMostEpisodes;
    if (room) kept_[std::move(key)] = {std::move(episode), ask, now};
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
  const json wait = body.value("timeout_s", json());
  episode->Step(body["action"], wait.is_number() ? wait.get<double>() : OpenEnvEpisode::kMostWait, ask,
                [responder](const OpenEnvEpisode::Answer& answer) { SendTo(responder, answer); });
}

void OpenEnv::State(const std::string& client, const std::string& episode_id, const ApiAsk& ask,
                    std::shared_ptr<HttpResponder> responder) {
  const auto episode = Find({client, episode_id}, ask);
  if (!episode) return responder->Send(AnswerOf(NoEpisode(episode_id)));
  episode->State(OpenEnvEpisode::kMostWait, ask,
                 [responder](const OpenEnvEpisode::Answer& answer) { SendTo(responder, answer); });
}

}  // namespace kb::server

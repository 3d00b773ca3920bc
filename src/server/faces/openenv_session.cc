#include "server/faces/openenv_session.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/json_shape.h"
#include "server/faces/openenv_tables.h"

namespace kb::server {

using nlohmann::json;

namespace {

constexpr size_t kMostMessages = 8;  // clients wait for each answer
constexpr size_t kMostMessageBytes = size_t{256} << 20;
constexpr size_t kAlwaysRoom = size_t{1} << 20;  // for the messages of one session

const char* ErrorCodeOf(const Refusal& refusal) {
  if (refusal.status == 429 || refusal.status == 503) return "CAPACITY_REACHED";
  if (refusal.status == 401) return "SESSION_ERROR";
  return refusal.status < 500 ? "VALIDATION_ERROR" : "EXECUTION_ERROR";
}

}  // namespace

std::string OpenEnvSession::ErrorText(const char* code, const Refusal& refusal) {
  return Dump(json{{"type", "error"},
                   {"data",
                    {{"message", refusal.short_detail()},
                     {"code", code},
                     {"fault", refusal.fault},
                     {"retryable", refusal.retryable}}}});
}

void OpenEnvSession::Push(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    const size_t size = text.size();
    waiting_.push_back({std::move(text), size});
    size_t own = 0;
    for (const Waiting& each : waiting_) own += each.size;
    if ((*held_ += size) > kMostMessageBytes && own > kAlwaysRoom) {
      return responder_->EndMessages(CloseCode::kTryLater, "too much is being sent at once");
    }
    if (waiting_.size() > kMostMessages) {
      return responder_->EndMessages(CloseCode::kPolicy, "too many messages at once: wait for each answer");
    }
    if (waiting_.size() > 1) return;
  }
  Begin();
}

void OpenEnvSession::Begin() {
  const bool begun = do_([self = shared_from_this()] {
    std::string text;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->gone_) return;
      text = std::move(self->waiting_.front().text);
    }
    self->Try([&] { self->Handle(text); });
  });
  if (!begun) responder_->EndMessages(CloseCode::kTryLater, "the service is stopping or overloaded");
}

void OpenEnvSession::Try(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernelbench: a session of OpenEnv failed: {}\n", error.what());
    responder_->EndMessages(CloseCode::kFailed, "the service failed");
  }
}

void OpenEnvSession::Send(const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    *held_ -= waiting_.front().size;
    waiting_.pop_front();
    responder_->SendMessage(text);
    if (waiting_.empty()) return;
  }
  Begin();
}

void OpenEnvSession::Gone() {
  std::shared_ptr<OpenEnvEpisode> episode;
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    for (const Waiting& each : waiting_) *held_ -= each.size;
    waiting_.clear();
    episode.swap(episode_);
  }
  if (episode) do_([episode, ask = ask_] { episode->Abandon(ask); });
}

std::shared_ptr<OpenEnvEpisode> OpenEnvSession::episode() {
  const std::lock_guard lock(mutex_);
  return episode_;
}

void OpenEnvSession::Fail(const char* code, std::string why) {
  Send(ErrorText(code, CallersFault(400, std::move(why))));
}

void OpenEnvSession::Tell(const char* type, const OpenEnvEpisode::Answer& answer) {
  Try([&] {
    if (!answer) return Send(ErrorText(ErrorCodeOf(answer.error()), answer.error()));
    Send(Dump(json{{"type", type}, {"data", *answer}}));
  });
}

void OpenEnvSession::Handle(const std::string& text) {
  if (const Status shape = CheckShape(text); !shape) return Fail("INVALID_JSON", shape.error().message);
  const json message = json::parse(text, nullptr, false);
  if (message.is_discarded()) return Fail("INVALID_JSON", "the message is no JSON");
  if (!message.is_object()) return Fail("VALIDATION_ERROR", "a message is an object with a type");
  const json type = message.value("type", json()), data = message.value("data", json::object());
  if (type == "reset") return Reset(data);
  if (type == "step") return Step(data);
  if (type == "close") return responder_->EndMessages(CloseCode::kNormal, "");
  if (type != "state") {
    return Fail("UNKNOWN_TYPE", fmt::format("there is no type {}; there are reset, step, state and close", Dump(type)));
  }
  if (const auto episode = this->episode()) {
    episode->State(OpenEnvEpisode::kMostWait, ask_,
                   [self = shared_from_this()](const OpenEnvEpisode::Answer& answer) { self->Tell("state", answer); });
    return;
  }
  Tell("state", OpenEnvEpisode::NoState());
}

void OpenEnvSession::Reset(const json& data) {
  if (const Status checked = Check(kOpenEnvReset, data); !checked)
    return Fail("VALIDATION_ERROR", checked.error().message);
  OpenEnvEpisode::Begin(data, ask_, [self = shared_from_this()](auto begun) {
    if (!begun) return self->Tell("error", tl::make_unexpected(begun.error()));
    std::shared_ptr<OpenEnvEpisode> before = *begun;
    bool gone = false;
    {
      const std::lock_guard lock(self->mutex_);
      before.swap(self->episode_);
      gone = self->gone_;
    }
    if (before) before->Abandon(self->ask_);
    if (!gone) self->Tell("observation", (*begun)->First());
  });
}

void OpenEnvSession::Step(const json& data) {
  if (const Status checked = Check(kOpenEnvAction, data); !checked) {
    return Fail("VALIDATION_ERROR", checked.error().message);
  }
  const auto episode = this->episode();
  if (!episode) return Fail("VALIDATION_ERROR", "there is no episode: reset first");
  episode->Step(data, "", OpenEnvEpisode::kMostWait, ask_,
                [self = shared_from_this()](OpenEnvEpisode::Answer answer) { self->Tell("observation", answer); });
}

}  // namespace kb::server

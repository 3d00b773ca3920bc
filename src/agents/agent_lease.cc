#include "agents/agent_lease.h"

#include <fmt/format.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "agents/agent_judge.h"
#include "server/evaluation_view.h"
#include "server/verdict_text.h"

namespace kb {

using nlohmann::json;
using server::HttpAnswer;

namespace {

constexpr int kUntilHeldS = 30, kMostLeaseS = 600;

std::string TextAt(const json& object, const char* key) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

Error ForTheModel(std::string text) { return {ErrorCode::kUsage, std::move(text)}; }

}  // namespace

struct AgentLease::State {
  std::mutex mutex;
  std::string over;
};

AgentLease::AgentLease(server::ApiAsk ask, const std::string& id, std::string device, std::vector<int> cores)
    : ask_(std::move(ask)),
      id_(id),
      device_(std::move(device)),
      cores_(std::move(cores)),
      state_(std::make_shared<State>()) {
  const auto told = [state = state_](const HttpAnswer& answer) {
    const std::string why = TextAt(json::parse(answer.body, nullptr, false), "error");
    const std::lock_guard lock(state->mutex);
    state->over = why.empty() ? "the judge lends it no longer" : why;
  };
  forget_ = ask_({"GET", fmt::format("/v1/leases/{}?wait={}", id_, kMostLeaseS)}, told);
}

AgentLease::~AgentLease() {
  if (state_) (void)GiveBack();
}

std::string AgentLease::Over() const {
  const std::lock_guard lock(state_->mutex);
  return state_->over;
}

double AgentLease::GiveBack() {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
  (void)ask_({"DELETE", "/v1/leases/" + id_}, [](const HttpAnswer&) {});
  forget_();
  state_.reset();
  return seconds;
}

// One that waits in the queue is asked about until it is held.
Result<AgentLease> AgentJudge::Lend(double seconds, double memory_share) {
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  const json wanted = {{"seconds", seconds}, {"memory_share", memory_share}, {"holder", "a command of an agent"}};
  std::string id;
  for (;;) {
    const bool asked = !id.empty();
    server::Asked request{.target = fmt::format("/v1/leases/{}?wait={}&until=held", id, kUntilHeldS)};
    if (!asked) request = {"POST", fmt::format("/v1/leases?wait={}", kUntilHeldS), wanted};
    auto answer = Ask(std::move(request));
    if (!answer && asked) (void)options_.ask({"DELETE", "/v1/leases/" + id}, [](const HttpAnswer&) {});
    if (!answer) return tl::make_unexpected(answer.error());
    const json body = json::parse(answer->body, nullptr, false);
    const std::string state = TextAt(body, "state");
    if (answer->status < 400 && state == "held") {
      const json cores = body.value("cores", json::array());
      std::vector<int> own;
      for (const json& core : cores) own.push_back(core.is_number_integer() ? core.get<int>() : 0);
      return AgentLease(options_.ask, TextAt(body, "id"), TextAt(body, "device"), std::move(own));
    }
    if (answer->status < 400 && state == "queued") {
      id = TextAt(body, "id");
      continue;
    }
    if (answer->status < 400) {
      return tl::make_unexpected(ForTheModel("The judge does not lend its GPU: " + TextAt(body, "error")));
    }
    if (asked && answer->status == 404) {  // the judge was started anew
      id.clear();
      continue;
    }
    const auto pause = PauseAfter(*answer);
    if (!pause || std::chrono::steady_clock::now() + *pause >= deadline) {
      return tl::make_unexpected(
          ForTheModel(fmt::format("The judge does not lend its GPU now: {}", server::RefusalText(*answer, body))));
    }
    id.clear();
    KB_RETURN_IF_ERROR(Sleep(*pause));
  }
}

}  // namespace kb

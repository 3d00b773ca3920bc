#include "server/socket_ask.h"

#include <atomic>
#include <list>
#include <mutex>
#include <thread>

#include "base/interrupt.h"
#include "base/json.h"
#include "server/http_client.h"
#include "server/refusal.h"

namespace kb::server {
namespace {

// Each request says for how long the service may wait; this is for one that has died.
constexpr std::chrono::seconds kPatience{660}, kBriefly{5};

}  // namespace

struct SocketAsk::State {
  struct Asking {
    const bool brief;  // answered at once, and of use to others: it cancels something
    std::atomic<bool> forgotten = false, ended = false;
    std::thread thread;
  };

  const std::filesystem::path socket;
  const std::function<Status()> start;
  std::mutex starting;  // held meanwhile: one start is enough
  std::mutex mutex;     // of the rest
  bool ending = false;
  std::list<std::shared_ptr<Asking>> all;

  Result<HttpClient> Connect() {
    auto client = HttpClient::ConnectUnix(socket);
    if (client || client.error().code != ErrorCode::kUnavailable) return client;
    const std::lock_guard lock(starting);
    client = HttpClient::ConnectUnix(socket);
    if (client) return client;
    KB_RETURN_IF_ERROR(start());
    return HttpClient::ConnectUnix(socket);
  }

  HttpAnswer Send(const Asked& asked) {
    auto client = Connect();
    if (!client) return AnswerOf(RefusalOf(client.error()));
    HttpCall call{.method = asked.method,
                  .target = asked.target,
                  .body = asked.body.is_null() ? "" : Dump(asked.body),
                  .timeout = asked.method == "DELETE" ? kBriefly : kPatience};
    auto answer = client->Send(call);
    return answer ? std::move(*answer) : AnswerOf(RefusalOf(answer.error()));
  }

  // Those that have ended are waited for here, as a thread cannot wait for itself.
  void Sweep() {
    std::list<std::shared_ptr<Asking>> ended;
    {
      const std::lock_guard lock(mutex);
      for (auto one = all.begin(); one != all.end();) {
        const auto next = std::next(one);
        if ((*one)->ended) ended.splice(ended.end(), all, one);
        one = next;
      }
    }
    for (const auto& one : ended) one->thread.join();
  }
};

SocketAsk::SocketAsk(std::filesystem::path socket, std::function<Status()> start)
    : state_(new State{.socket = std::move(socket), .start = std::move(start)}) {}

SocketAsk::~SocketAsk() {
  std::list<std::shared_ptr<State::Asking>> all;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    all.swap(state_->all);
  }
  for (const auto& one : all) one->forgotten = !one->brief;
  for (const auto& one : all) one->thread.join();
}

ApiAsk SocketAsk::Ask() {
  return [weak = std::weak_ptr(state_)](Asked asked, std::function<void(HttpAnswer)> told) -> Forget {
    const auto state = weak.lock();
    if (!state) return [] {};
    state->Sweep();
    const std::shared_ptr<State::Asking> asking(new State::Asking{.brief = asked.method == "DELETE"});
    const std::lock_guard lock(state->mutex);
    if (state->ending) return [] {};
    asking->thread = std::thread([state = state.get(), asking, asked = std::move(asked), told = std::move(told)] {
      {
        const WorksUnder flag(asking->forgotten);
        HttpAnswer answer = state->Send(asked);
        if (!asking->forgotten) told(std::move(answer));
      }
      asking->ended = true;
    });
    state->all.push_back(asking);
    return [asking] { asking->forgotten = true; };
  };
}

}  // namespace kb::server

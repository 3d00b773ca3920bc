#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "judge/candidate/folder.h"
#include "server/api.h"
#include "server/evaluation_view.h"

namespace kb::server {

using nlohmann::json;

namespace {

void Send(const Call& call, const Result<json>& body) {
  call.responder->Send(body ? JsonAnswer(*body) : AnswerOf(RefusalOf(body.error())));
}

// A client that lost a stream of events says which it had last.
size_t FirstWanted(const Call& call) {
  if (call.query.contains("from")) return call.query["from"].get<size_t>();
  const auto last = call.head.headers.find("last-event-id");
  const auto number = last == call.head.headers.end() ? Result<json>(json(-1)) : ReadQuery(kFrom, last->second);
  return number ? static_cast<size_t>(number->get<int64_t>() + 1) : 0;
}

std::string NewBatch() { return fmt::format("{:016x}{:016x}", RandomBits(), RandomBits()); }

// A request whose answers are long: a candidate is searched for in them for seconds, on a thread that others wait for.
class Extracting {
 public:
  Extracting(const json& requests, std::atomic<int>* running) {
    size_t bytes = 0;
    for (const json& request : requests) {
      if (request.contains("answer")) bytes += request["answer"].get_ref<const std::string&>().size();
    }
    if (bytes <= kLong) return;
    running_ = running;
    may_ = ++*running_ <= kMost;
  }
  ~Extracting() {
    if (running_ != nullptr) --*running_;
  }
  Extracting(const Extracting&) = delete;
  Extracting& operator=(const Extracting&) = delete;
  bool may() const { return may_; }

 private:
  static constexpr size_t kLong = size_t{256} << 10;
  static constexpr int kMost = 2;  // at the same time
  std::atomic<int>* running_ = nullptr;
  bool may_ = true;
};

HttpAnswer BatchAnswer(const std::string& id, std::vector<json> evaluations) {
  const auto open =
      static_cast<int64_t>(evaluations.size()) - std::count_if(evaluations.begin(), evaluations.end(), HasEnded);
  return JsonAnswer({{"id", id}, {"open", open}, {"evaluations", std::move(evaluations)}}, open == 0 ? 200 : 202);
}

}  // namespace

// A text that is named by its digest is in the store, or it is refused. Runs of clients are apart from each other and
// from those of the user, whose candidates they could be taken for.
Result<Order> Api::ReadOrder(const Call& call, const json& request) {
  std::optional<std::string> source;
  if (request.contains("sha256")) {
    if (auto found = store_->Source(request["sha256"].get<std::string>())) source = std::move(*found);
  }
  auto order = reader_->Read(request, call.head.local, source);
  if (order && !order->run.empty() && !call.client.rights.contains("admin")) {
    order->run = call.client.name + "/" + order->run;
  }
  return order;
}

std::optional<std::vector<std::string>> Api::Take(const Call& call, const json& requests, const std::string& batch,
                                                  Order::Kind kind) {
  if (const auto over = desk_->OverQuota(call.client, requests.size())) {
    call.responder->Send(AnswerOf(*over));
    return std::nullopt;
  }
  const Extracting extracting(requests, &extracting_);
  if (!extracting.may()) {
    call.responder->Send(AnswerOf({503, "other long answers are being read: try again", "engine", true, 1}));
    return std::nullopt;
  }
  std::vector<Order> orders;
  for (const json& request : requests) {
    if (request.contains("problem_text") && !call.client.rights.contains("problems")) {
      call.responder->Send(AnswerOf(
          CallersFault(403, fmt::format("{} lacks the right problems, which problem_text needs: name a problem instead",
                                        call.client.name))));
      return std::nullopt;
    }
    auto order = ReadOrder(call, request);
    if (!order) {
      Error error = order.error();
      if (requests.size() > 1) error.message = fmt::format("/evaluations/{}{}", orders.size(), error.message);
      call.responder->Send(AnswerOf(RefusalOf(error)));
      return std::nullopt;
    }
    if (!orders.empty() && order->keep != orders[0].keep) {
      call.responder->Send(
          AnswerOf(CallersFault(400, fmt::format("/evaluations/{}/keep: all are kept or none", orders.size()))));
      return std::nullopt;
    }
    order->kind = kind;
    orders.push_back(std::move(*order));
  }
  auto ids = desk_->Take(call.client, std::move(orders), batch);
  if (ids) return std::move(*ids);
  call.responder->Send(AnswerOf(ids.error()));
  return std::nullopt;
}

// When it has ended or the time is over.
void Api::Answer(const Call& call, double wait_s, const std::string& id) {
  const bool whole = call.query.value("whole", false);
  const uint64_t number =
      desk_->Await(call.client.name, id, wait_s, whole, [responder = call.responder](const Result<json>& view) {
        if (!view) return responder->Send(AnswerOf(RefusalOf(view.error(), 404)));
        HttpAnswer answer = JsonAnswer(*view, HasEnded(*view) ? 200 : 202);
        answer.headers.emplace_back("Location", fmt::format("/v1/evaluations/{}", (*view)["id"].get<std::string>()));
        responder->Send(std::move(answer));
      });
  ForgetWhenGone(call, {{id, number}});
}

void Api::ForgetWhenGone(const Call& call, std::vector<Listening> listening) {
  call.responder->WhenGone([this, listening = std::move(listening)] {
    for (const auto& [id, number] : listening) desk_->Forget(id, number);
  });
}

void Api::PostEvaluation(Call call) {
  const bool keep = call.body.value("keep", true);
  const auto ids = Take(call, json::array({call.body}), "");
  if (ids) Answer(call, call.query.value("wait", keep ? 0.0 : kMostWait), ids->front());
}

void Api::GetEvaluation(Call call) {
  if (Is(Order::Kind::kEvaluate, call)) Answer(call, call.query.value("wait", 0.0), call.path["id"]);
}

void Api::GetEvents(Call call) {
  const auto begun = std::make_shared<std::atomic<bool>>(false);
  const auto responder = call.responder;
  const auto watching = desk_->Watch(
      call.client.name, call.path["id"], FirstWanted(call), [responder, begun](size_t at, const Event& event) {
        if (!begun->exchange(true)) responder->BeginEvents();
        const bool sent = responder->SendEvent(event.name, Dump(event.data), std::to_string(at));
        if (event.last) responder->EndEvents();
        return sent && !event.last;
      });
  if (!watching) return responder->Send(AnswerOf(RefusalOf(watching.error(), 404)));
  if (!begun->exchange(true)) responder->BeginEvents();
  ForgetWhenGone(call, {{call.path["id"], *watching}});
}

void Api::DeleteEvaluation(Call call) {
  const auto view = desk_->Cancel(call.client.name, call.path["id"], "its client asked for it");
  if (!view) return call.responder->Send(AnswerOf(RefusalOf(view.error(), 404)));
  if ((*view)["state"] == "cancelled") return call.responder->Send(JsonAnswer(*view));
  call.responder->Send(AnswerOf(CallersFault(409, HasEnded(*view) ? "it has ended, so there is nothing to cancel"
                                                                  : "another process judges it: interrupt that")));
}

void Api::PostBatch(Call call) {
  const std::string batch = NewBatch();
  if (!call.body["evaluations"][0].value("keep", true)) {
    return call.responder->Send(
        AnswerOf(CallersFault(400, "/evaluations/0/keep: a batch is kept, or its clients could not ask for it")));
  }
  const auto ids = Take(call, call.body["evaluations"], batch);
  if (!ids) return;
  std::vector<json> views;
  for (const std::string& id : *ids) {
    auto view = desk_->Find(call.client.name, id, false);
    if (!view) return Send(call, view);
    views.push_back(std::move(*view));
  }
  // A client that asks again, for its answer was lost, is told the batch of then.
  const bool any_new =
      std::any_of(views.begin(), views.end(), [&](const json& view) { return view["batch"] == batch; });
  const std::string told = any_new ? batch : views.front()["batch"].get<std::string>();
  call.responder->Send(BatchAnswer(told, std::move(views)));
}

// When all have ended, or after so many seconds.
void Api::AnswerBatch(const Call& call, double wait_s) {
  auto views = desk_->FindBatch(call.client.name, call.path.at("id"));
  if (!views) return call.responder->Send(AnswerOf(RefusalOf(views.error(), 404)));
  const auto open = std::find_if_not(views->rbegin(), views->rend(), HasEnded);
  if (open == views->rend() || wait_s <= 0) {
    return call.responder->Send(BatchAnswer(call.path.at("id"), std::move(*views)));
  }
  // The last one mostly ends last. If it has not ended then, the time is over, or the service ends.
  const auto begun = std::chrono::steady_clock::now();
  const std::string id = (*open)["id"];
  const uint64_t number =
      desk_->Await(call.client.name, id, wait_s, false, [this, call, wait_s, begun](const Result<json>& view) {
        if (!view || !HasEnded(*view)) return AnswerBatch(call, 0);
        const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
        const double left_s = wait_s - waited.count();
        if (!workers_.Do([this, call, left_s] { AnswerBatch(call, left_s); })) AnswerBatch(call, 0);
      });
  ForgetWhenGone(call, {{id, number}});
}

void Api::GetBatch(Call call) { AnswerBatch(call, call.query.value("wait", 0.0)); }

void Api::DeleteBatch(Call call) {
  const auto views = desk_->FindBatch(call.client.name, call.path["id"]);
  if (!views) return call.responder->Send(AnswerOf(RefusalOf(views.error(), 404)));
  for (const json& view : *views) (void)desk_->Cancel(call.client.name, view["id"], "its client asked for it");
  GetBatch(std::move(call));
}

void Api::GetRewards(Call call) {
  json rewards = json::array();
  for (const Reward& reward : options_.rewards) {
    rewards.push_back({{"name", reward.name}, {"description", reward.description}, {"source", reward.source}});
  }
  call.responder->Send(JsonAnswer({{"rewards", std::move(rewards)}}));
}

// Answers when the last one has ended, or the time is over.
void Api::PostRewards(Call call) {
  const std::string name = call.body["reward"];
  const auto reward =
      std::find_if(options_.rewards.begin(), options_.rewards.end(), [&](const Reward& r) { return r.name == name; });
  if (reward == options_.rewards.end()) {
    return call.responder->Send(
        AnswerOf(CallersFault(400, fmt::format("/reward: there is no {}; GET /v1/rewards lists them", name))));
  }
  const json best = call.body.value("best", json::array());
  if (!best.empty() && best.size() != call.body["evaluations"].size()) {
    return call.responder->Send(AnswerOf(CallersFault(400, "/best: give one for each evaluation")));
  }
  for (size_t i = 0; i < best.size(); ++i) {
    if (best[i].is_number() || best[i].is_null()) continue;
    return call.responder->Send(AnswerOf(CallersFault(400, fmt::format("/best/{}: must be a number or null", i))));
  }
  const auto ids = Take(call, call.body["evaluations"], NewBatch());
  if (!ids) return;
  std::vector<Listening> listening;
  struct Waiting {
    std::mutex mutex;
    json rewards;
    size_t left = 0;
  };
  const auto waiting = std::make_shared<Waiting>();
  waiting->rewards = json::array();
  for (size_t i = 0; i < ids->size(); ++i) waiting->rewards.push_back(nullptr);
  waiting->left = ids->size();
  for (size_t i = 0; i < ids->size(); ++i) {
    const auto so_far = !best.empty() && best[i].is_number() ? std::optional(best[i].get<double>()) : std::nullopt;
    const uint64_t number =
        desk_->Await(call.client.name, (*ids)[i], call.body.value("timeout_s", 600.0), true,
                     [waiting, i, so_far, reward = *reward, responder = call.responder](Result<json> view) {
                       if (!view) return responder->Send(AnswerOf(RefusalOf(view.error(), 404)));
                       json rewarded = {{"reward", nullptr}};
                       if ((*view)["state"] == "done") {
                         if (const auto value = RewardOf(reward, (*view)["evaluation"], so_far))
                           rewarded["reward"] = *value;
                       }
                       view->erase("evaluation");
                       rewarded["evaluation"] = std::move(*view);
                       const std::lock_guard lock(waiting->mutex);
                       waiting->rewards[i] = std::move(rewarded);
                       if (--waiting->left == 0)
                         responder->Send(JsonAnswer({{"rewards", std::move(waiting->rewards)}}));
                     });
    listening.push_back({(*ids)[i], number});
  }
  ForgetWhenGone(call, std::move(listening));
}

}  // namespace kb::server

#include "server/api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "judge/candidate/folder.h"
#include "judge/problem/metadata.h"
#include "server/evaluation_view.h"
#include "server/json_shape.h"
#include "server/metrics.h"
#include "server/tables.h"

namespace kb::server {

using Type = Field::Type;

namespace {

using nlohmann::json;

constexpr size_t kMostBody = size_t{64} << 20;  // of a batch
constexpr size_t kMostOne = size_t{32} << 20;   // of one evaluation: a candidate, whose characters may all be escaped
constexpr size_t kMostWaitingBytes = size_t{512} << 20;
constexpr int kWorkers = 8;
constexpr size_t kMostWaiting = 4096;
constexpr double kMostWait = 600;

const Field kWait = {.name = "wait",
                     .type = Type::kNumber,
                     .help = "seconds to wait for the end before it is answered",
                     .least = 0,
                     .most = kMostWait};
const Field kWhole = {.name = "whole", .type = Type::kFlag, .help = "true: with all that was measured"};
const Field kFrom = {
    .name = "from",
    .type = Type::kInteger,
    .help = "number of the first event that is wanted; without it what follows the header Last-Event-ID",
    .least = 0,
    .most = 1e6};

// The parts of a path that a route's names stand for; none: it is another route's.
std::optional<std::map<std::string, std::string>> Match(std::string_view pattern, std::string_view path) {
  std::map<std::string, std::string> found;
  while (!pattern.empty()) {
    if (pattern.front() != '{') {
      if (path.empty() || path.front() != pattern.front()) return std::nullopt;
      pattern.remove_prefix(1);
      path.remove_prefix(1);
      continue;
    }
    const size_t close = pattern.find('}');
    std::string name(pattern.substr(1, close - 1));
    const bool rest = name.ends_with("...");
    if (rest) name.resize(name.size() - 3);
    const size_t end = rest ? path.size() : std::min(path.find('/'), path.size());
    if (end == 0) return std::nullopt;
    found[name] = path.substr(0, end);
    path.remove_prefix(end);
    pattern.remove_prefix(close + 1);
  }
  return path.empty() ? std::optional(found) : std::nullopt;
}

struct Found {
  const Route* route = nullptr;
  std::map<std::string, std::string> path;
  std::string allowed;  // methods, where the path is known and the method is not
};

Found Find(const HttpHead& head) {
  Found found;
  for (const Route& route : Api::Routes()) {
    auto path = Match(route.path, head.path);
    if (!path) continue;
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(route.method);
    const bool wanted =
        head.method == route.method || (head.method == "HEAD" && std::string_view(route.method) == "GET");
    if (wanted && found.route == nullptr) {
      found.route = &route;
      found.path = std::move(*path);
    }
  }
  return found;
}

HttpAnswer Json(const json& body, int status = 200) { return {status, "application/json", Dump(body) + "\n", {}}; }

void Send(const Call& call, const Result<json>& body) {
  call.responder->Send(body ? Json(*body) : AnswerOf(RefusalOf(body.error())));
}

std::string UnknownQuery(const Route& route, const std::string& name) {
  std::vector<const char*> known;
  for (const Field& field : route.query) known.push_back(field.name);
  return fmt::format("{}: there is no such query parameter; {}", name,
                     known.empty() ? "none is taken here" : fmt::format("there are {}", fmt::join(known, ", ")));
}

// A client that lost a stream of events says which it had last.
size_t FirstWanted(const Call& call) {
  if (call.query.contains("from")) return call.query["from"].get<size_t>();
  const auto last = call.head.headers.find("last-event-id");
  const auto number = last == call.head.headers.end() ? Result<json>(json(-1)) : ReadQuery(kFrom, last->second);
  return number ? static_cast<size_t>(number->get<int64_t>() + 1) : 0;
}

std::string NewBatch() { return fmt::format("{:016x}{:016x}", RandomBits(), RandomBits()); }

bool HasEnded(const json& evaluation) {
  const std::string state = evaluation["state"];
  return state == "done" || state == "failed" || state == "cancelled";
}

json BatchView(const std::string& id, std::vector<json> evaluations) {
  const auto open =
      static_cast<int64_t>(evaluations.size()) - std::count_if(evaluations.begin(), evaluations.end(), HasEnded);
  return {{"id", id}, {"open", open}, {"evaluations", std::move(evaluations)}};
}

}  // namespace

const std::vector<Route>& Api::Routes() {
  static const std::vector<Route> routes = {
      {"GET", "/health", "health", "Whether the service judges", nullptr, {}, nullptr, &kHealth, {}, &Api::GetHealth},
      {"GET", "/metrics", "metrics", "Counters for Prometheus", nullptr, {}, nullptr, nullptr, {}, &Api::GetMetrics},
      {"GET", "/openapi.json", "openapi", "This document", nullptr, {}, nullptr, nullptr, {}, &Api::GetOpenApi},
      {"POST",
       "/v1/evaluations",
       "submit",
       "Have a candidate judged",
       "judge",
       {kWait, kWhole},
       &kEvaluationRequest,
       &kEvaluation,
       {202, 409},
       &Api::PostEvaluation},
      {"GET",
       "/v1/evaluations/{id}",
       "evaluation",
       "What has come of it",
       "judge",
       {kWait, kWhole},
       nullptr,
       &kEvaluation,
       {202, 404},
       &Api::GetEvaluation},
      {"GET",
       "/v1/evaluations/{id}/events",
       "events",
       "How far it is, as server-sent events",
       "judge",
       {kFrom},
       nullptr,
       nullptr,
       {404},
       &Api::GetEvents},
      {"DELETE",
       "/v1/evaluations/{id}",
       "cancel",
       "Cancel it, unless it has begun",
       "judge",
       {},
       nullptr,
       &kEvaluation,
       {404, 409},
       &Api::DeleteEvaluation},
      {"POST",
       "/v1/batches",
       "submitBatch",
       "Have many candidates judged",
       "judge",
       {},
       &kBatchRequest,
       &kBatch,
       {202, 409},
       &Api::PostBatch},
      {"GET",
       "/v1/batches/{id}",
       "batch",
       "What has come of them",
       "judge",
       {kWait},
       nullptr,
       &kBatch,
       {404},
       &Api::GetBatch},
      {"DELETE",
       "/v1/batches/{id}",
       "cancelBatch",
       "Cancel those that have not begun",
       "judge",
       {},
       nullptr,
       &kBatch,
       {404},
       &Api::DeleteBatch},
      {"GET",
       "/v1/rewards",
       "rewards",
       "The rewards that there are",
       "judge",
       {},
       nullptr,
       &kRewardList,
       {},
       &Api::GetRewards},
      {"POST",
       "/v1/rewards",
       "reward",
       "Judge candidates and give their rewards, in one answer",
       "judge",
       {},
       &kRewardRequest,
       &kRewards,
       {409},
       &Api::PostRewards},
      {"GET",
       "/v1/problems",
       "problems",
       "The problems that there are",
       "judge",
       {},
       nullptr,
       &kProblemList,
       {},
       &Api::GetProblems},
      {"GET",
       "/v1/problems/{name...}",
       "problem",
       "One problem, with its text",
       "judge",
       {},
       nullptr,
       &kProblemInfo,
       {404},
       &Api::GetProblem},
      {"GET",
       "/v1/protocols",
       "protocols",
       "The rules of judgement that there are",
       "judge",
       {},
       nullptr,
       &kProtocolList,
       {},
       &Api::GetProtocols},
      {"GET",
       "/v1/service",
       "service",
       "The process, and what it judges with",
       "admin",
       {},
       nullptr,
       &kServiceInfo,
       {},
       &Api::GetService},
      {"GET", "/v1/runs", "runs", "Runs in the store", "admin", {}, nullptr, &kRunList, {}, &Api::GetRuns},
  };
  return routes;
}

Api::Api(ApiOptions options, std::shared_ptr<const OrderReader> reader, Desk* desk, Store* store)
    : options_(std::move(options)),
      reader_(std::move(reader)),
      desk_(desk),
      store_(store),
      access_(options_.access),
      workers_(kWorkers, kMostWaiting) {}

std::variant<size_t, HttpAnswer> Api::Accept(const HttpHead& head) {
  const Found found = Find(head);
  if (found.route == nullptr && found.allowed.empty()) {
    return AnswerOf(CallersFault(404, fmt::format("there is no {}; /openapi.json lists what there is", head.path)));
  }
  if (found.route == nullptr) {
    HttpAnswer answer = AnswerOf(CallersFault(405, fmt::format("{} takes {}", head.path, found.allowed)));
    answer.headers.emplace_back("Allow", found.allowed);
    return answer;
  }
  auto admitted = Admit(*found.route, head);
  if (auto* answer = std::get_if<HttpAnswer>(&admitted)) return std::move(*answer);
  if (found.route->body == nullptr) return size_t{4096};
  return found.route->body == &kEvaluationRequest ? kMostOne : kMostBody;
}

std::variant<Client, HttpAnswer> Api::Admit(const Route& route, const HttpHead& head) {
  if (route.right == nullptr) return Client{.name = "", .rights = {}, .queued = 0};
  auto client = access_.ClientOf(head);
  if (!client) {
    HttpAnswer answer = AnswerOf(client.error());
    if (answer.status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  if (client->rights.contains(route.right)) return std::move(*client);
  return AnswerOf(CallersFault(403, fmt::format("{} lacks the right {}", client->name, route.right)));
}

void Api::Handle(HttpRequest request, std::shared_ptr<HttpResponder> responder) {
  last_request_ns_ = NowNs();
  const size_t bytes = request.body.size();
  const auto shared = std::make_shared<HttpRequest>(std::move(request));
  const auto work = [this, shared, responder, bytes] {
    try {
      Dispatch(std::move(*shared), responder);
    } catch (const std::exception& exception) {
      responder->Send(AnswerOf({500, exception.what(), "engine", true, 0}));
    }
    waiting_bytes_ -= bytes;
  };
  const bool room = waiting_bytes_ + bytes <= kMostWaitingBytes;
  if (room) waiting_bytes_ += bytes;
  if (room && workers_.Do(work)) return;
  if (room) waiting_bytes_ -= bytes;
  responder->Send(AnswerOf({503, "too many requests wait: try again", "engine", true, 1}));
}

// The table of routes says what is right.
void Api::Dispatch(HttpRequest request, const std::shared_ptr<HttpResponder>& responder) {
  Found found = Find(request.head);
  const Route& route = *found.route;
  auto admitted = Admit(route, request.head);  // once more: a token may have been revoked meanwhile
  if (auto* answer = std::get_if<HttpAnswer>(&admitted)) return responder->Send(std::move(*answer));
  Call call{.client = std::get<Client>(std::move(admitted)),
            .head = std::move(request.head),
            .path = std::move(found.path),
            .query = json::object(),
            .body = {},
            .responder = responder};
  for (const auto& [name, text] : call.head.query) {
    const auto field = std::find_if(route.query.begin(), route.query.end(),
                                    [&wanted = name](const Field& f) { return f.name == wanted; });
    if (field == route.query.end()) {
      return responder->Send(AnswerOf(CallersFault(400, UnknownQuery(route, name))));
    }
    auto value = ReadQuery(*field, text);
    if (!value) return responder->Send(AnswerOf(RefusalOf(value.error())));
    call.query[name] = std::move(*value);
  }
  if (route.body != nullptr) {
    if (const Status checked = CheckShape(request.body); !checked) {
      return responder->Send(AnswerOf(RefusalOf(checked.error())));
    }
    call.body = json::parse(std::exchange(request.body, {}), nullptr, false);
    if (call.body.is_discarded()) return responder->Send(AnswerOf(CallersFault(400, "the body is no JSON")));
    if (const Status checked = Check(*route.body, call.body); !checked) {
      return responder->Send(AnswerOf(RefusalOf(checked.error())));
    }
  }
  (this->*route.handle)(std::move(call));
}

void Api::GetHealth(Call call) {
  if (const Status judging = desk_->status(); !judging) {
    return call.responder->Send(AnswerOf({503, judging.error().message, "engine", true, 5}));
  }
  call.responder->Send(Json({{"status", "healthy"},
                             {"version", options_.version},
                             {"device", reader_->device()},
                             {"devices", options_.devices}}));
}

void Api::GetMetrics(Call call) {
  call.responder->Send({200, "text/plain; version=0.0.4; charset=utf-8", MetricsText(desk_->counts()), {}});
}

void Api::GetOpenApi(Call call) { call.responder->Send(Json(OpenApi(Routes(), options_.version))); }

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

bool Api::WithinQuota(const Call& call, size_t more) {
  const size_t open = desk_->OpenOf(call.client.name), most = static_cast<size_t>(call.client.queued);
  if (open + more <= most) return true;
  if (more > most) {
    call.responder->Send(
        AnswerOf(CallersFault(400, fmt::format("{} may have {} evaluations open and asks for {}: send fewer",
                                               call.client.name, most, more))));
    return false;
  }
  call.responder->Send(AnswerOf({429,
                                 fmt::format("{} may have {} evaluations open and has {}: send it when some have ended",
                                             call.client.name, most, open),
                                 "caller", true, 5}));
  return false;
}

std::optional<std::vector<std::string>> Api::Take(const Call& call, const json& requests, const std::string& batch) {
  if (!WithinQuota(call, requests.size())) return std::nullopt;
  std::vector<Order> orders;
  for (const json& request : requests) {
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
    orders.push_back(std::move(*order));
  }
  auto ids = desk_->Take(call.client.name, std::move(orders), batch);
  if (ids) return std::move(*ids);
  call.responder->Send(AnswerOf(RefusalOf(ids.error(), 409)));
  return std::nullopt;
}

// When it has ended or the time is over. Of one that is not kept the client's departure is the end.
void Api::Answer(const Call& call, double wait_s, const std::string& id, bool cancel_when_gone) {
  const bool whole = call.query.value("whole", false);
  const uint64_t number =
      desk_->Await(call.client.name, id, wait_s, whole, [responder = call.responder](const Result<json>& view) {
        if (!view) return responder->Send(AnswerOf(RefusalOf(view.error(), 404)));
        HttpAnswer answer = Json(*view, HasEnded(*view) ? 200 : 202);
        answer.headers.emplace_back("Location", fmt::format("/v1/evaluations/{}", (*view)["id"].get<std::string>()));
        responder->Send(std::move(answer));
      });
  ForgetWhenGone(call, {{id, number}}, cancel_when_gone);
}

void Api::ForgetWhenGone(const Call& call, std::vector<Listening> listening, bool cancel) {
  call.responder->WhenGone([this, client = call.client.name, listening = std::move(listening), cancel] {
    for (const auto& [id, number] : listening) desk_->Forget(id, number);
    if (!cancel) return;
    (void)workers_.Do([this, client, listening] {
      for (const auto& [id, number] : listening) (void)desk_->Cancel(client, id, "its client went away");
    });
  });
}

void Api::PostEvaluation(Call call) {
  const bool keep = call.body.value("keep", true);
  const auto ids = Take(call, json::array({call.body}), "");
  if (ids)
    Answer(call, keep ? call.query.value("wait", 0.0) : call.query.value("wait", kMostWait), ids->front(), !keep);
}

void Api::GetEvaluation(Call call) { Answer(call, call.query.value("wait", 0.0), call.path["id"], false); }

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
  ForgetWhenGone(call, {{call.path["id"], *watching}}, false);
}

void Api::DeleteEvaluation(Call call) {
  const auto view = desk_->Cancel(call.client.name, call.path["id"], "its client asked for it");
  if (!view) return call.responder->Send(AnswerOf(RefusalOf(view.error(), 404)));
  if ((*view)["state"] == "cancelled") return call.responder->Send(Json(*view));
  call.responder->Send(AnswerOf(
      CallersFault(409, fmt::format("it is {}: what has begun is judged", (*view)["state"].get<std::string>()))));
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
  const json view = BatchView(told, std::move(views));
  call.responder->Send(Json(view, view["open"] == 0 ? 200 : 202));
}

// When all have ended, or after so many seconds.
void Api::AnswerBatch(const Call& call, double wait_s) {
  auto views = desk_->FindBatch(call.client.name, call.path.at("id"));
  if (!views) return call.responder->Send(AnswerOf(RefusalOf(views.error(), 404)));
  const auto open = std::find_if_not(views->rbegin(), views->rend(), HasEnded);
  if (open == views->rend() || wait_s <= 0) {
    return call.responder->Send(Json(BatchView(call.path.at("id"), std::move(*views))));
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
  ForgetWhenGone(call, {{id, number}}, false);
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
  call.responder->Send(Json({{"rewards", std::move(rewards)}}));
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
  const bool keep = call.body["evaluations"][0].value("keep", true);
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
                       if (--waiting->left == 0) responder->Send(Json({{"rewards", std::move(waiting->rewards)}}));
                     });
    listening.push_back({(*ids)[i], number});
  }
  ForgetWhenGone(call, std::move(listening), !keep);
}

void Api::GetProblems(Call call) {
  json problems = json::array();
  for (const ProblemFile& problem : reader_->problems()) {
    problems.push_back(
        {{"name", problem.name}, {"title", problem.title}, {"deck", problem.deck}, {"level", problem.level}});
  }
  call.responder->Send(Json({{"problems", std::move(problems)}}));
}

void Api::GetProblem(Call call) {
  const auto problem = reader_->Problem(call.path["name"]);
  if (!problem) return call.responder->Send(AnswerOf(RefusalOf(problem.error(), 404)));
  const auto source = ReadFile(problem->path);
  if (!source) return call.responder->Send(AnswerOf(RefusalOf({ErrorCode::kEngine, source.error().message})));
  const ProblemMetadata metadata = ReadMetadata(*source);
  call.responder->Send(Json({{"name", problem->name},
                             {"title", problem->title},
                             {"deck", problem->deck},
                             {"level", problem->level},
                             {"sizes", metadata.sizes},
                             {"precisions", metadata.precisions},
                             {"unscored", metadata.unscored.empty() ? json() : json(metadata.unscored)},
                             {"source", *source}}));
}

void Api::GetProtocols(Call call) {
  json protocols = json::array();
  for (const std::string& name : Protocol::List(reader_->protocols())) {
    const auto protocol = Protocol::Load(reader_->protocols(), name);
    if (!protocol) continue;
    protocols.push_back({{"name", name}, {"description", protocol->description}, {"keys", protocol->ToJson()}});
  }
  call.responder->Send(Json({{"protocols", std::move(protocols)}}));
}

void Api::GetService(Call call) {
  call.responder->Send(Json({{"pid", ::getpid()}, {"identity", options_.identity}, {"open", desk_->counts().Open()}}));
}

void Api::GetRuns(Call call) {
  const auto runs = store_->Runs();
  if (!runs) return call.responder->Send(AnswerOf(RefusalOf(runs.error())));
  call.responder->Send(Json({{"runs", *runs}}));
}

}  // namespace kb::server

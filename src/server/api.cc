#include "server/api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/json.h"
#include "base/json_shape.h"
#include "server/faces/mcp.h"

namespace kb::server {
namespace {

using nlohmann::json;

constexpr size_t kMostBody = size_t{64} << 20;  // of a batch
constexpr size_t kMostOne = size_t{32} << 20;   // of one evaluation: a candidate, whose characters may all be escaped
constexpr size_t kMostWaitingBytes = size_t{512} << 20;
constexpr int kWorkers = 8;
constexpr size_t kMostWaiting = 4096;

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
std::string UnknownQuery(const Route& route, const std::string& name) {
  std::vector<const char*> known;
  for (const Field& field : route.query) known.push_back(field.name);
  return fmt::format("{}: there is no such query parameter; {}", name,
                     known.empty() ? "none is taken here" : fmt::format("there are {}", fmt::join(known, ", ")));
}

}  // namespace

Api::Api(ApiOptions options, std::shared_ptr<const OrderReader> reader, Desk* desk, Store* store)
    : options_(std::move(options)),
      reader_(std::move(reader)),
      desk_(desk),
      store_(store),
      access_(options_.access),
      mcp_(std::make_shared<Mcp>(options_.version)),
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
  return found.route->body == &kEvaluationRequest || found.route->raw ? kMostOne : kMostBody;
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
      if (stopping_) {
        responder->Send(AnswerOf(RefusalOf({ErrorCode::kInterrupted, ""})));
      } else {
        Dispatch(std::move(*shared), responder);
      }
    } catch (const std::exception& exception) {
      responder->Send(AnswerOf({500, exception.what(), "engine", true, 0}));
    }
    waiting_bytes_ -= bytes;
  };
  const bool room = waiting_bytes_ + bytes <= kMostWaitingBytes;
  if (room) waiting_bytes_ += bytes;
  if (room && workers_.Do(work)) return;
  if (room) waiting_bytes_ -= bytes;
  responder->Send(AnswerOf(stopping_ ? RefusalOf({ErrorCode::kInterrupted, ""})
                                     : Refusal{503, "too many requests wait: try again", "engine", true, 1}));
}

ApiAsk Api::AskAs(const Call& call) {
  return [this, head = call.head](Asked asked, std::function<void(HttpAnswer)> told) -> Forget {
    HttpRequest request{.head = head, .body = asked.body.is_null() ? "" : Dump(asked.body)};
    request.head.method = std::move(asked.method);
    request.head.target = std::move(asked.target);
    request.head.query.clear();
    if (const Status read = ReadTarget(&request.head); !read) {
      told(AnswerOf(RefusalOf(read.error())));
      return [] {};
    }
    const auto self = std::make_shared<std::weak_ptr<HttpReply>>();
    const auto changed = [self, told = std::move(told)] {
      const auto reply = self->lock();
      auto taken = reply ? reply->Take() : HttpReply::Taken();
      if (!taken.answer) return;
      reply->Whole();
      told(std::move(*taken.answer));
    };
    const auto reply = std::make_shared<HttpReply>(changed, [](const std::function<void()>& task) { task(); });
    *self = reply;
    Handle(std::move(request), std::make_shared<HttpResponder>(reply));
    return [self] {
      if (const auto asked_for = self->lock()) asked_for->Gone();
    };
  };
}

// The table of routes says what is right.
void Api::Dispatch(HttpRequest request, const std::shared_ptr<HttpResponder>& responder) {
  Found found = Find(request.head);
  if (found.route == nullptr) {  // of AskAs(); a client's own was looked for when its head came
    return responder->Send(AnswerOf(CallersFault(404, fmt::format("there is no {}", request.head.path))));
  }
  const Route& route = *found.route;
  auto admitted = Admit(route, request.head);  // once more: a token may have been revoked meanwhile
  if (auto* answer = std::get_if<HttpAnswer>(&admitted)) return responder->Send(std::move(*answer));
  Call call{.client = std::get<Client>(std::move(admitted)),
            .head = std::move(request.head),
            .path = std::move(found.path),
            .query = json::object(),
            .body = {},
            .text = {},
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
  for (const Field& field : route.query) {
    if (!field.required || call.query.contains(field.name)) continue;
    return responder->Send(AnswerOf(CallersFault(400, fmt::format("{}: is missing", field.name))));
  }
  if (route.raw) {
    call.text = std::move(request.body);
  } else if (route.body != nullptr) {
    if (const Status checked = CheckShape(request.body); !checked) {
      return responder->Send(AnswerOf(RefusalOf(checked.error())));
    }
    call.body = json::parse(std::exchange(request.body, {}), nullptr, false);
    if (call.body.is_discarded()) return responder->Send(AnswerOf(CallersFault(400, "the body is no JSON")));
    if (const Status checked = Check(*route.body, call.body); !checked) {
      return responder->Send(AnswerOf(RefusalOf(checked.error())));
    }
  }
  route.handle(*this, std::move(call));
}

}  // namespace kb::server

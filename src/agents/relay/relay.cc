#include "agents/relay/relay.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "agents/relay/dialect.h"
#include "agents/relay/request_queue.h"
#include "agents/relay/upstream.h"
#include "base/json.h"
#include "base/utf8.h"
#include "model/open_model.h"
#include "server/http_server.h"
#include "server/workers.h"

namespace kb {
namespace {

using server::HttpAnswer;
using Responder = std::shared_ptr<server::HttpResponder>;
using Flag = std::shared_ptr<std::atomic<bool>>;

constexpr size_t kMostBody = size_t{32} << 20;
constexpr size_t kMostWaiting = 64;  // requests
constexpr size_t kLongestDenial = 300;
constexpr size_t kMostUnsent = size_t{64} << 20;  // of one answer
constexpr int kConnections = 128;
// A box is frozen while something is measured, and then takes and sends nothing.
constexpr int kPatienceS = 24 * 3600;

server::HttpLimits Limits() {
  server::HttpLimits limits;
  limits.header_bytes = size_t{64} << 10;
  limits.bodies_mib = 256;
  limits.connections = kConnections;
  limits.head_s = limits.body_s = limits.idle_s = limits.send_s = kPatienceS;
  return limits;
}

// Of the features of Anthropic's API that a request has to name, those that change how an answer is written.
std::vector<std::string> HeadersOf(Wire wire, const server::HttpHead& head) {
  const auto named = head.headers.find("anthropic-beta");
  if (wire != Wire::kMessages || named == head.headers.end()) return {};
  std::string passed;
  for (size_t at = 0; at < named->second.size();) {
    const size_t end = std::min(named->second.find(',', at), named->second.size());
    std::string name = named->second.substr(at, end - at);
    std::erase_if(name, [](char c) { return c <= ' ' || c >= '\x7f'; });
    const bool known = name.starts_with("interleaved-thinking-") || name.starts_with("fine-grained-tool-streaming-");
    if (known) passed += (passed.empty() ? "" : ",") + name;
    at = end + 1;
  }
  return passed.empty() ? std::vector<std::string>() : std::vector<std::string>{"anthropic-beta: " + passed};
}

// In the shapes that clients of OpenAI and Anthropic read, or of Google.
std::string ModelList(Wire wire, const std::string& model) {
  if (wire == Wire::kGemini) {
    const WireJson one = {{"name", "models/" + model}, {"displayName", model}};
    return Dump(WireJson{{"models", WireJson::array({one})}});
  }
  const WireJson one = {{"id", model},         {"object", "model"}, {"created", 0},
                        {"owned_by", "local"}, {"type", "model"},   {"display_name", model}};
  return Dump(WireJson{{"object", "list"}, {"data", WireJson::array({one})}, {"has_more", false}});
}

}  // namespace

class Relay::Impl : public server::HttpServer::Handler {
 public:
  Impl(RelayOptions options, std::string key, std::unique_ptr<HttpClient> http, std::shared_ptr<Gate> gate,
       RelayOwner* owner)
      : options_(std::move(options)),
        dialect_(DialectOf(options_.settings.wire)),
        owner_(owner),
        upstream_(options_.settings, std::move(key), std::move(http), std::move(gate)),
        queue_(kMostWaiting, options_.most_waiting_bytes),
        workers_(options_.calls_at_once, static_cast<size_t>(options_.calls_at_once)) {
    for (int i = 0; i < options_.calls_at_once; ++i) workers_.Do([this] { ServeAll(); });
  }
  ~Impl() override {
    *stopping_ = true;
    if (server_) server_->StopAccepting();
    queue_.Stop();
    workers_.Stop();
    server_.reset();
  }

  Status Listen() {
    KB_ASSIGN_OR_RETURN(server_, server::HttpServer::Start({options_.socket, ""}, Limits(), this));
    return {};
  }

  std::variant<size_t, HttpAnswer> Accept(const server::HttpHead& head) override;
  void Handle(server::HttpRequest request, Responder responder) override;

 private:
  HttpAnswer Refusal(int status, const std::string& message) const {
    return {status, "application/json", dialect_.error_body(status, message), {}};
  }
  void ServeAll();
  void Serve(server::HttpRequest request, const Responder& responder, const Flag& gone);
  void Deny(RelayCall call, const std::string& why, const Responder& responder);
  void Ask(const std::string& body, const std::vector<std::string>& headers, RelayCall call,
           const Responder& responder);

  const RelayOptions options_;
  const Dialect& dialect_;
  RelayOwner* const owner_;
  Upstream upstream_;
  const Flag stopping_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<int64_t> calls_ = 0, requests_ = 0;
  std::mutex mutex_;
  Conversations conversations_;
  RequestQueue queue_;
  server::Workers workers_;
  std::unique_ptr<server::HttpServer> server_;
};

std::variant<size_t, HttpAnswer> Relay::Impl::Accept(const server::HttpHead& head) {
  if (head.method == "GET" && OneOf(head.path, {"/models", "/v1/models", "/v1beta/models"})) {
    return HttpAnswer{200, "application/json", ModelList(options_.settings.wire, options_.settings.model), {}};
  }
  const auto path = ReadPath(dialect_, head.path);
  if (head.method != "POST" || !path) {
    return Refusal(404, fmt::format("there is no {} {} here: this model speaks {}, POST /v1{}", head.method, head.path,
                                    dialect_.name, dialect_.path));
  }
  if (path->stream == true && (!head.query.contains("alt") || head.query.at("alt") != "sse")) {
    return Refusal(400, "a stream is given as events only: ask for it with alt=sse");
  }
  if (head.headers.contains("content-encoding")) return Refusal(415, "send the request without a content encoding");
  const auto length = head.headers.find("content-length");
  if (length != head.headers.end() && std::strtoull(length->second.c_str(), nullptr, 10) > kMostBody) {
    return Refusal(413, fmt::format("the request has more than {} bytes", kMostBody));
  }
  return kMostBody;
}

void Relay::Impl::Handle(server::HttpRequest request, Responder responder) {
  const Flag gone = std::make_shared<std::atomic<bool>>(false);
  const int64_t id = ++requests_;
  responder->WhenGone([this, gone, id] {
    *gone = true;
    queue_.Drop(id);
  });
  if (!queue_.Add({id, std::move(request), responder, gone})) {
    responder->Send(Refusal(429, "too many requests wait here already: try again later"));
  }
}

void Relay::Impl::ServeAll() {
  while (auto next = queue_.Take()) {
    try {
      Serve(std::move(next->request), next->responder, next->gone);
    } catch (const std::exception& error) {
      fmt::print(stderr, "kernelbench: a request to the relay failed: {}\n", error.what());
    }
  }
}

void Relay::Impl::Deny(RelayCall call, const std::string& why, const Responder& responder) {
  call.denied = true;
  call.status = 400;
  call.why = CutUtf8(why, kLongestDenial);
  owner_->Told(call);
  responder->Send(Refusal(400, call.why));
}

void Relay::Impl::Serve(server::HttpRequest request, const Responder& responder, const Flag& gone) {
  if (*gone || *stopping_) return;
  RelayCall call;
  call.stop = [gone, stopping = stopping_] { return *gone || *stopping; };
  call.number = ++calls_;
  auto read = ReadRequest(dialect_, options_.settings, request.body, *ReadPath(dialect_, request.head.path));
  request.body = {};
  if (!read) return Deny(std::move(call), read.error().message, responder);
  const std::string body = Dump(read->body);
  call.program_model = read->program_model;
  call.streamed = read->stream;
  call.prompt_bytes = body.size();
  call.max_tokens = read->max_tokens;
  call.dropped = std::move(read->dropped);
  {
    const std::lock_guard lock(mutex_);
    call.added = conversations_.Add(dialect_, read->body);
  }
  read->body = {};
  if (const auto over = owner_->Admit(call)) return responder->Send(Refusal(402, *over));
  Ask(body, HeadersOf(options_.settings.wire, request.head), std::move(call), responder);
}

void Relay::Impl::Ask(const std::string& body, const std::vector<std::string>& headers, RelayCall call,
                      const Responder& responder) {
  bool begun = false;
  const auto events = [&](std::string_view event) {
    if (!std::exchange(begun, true)) responder->BeginEvents(kMostUnsent);
    return responder->SendEvents(event);
  };
  Relaying relaying = upstream_.Ask(body, headers, call.streamed, events, call.stop);
  call.whole = relaying.whole;
  call.left = !relaying.whole && call.stop();
  call.refused = relaying.refused && !call.left;
  call.lost = relaying.lost;
  call.why = std::move(relaying.why);
  call.answer = std::move(relaying.answer);
  call.status = relaying.begun ? 200 : relaying.status;
  owner_->Told(call);
  if (relaying.begun) {
    if (!relaying.whole) responder->SendEvents(dialect_.error_event(call.why));
    responder->EndEvents();
  } else {
    HttpAnswer answer = Refusal(relaying.status, call.why);
    if (!relaying.body.empty()) answer.body = std::move(relaying.body);
    if (!relaying.retry_after.empty()) answer.headers.emplace_back("Retry-After", relaying.retry_after);
    responder->Send(std::move(answer));
  }
}

Relay::Relay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Relay::~Relay() = default;

Result<std::unique_ptr<Relay>> Relay::Start(RelayOptions options, RelayOwner* owner, Gates* gates) {
  const ModelSettings& settings = options.settings;
  KB_RETURN_IF_ERROR(CheckRelayed(settings));
  KB_ASSIGN_OR_RETURN(std::string key, KeyFromEnvironment(settings));
  KB_ASSIGN_OR_RETURN(std::unique_ptr<HttpClient> http, HttpClient::Create());
  std::shared_ptr<Gate> gate = gates != nullptr ? gates->Of(settings.base_url, settings.key_env, settings.concurrency)
                                                : std::make_shared<Gate>(settings.concurrency);
  auto impl = std::make_unique<Impl>(std::move(options), std::move(key), std::move(http), std::move(gate), owner);
  KB_RETURN_IF_ERROR(impl->Listen());
  return std::unique_ptr<Relay>(new Relay(std::move(impl)));
}

}  // namespace kb

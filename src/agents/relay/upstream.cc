#include "agents/relay/upstream.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "agents/relay/event_cutter.h"
#include "model/remote_provider.h"
#include "model/sse.h"

namespace kb {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kErrorBytes = 256 << 10;  // kept of an answer that is an error
constexpr size_t kStreamOverhead = 16;     // bytes of a stream for one of its text, at most

}  // namespace

// One call of the provider.
class Upstream::Attempt {
 public:
  Attempt(const Upstream& upstream, bool stream, const Events& events)
      : upstream_(upstream),
        settings_(upstream.settings_),
        stream_(stream),
        events_(events),
        reader_(upstream.format_.reader(settings_)),
        parser_(settings_.max_answer_bytes + kErrorBytes) {}

  // Whether it is worth another is in `failure`.
  Relaying Run(const HttpRequest& call, const std::function<bool()>& stop, CallFailure* failure);

 private:
  bool Take(const HttpHead& head, std::string_view bytes);
  bool TakeEvent(const std::string& event);
  CallFailure WhyNot(const HttpResult& result);
  void Refuse(const HttpResult& result, const CallFailure& failure, Relaying* relaying) const;

  const Upstream& upstream_;
  const ModelSettings& settings_;
  const bool stream_;
  const Events& events_;
  const std::unique_ptr<AnswerReader> reader_;
  SseParser parser_;
  EventCutter cutter_;
  std::optional<StreamFault> fault_;
  std::string body_;  // of what is no stream
  std::string held_;  // comments before the first event: until it comes nothing is passed on
  bool begun_ = false, too_long_ = false, unwanted_ = false;
};

bool Upstream::Attempt::Take(const HttpHead& head, std::string_view bytes) {
  const bool events = stream_ && head.status == 200 && !head.content_type.starts_with("application/json");
  if (!events) {
    const size_t most = head.status == 200 ? settings_.max_answer_bytes * 2 + kErrorBytes : kErrorBytes;
    body_ += bytes.substr(0, most - std::min(most, body_.size()));
    too_long_ = head.status == 200 && body_.size() == most;
    return body_.size() < most;
  }
  if (!begun_ && body_.size() < kErrorBytes) body_ += bytes.substr(0, kErrorBytes);  // it may be a page of HTML
  const bool more = cutter_.Feed(bytes, [this](const std::string& event) { return TakeEvent(event); });
  too_long_ |= std::max(cutter_.size(), reader_->size()) > settings_.max_answer_bytes + kErrorBytes;
  return more && !too_long_;
}

bool Upstream::Attempt::TakeEvent(const std::string& event) {
  bool has_data = false;
  parser_.Feed(event, [&](const SseEvent& parsed) {
    has_data = true;
    if (!fault_ && !reader_->ended()) fault_ = reader_->Read(parsed);
  });
  if (fault_ && !begun_) return false;
  held_ += event;
  if (!has_data && !begun_) return true;
  begun_ = true;
  unwanted_ = !events_(RedactedJson(std::exchange(held_, {}), upstream_.key_, settings_.key_env));
  return !unwanted_ && !fault_ && !reader_->ended();
}

CallFailure Upstream::Attempt::WhyNot(const HttpResult& result) {
  if (unwanted_ || result.end == HttpEnd::kStopped) return {"nobody waited for the end", false, ""};
  if (too_long_ || result.end == HttpEnd::kTooLarge) {
    return {fmt::format("the answer is longer than {} bytes; a larger max_answer_bytes in models.toml allows more",
                        settings_.max_answer_bytes),
            false, ""};
  }
  if (fault_) return {fault_->message, fault_->retry && !begun_, ""};
  CallFailure failure = FailureOf(result, begun_ ? "" : body_, settings_);
  if (begun_) failure = {"the answer ended before its end mark", false, ""};
  return failure;
}

// The provider's own words where it has some, for programs act on its codes.
void Upstream::Attempt::Refuse(const HttpResult& result, const CallFailure& failure, Relaying* relaying) const {
  const long status = result.head.status;
  relaying->status = result.end == HttpEnd::kTimeout ? 504 : status >= 400 ? static_cast<int>(status) : 502;
  if (status >= 400 && WireJson::accept(body_)) {
    relaying->body = RedactedJson(body_, upstream_.key_, settings_.key_env);
  }
  if (IsRetryAfter(result.head.retry_after)) relaying->retry_after = result.head.retry_after;
  relaying->why = Shown(failure.message, upstream_.key_, settings_.key_env);
}

Relaying Upstream::Attempt::Run(const HttpRequest& call, const std::function<bool()>& stop, CallFailure* failure) {
  const auto start = Clock::now();
  const auto sink = [this](const HttpHead& head, std::string_view bytes) { return Take(head, bytes); };
  const HttpResult result = upstream_.http_->Call(call, sink, stop);
  if (result.end == HttpEnd::kDone && result.head.status == 200 && !begun_ && !fault_ && !too_long_) {
    fault_ = reader_->ReadWhole(body_);
    too_long_ = reader_->size() > settings_.max_answer_bytes;
  }
  Relaying relaying;
  relaying.begun = begun_;
  relaying.whole = reader_->finished() && !fault_ && !too_long_;
  if (relaying.whole && !begun_) {
    relaying.status = 200;
    relaying.body = RedactedJson(body_, upstream_.key_, settings_.key_env);
  } else if (!relaying.whole) {
    *failure = WhyNot(result);
    Refuse(result, *failure, &relaying);
    const bool unwanted = unwanted_ || result.end == HttpEnd::kStopped;
    relaying.refused = !unwanted && (fault_ ? !fault_->retry : !failure->retry && (!begun_ || too_long_));
  }
  const bool unanswered = result.end == HttpEnd::kTimeout || result.end == HttpEnd::kBroken ||
                          result.end == HttpEnd::kStopped || result.end == HttpEnd::kTooLarge;
  const bool error = result.head.status != 0 && result.head.status != 200;
  relaying.lost = !relaying.whole && (begun_ || too_long_ || (unanswered && !error)) ? 1 : 0;
  if (begun_ || relaying.whole) {
    const bool counted = reader_->finished();  // or the output's count is that of its beginning
    relaying.answer = reader_->Take();
    HideKey(upstream_.key_, settings_.key_env, &relaying.answer);
    if (!counted) relaying.answer.usage.output.reset();
  }
  relaying.answer.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return relaying;
}

Relaying Upstream::AskOften(const HttpRequest& call, bool stream, const Events& events,
                            const std::function<bool()>& stop) {
  const auto start = Clock::now();
  int lost = 0;
  for (int attempt = 1;; ++attempt) {
    CallFailure failure;
    Relaying relaying = Attempt(*this, stream, events).Run(call, stop, &failure);
    relaying.lost = lost += relaying.lost;
    relaying.answer.attempts = attempt;
    if (relaying.whole || relaying.begun || !failure.retry || stop()) return relaying;
    const auto wait = WaitAfter(failure, attempt + 1, settings_.retry, start);
    if (!wait || !Sleep(*wait, stop)) return relaying;
  }
}

Relaying Upstream::Ask(const std::string& body, const std::vector<std::string>& headers, bool stream,
                       const Events& events, const std::function<bool()>& stop) {
  HttpRequest call;
  call.body = body;
  call.url = settings_.base_url + format_.path(settings_, stream);
  call.headers = format_.headers(key_, settings_);
  call.headers.insert(call.headers.end(), headers.begin(), headers.end());
  call.headers.emplace_back(stream ? "Accept: text/event-stream" : "Accept: application/json");
  call.timeouts = settings_.timeouts;
  call.max_bytes = settings_.max_answer_bytes * kStreamOverhead + kErrorBytes;
  if (stop() || !gate_->Enter(stop)) {
    Relaying none;
    none.status = 503;
    none.why = "nobody waited for its turn";
    return none;
  }
  Relaying relaying = AskOften(call, stream, events, stop);
  gate_->Leave();
  return relaying;
}

}  // namespace kb

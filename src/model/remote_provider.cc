#include "model/remote_provider.h"

#include <fmt/format.h>

#include <cctype>
#include <ctime>
#include <thread>

#include "base/json.h"
#include "base/random.h"
#include "base/utf8.h"

namespace kb {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kShownBytes = 500;       // of a provider's message
constexpr size_t kKeptBytes = 256 << 10;  // of an error, or of an answer that does not say what it is
constexpr size_t kStreamOverhead = 16;    // bytes of a stream for one of its text, at most
constexpr milliseconds kNap{100};

double Uniform() { return static_cast<double>(RandomBits() >> 11) * 0x1p-53; }

bool IsHtml(const HttpHead& head, const std::string& body) {
  const size_t first = body.find_first_not_of(" \t\r\n");
  return head.content_type.starts_with("text/html") ||
         (first != std::string::npos && (body.compare(first, 5, "<html") == 0 || body.compare(first, 2, "<!") == 0));
}

}  // namespace

bool Sleep(milliseconds time, const std::function<bool()>& stop) {
  const auto until = Clock::now() + time;
  while (Clock::now() < until) {
    if (stop && stop()) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(kNap, until - Clock::now()));
  }
  return true;
}

bool IsRetryAfter(const std::string& value) { return ParseRetryAfter(value, std::time(nullptr)).has_value(); }

std::optional<milliseconds> WaitAfter(const CallFailure& failure, int next, const RetryPolicy& policy,
                                      Clock::time_point start) {
  if (next > policy.attempts) return std::nullopt;
  const auto retry_after = ParseRetryAfter(failure.retry_after, std::time(nullptr));
  const milliseconds wait = WaitBefore(next, policy, retry_after, Uniform());
  return Clock::now() - start + wait > policy.total ? std::nullopt : std::optional(wait);
}

// A word such as "none", which local servers are given, is no secret, and may be part of any text.
constexpr size_t kShortestKey = 12;

std::string Redacted(std::string text, const std::string& key, const std::string& key_env) {
  const std::string name = "[" + key_env + "]";
  for (size_t at = 0; key.size() >= kShortestKey && (at = text.find(key, at)) != std::string::npos; at += name.size()) {
    text.replace(at, key.size(), name);
  }
  return text;
}

std::string RedactedJson(std::string json, const std::string& key, const std::string& key_env) {
  const auto quoted = [](const std::string& text) {
    const std::string whole = Dump(WireJson(text));
    return whole.substr(1, whole.size() - 2);
  };
  return Redacted(std::move(json), quoted(key), quoted(key_env));
}

std::string Shown(const std::string& message, const std::string& key, const std::string& key_env) {
  std::string text = Redacted(message, key, key_env);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  const bool cut = text.size() > kShownBytes;
  if (cut) text.resize(kShownBytes);
  while (cut && !text.empty() && (text.back() & 0xC0) == 0x80) text.pop_back();
  return ValidUtf8(text) + (cut ? "..." : "");
}

Result<Completion> RemoteProvider::Complete(const CompletionRequest& request, const std::function<bool()>& stop) {
  HttpRequest call;
  KB_ASSIGN_OR_RETURN(call.body, BodyOf(format_, request, settings_));
  call.url = settings_.base_url + format_.path(settings_, true);
  call.headers = format_.headers(key_, settings_);
  call.headers.emplace_back("Accept: text/event-stream");
  call.timeouts = settings_.timeouts;
  call.max_bytes = settings_.max_answer_bytes * kStreamOverhead + kKeptBytes;
  if (!gate_->Enter(stop)) return Fail(ErrorCode::kInterrupted, "interrupted");
  auto result = TryOften(call, stop);
  gate_->Leave();
  return result;
}

// A caller that waits to try again keeps its place, so a provider that is overloaded is not asked more often.
Result<Completion> RemoteProvider::TryOften(const HttpRequest& call, const std::function<bool()>& stop) {
  const auto start = Clock::now();
  const std::string who = fmt::format("{} ({})", settings_.name, settings_.base_url);
  for (int attempt = 1;; ++attempt) {
    if (stop && stop()) return Fail(ErrorCode::kInterrupted, "interrupted");
    const auto began = Clock::now();
    Outcome outcome = CallOnce(call, stop);
    if (auto* completion = std::get_if<Completion>(&outcome)) {
      completion->attempts = attempt;
      completion->seconds = std::chrono::duration<double>(Clock::now() - began).count();
      return std::move(*completion);
    }
    const CallFailure& failure = std::get<CallFailure>(outcome);
    if (stop && stop()) return Fail(ErrorCode::kInterrupted, "interrupted");
    if (!failure.retry)
      return Fail(ErrorCode::kUsage, fmt::format("{}: {}", who, Shown(failure.message, key_, settings_.key_env)));
    const auto wait = WaitAfter(failure, attempt + 1, settings_.retry, start);
    if (!wait) {
      return Fail(ErrorCode::kUnavailable,
                  fmt::format("{}: gave up after {} {}: {}", who, attempt, attempt == 1 ? "attempt" : "attempts",
                              Shown(failure.message, key_, settings_.key_env)));
    }
    if (!Sleep(*wait, stop)) return Fail(ErrorCode::kInterrupted, "interrupted");
  }
}

RemoteProvider::Outcome RemoteProvider::CallOnce(const HttpRequest& call, const std::function<bool()>& stop) {
  const std::unique_ptr<AnswerReader> reader = format_.reader(settings_);
  SseParser parser(settings_.max_answer_bytes + kKeptBytes);
  std::optional<StreamFault> fault;
  std::string body;  // of an answer that is no stream, or the beginning of one
  const CallFailure too_long = {
      fmt::format("the answer is longer than {} bytes; a larger max_answer_bytes in models.toml "
                  "allows more",
                  settings_.max_answer_bytes),
      false, ""};
  bool over = false;
  const auto sink = [&](const HttpHead& head, std::string_view bytes) {
    const bool whole = head.status == 200 && head.content_type.starts_with("application/json");
    body += whole ? bytes : bytes.substr(0, std::min(bytes.size(), kKeptBytes - std::min(kKeptBytes, body.size())));
    if (whole) return true;
    if (head.status != 200) return body.size() < kKeptBytes;
    over |= !parser.Feed(bytes, [&](const SseEvent& event) {
      if (!fault && !reader->ended()) fault = reader->Read(event);
    });
    over |= reader->size() > settings_.max_answer_bytes;
    return !fault && !over && !reader->ended();
  };
  const HttpResult result = http_->Call(call, sink, stop);
  // No stream, though one was asked for, or because the settings ask for none.
  const bool whole = result.end == HttpEnd::kDone && result.head.status == 200 && !fault && !reader->finished();
  if (whole) fault = reader->ReadWhole(body);
  over |= reader->size() > settings_.max_answer_bytes;
  if (over || result.end == HttpEnd::kTooLarge) return too_long;
  if (fault) return CallFailure{fault->message, fault->retry, ""};
  if (!reader->finished() || result.end == HttpEnd::kStopped) return FailureOf(result, body, settings_);
  Completion completion = reader->Take();
  HideKey(key_, settings_.key_env, &completion);
  return completion;
}

void HideKey(const std::string& key, const std::string& key_env, Completion* completion) {
  const auto hide = [&](std::string* text) { *text = ValidUtf8(Redacted(std::move(*text), key, key_env)); };
  hide(&completion->text);
  hide(&completion->reasoning);
  for (ToolCall& call : completion->calls) {
    for (std::string* text : {&call.id, &call.name, &call.arguments}) hide(text);
  }
  completion->raw = RedactedJson(std::move(completion->raw), key, key_env);
}

CallFailure FailureOf(const HttpResult& result, const std::string& body, const ModelSettings& settings) {
  const HttpHead& head = result.head;
  // A refusal counts as such even if its text did not arrive whole.
  if (result.end != HttpEnd::kDone && (head.status == 200 || head.status == 0)) {
    return {result.detail, result.end != HttpEnd::kRefused, ""};
  }
  const WireJson answer = WireJson::parse(ValidUtf8(body), nullptr, false);
  const bool is_object = answer.is_object();
  const StreamFault said = is_object ? FaultOf(answer) : StreamFault{IsHtml(head, body) ? "a page of HTML" : body};
  if (head.status == 200) {
    if (IsHtml(head, body)) return {"a page of HTML came instead of an answer: is the base_url right?", false, ""};
    if (is_object && !MemberOf(answer, "error").is_null()) return {said.message, said.retry, ""};
    return {body.empty() ? "an empty answer" : "the answer ended before its end mark", true, ""};
  }
  std::string message = fmt::format("HTTP {}", head.status);
  if (!body.empty()) message += ": " + said.message;
  if (head.status >= 300 && head.status < 400) {
    message = fmt::format("HTTP {}: redirected to {}, which is not followed: set that as base_url if it is right",
                          head.status, head.location.empty() ? "nowhere" : head.location);
  }
  if (head.status == 401 || head.status == 403) {
    message += settings.key_env.empty() ? " (no key was sent: name its variable in key_env)"
                                        : fmt::format(" (the key is that of {})", settings.key_env);
  }
  const bool retry = StatusIsRetried(head.status) || head.status < 300;
  return {std::move(message), retry && (!is_object || said.retry), head.retry_after};
}

}  // namespace kb

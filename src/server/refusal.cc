#include "server/refusal.h"

#include "base/json.h"
#include "base/utf8.h"

namespace kb::server {
namespace {

constexpr size_t kMostDetail = 2000;

}  // namespace

std::string Refusal::short_detail() const { return std::string(CutUtf8(detail, kMostDetail)); }

Refusal RefusalOf(const Error& error, int usage_status) {
  switch (error.code) {
    case ErrorCode::kUsage:
      return CallersFault(usage_status, error.message);
    case ErrorCode::kUnavailable:
      return {503, error.message, "machine", true, 60};
    case ErrorCode::kInterrupted:
      return {503, "the service is stopping: send the request again", "engine", true, 5};
    case ErrorCode::kStore:  // a full disk, mostly
      return {503, error.message, "machine", true, 10};
    case ErrorCode::kEngine:
      break;
  }
  return {500, error.message, "engine", true, 0};
}

Refusal CallersFault(int status, std::string detail) { return {status, std::move(detail), "caller", false, 0}; }

nlohmann::json ToJson(const Refusal& refusal) {
  return {{"type", "about:blank"},    {"title", ReasonOf(refusal.status)},
          {"status", refusal.status}, {"detail", refusal.short_detail()},
          {"fault", refusal.fault},   {"retryable", refusal.retryable}};
}

HttpAnswer JsonAnswer(const nlohmann::json& body, int status) {
  return {status, "application/json", Dump(body) + "\n", {}};
}

HttpAnswer AnswerOf(const Refusal& refusal) {
  HttpAnswer answer{refusal.status, "application/problem+json", Dump(ToJson(refusal)) + "\n", {}};
  if (refusal.retry_after_s > 0) answer.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after_s));
  return answer;
}

}  // namespace kb::server

// Why a request is not served, as clients are told: application/problem+json (RFC 9457) with whose fault it is, whether
// to try again, and what to do.
#ifndef SERVER_REFUSAL_H_
#define SERVER_REFUSAL_H_

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "server/http_message.h"

namespace kb::server {

struct Refusal {
  int status = 500;
  std::string detail;                // what is wrong and what to do
  std::string short_detail() const;  // as clients are told it: what it quotes of a request may be long
  // Whose it is: caller, engine or machine; of a verdict candidate. Retryable: the same request may succeed later.
  std::string fault = "engine";
  bool retryable = false;
  int retry_after_s = 0;
};

// kUsage is the caller's fault, kUnavailable and kStore are the machine's, all else is the engine's.
Refusal RefusalOf(const Error& error, int usage_status = 400);
Refusal CallersFault(int status, std::string detail);
nlohmann::json ToJson(const Refusal& refusal);
HttpAnswer AnswerOf(const Refusal& refusal);

// The answer to one that is.
HttpAnswer JsonAnswer(const nlohmann::json& body, int status = 200);

}  // namespace kb::server

#endif  // SERVER_REFUSAL_H_

// What a model is told of its candidate: of what the API answers (docs/reference/api.md), as text.
#ifndef SERVER_VERDICT_TEXT_H_
#define SERVER_VERDICT_TEXT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/http_message.h"

namespace kb::server {

// Of an evaluation as docs/reference/evaluation.md describes it: verdict, speedup or what is wrong, and last where that
// comes from.
std::string VerdictText(const nlohmann::json& evaluation);
// Of a Compilation and a Profile that are done.
std::string CompilationText(const nlohmann::json& view);
std::string ProfileText(const nlohmann::json& view);
// Its notes, a line each.
std::string NotesText(const nlohmann::json& view);

// Of what failed or was cancelled, where `tool` asks for it again; empty of all else.
std::string NoResultText(const nlohmann::json& view, const std::string& tool);

// Of an answer that is a refusal, whose body may be no JSON: why, whose fault it is, and when to call again.
std::string RefusalText(const HttpAnswer& answer, const nlohmann::json& body);
// Whether the same request may succeed later, and after how many seconds it should be sent, where that is said.
bool IsRetryable(const HttpAnswer& answer, const nlohmann::json& body);
std::optional<std::string> RetryAfter(const HttpAnswer& answer);

}  // namespace kb::server

#endif  // SERVER_VERDICT_TEXT_H_

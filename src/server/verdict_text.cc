#include "server/verdict_text.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "prompt/feedback.h"
#include "report/profile.h"
#include "report/text.h"
#include "report/view.h"

namespace kb::server {
namespace {

using nlohmann::json;

// Of a correct candidate without a speedup.
std::string WhyNoSpeedup(const std::string& why) {
  constexpr std::array<std::pair<const char*, const char*>, 4> kWhy = {{
      {"machine_busy", "other programs kept the machine too busy to time it. Evaluate it again"},
      {"too_short", "a call is too short to be timed here. Take a larger size"},
      {"no_room", "there is no room for its reference beside it. Take a smaller size"},
      {"not_measured", "it was not to be timed"},
  }};
  for (const auto& [name, text] : kWhy) {
    if (why == name) return fmt::format("\nThere is no speedup, for {}.\n", text);
  }
  return why.empty() ? "" : fmt::format("\nThere is no speedup: {}.\n", why);
}

// Where a verdict comes from, after what a model needs first.
std::string Provenance(const json& evaluation) {
  std::string text = fmt::format("\nProblem {}, size {}, protocol {}, on {}", TextAt(evaluation, "problem"),
                                 TextAt(evaluation, "size"), TextAt(evaluation, "protocol"),
                                 TextAt(MemberAt(evaluation, "device_info"), "name"));
  if (const std::string author = TextAt(MemberAt(evaluation, "authorship"), "class"); !author.empty()) {
    text += fmt::format("; the work was {}", author);
  }
  if (const std::string id = TextAt(evaluation, "id"); !id.empty()) text += "; evaluation " + id;
  return text + ".\n";
}

json ObjectOf(const json& body) { return body.is_object() ? body : json::object(); }

}  // namespace

std::string VerdictText(const json& evaluation) {
  return DescribeFeedback(evaluation) + WhyNoSpeedup(TextAt(evaluation, "no_speedup")) + Provenance(evaluation);
}

std::string CompilationText(const json& view) {
  if (view.at("compiled") == false) {
    return DescribeFeedback(
        {{"verdict", view.at("verdict")},
         {"reason", view.at("reason")},
         {"evidence", {{"compiler_output", view.at("compiler_output")}, {"static_findings", view.at("findings")}}}});
  }
  return "It compiles. Call evaluate to have it judged.\n";
}

std::string ProfileText(const json& view) {
  if (!view.at("profile").is_null()) return DescribeProfile(view.at("profile")) + Provenance(view.at("evaluation"));
  std::string text = VerdictText(view.at("evaluation"));
  if (view.at("verdict") == "correct") text += "No kernel could be traced; the notes say why.\n";
  return text;
}

std::string NotesText(const json& view) {
  std::string text;
  for (const json& note : view.at("notes")) text += fmt::format("- {}\n", OneLine(note.get<std::string>(), 300));
  return text;
}

std::string NoResultText(const json& view, const std::string& tool) {
  const std::string state = view.at("state"), error = TextAt(view, "error");
  if (state == "cancelled") return fmt::format("It was {}. Call {} again if you still want it.", error, tool);
  if (state != "failed") return "";
  if (view.at("fault") == "caller") return fmt::format("It cannot be judged: {}.", error);
  return fmt::format("It cannot be judged: {}. The candidate is not the cause: call {} again.", error, tool);
}

std::string RefusalText(const HttpAnswer& answer, const json& body) {
  const json told = ObjectOf(body);
  std::string text = told.value("detail", fmt::format("the service answered with status {}", answer.status));
  const std::string fault = told.value("fault", "engine");
  if (fault != "caller") text += ". The candidate is not the cause";
  if (!IsRetryable(answer, body)) return text;
  if (const auto seconds = RetryAfter(answer)) return fmt::format("{}. Call again in {} s", text, *seconds);
  return text + ". Call again";
}

bool IsRetryable(const HttpAnswer& answer, const json& body) {
  return ObjectOf(body).value("retryable", answer.status >= 500);
}

std::optional<std::string> RetryAfter(const HttpAnswer& answer) {
  for (const auto& [name, value] : answer.headers) {
    if (name == "Retry-After" || name == "retry-after") return value;
  }
  return std::nullopt;
}

}  // namespace kb::server

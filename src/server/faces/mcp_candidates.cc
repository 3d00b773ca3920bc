// Tools that have something done with a candidate.
#include <fmt/format.h>

#include <array>

#include "prompt/feedback.h"
#include "report/profile.h"
#include "report/text.h"
#include "report/view.h"
#include "server/faces/mcp_tools.h"

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

std::string TextOf(const json& evaluation, const json& profile = nullptr) {
  return DescribeFeedback(evaluation, {.profile = profile, .best = {}}) +
         WhyNoSpeedup(TextAt(evaluation, "no_speedup")) + Provenance(evaluation);
}

// True if `view` is of something that has not ended in a result, and the model is told that.
bool ToldOtherwise(const McpToolCallPtr& call, const json& view, const std::string& what) {
  const std::string state = view.at("state"), error = TextAt(view, "error");
  if (state != "cancelled" && state != "failed") return false;
  const bool again = state == "failed" && view.at("fault") != "caller";
  if (state == "cancelled") {
    call->Refuse(fmt::format("It was {}. Call {} again if you still want it.", error, what));
  } else {
    call->Refuse(fmt::format("It cannot be judged: {}.{}", error,
                             again ? fmt::format(" The candidate is not the cause: call {} again.", what) : ""));
  }
  return true;
}

// The request of the API for what the model sent.
json CandidateRequest(const json& arguments) {
  json request = json::object();
  for (const char* key : {"problem", "source", "files", "name", "size", "protocol", "keep", "run", "model"}) {
    if (arguments.contains(key)) request[key] = arguments[key];
  }
  if (arguments.contains("precision")) request["keys"]["precision"] = arguments["precision"];
  return request;
}

void TellVerdict(const McpToolCallPtr& call, const json& view) {
  if (ToldOtherwise(call, view, "evaluate")) return;
  json structured = McpPicked(view, McpVerdictKeys());
  std::string text;
  if (!McpHasEnded(view)) {
    text = fmt::format("It has not ended: its state is {}. Call explain_verdict with id {} to wait on.",
                       TextAt(view, "state"), TextAt(view, "id"));
  } else {
    text = TextOf(view.at("evaluation"));
  }
  structured["feedback"] = text;
  call->Tell(std::move(text), std::move(structured));
}

// As the API tells of an evaluation, of one that the store has.
json ViewOfStored(const json& evaluation) {
  json view = McpPicked(evaluation, McpVerdictKeys());
  view["state"] = "done";
  view["evaluation_id"] = evaluation.at("id");
  view["authorship"] = MemberAt(MemberAt(evaluation, "authorship"), "class");
  const bool correct = evaluation.at("verdict") == "correct";
  view["retryable"] = view["no_speedup"] == "machine_busy";
  view["fault"] = correct ? (view["retryable"] ? json("machine") : json(nullptr)) : json("candidate");
  view["evaluation"] = evaluation;
  return view;
}

void TellCompiled(const McpToolCallPtr& call, const json& view) {
  if (ToldOtherwise(call, view, "compile")) return;
  json structured = McpPicked(view, McpCompiledKeys());
  std::string text = "It compiles. Call evaluate to have it judged.\n";
  if (!McpHasEnded(view)) {
    text = "It is still being built. Call compile again with a larger wait_s: what is built already is kept.\n";
  } else if (view.at("compiled") == false) {
    text = DescribeFeedback(
        {{"verdict", view.at("verdict")},
         {"reason", view.at("reason")},
         {"evidence", {{"compiler_output", view.at("compiler_output")}, {"static_findings", view.at("findings")}}}});
  }
  for (const json& note : view.at("notes")) text += fmt::format("- {}\n", OneLine(note.get<std::string>(), 300));
  structured["feedback"] = text;
  call->Tell(std::move(text), std::move(structured));
}

void TellProfile(const McpToolCallPtr& call, const json& view) {
  if (ToldOtherwise(call, view, "profile")) return;
  json structured = McpPicked(view, McpProfiledKeys());
  std::string text;
  if (!McpHasEnded(view)) {
    text = "It has not ended. Call profile again with a larger wait_s.\n";
  } else if (view.at("profile").is_null()) {
    text = TextOf(view.at("evaluation"));
    if (view.at("verdict") == "correct") text += "No kernel could be traced; the notes say why.\n";
  } else {
    text = DescribeProfile(view.at("profile")) + Provenance(view.at("evaluation"));
  }
  structured["feedback"] = text;
  call->Tell(std::move(text), std::move(structured));
}

bool IsOfTheApi(const std::string& id) {
  return id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

void McpCompile(const McpToolCallPtr& call) {
  call->Await("/v1/compilations", "", CandidateRequest(call->arguments()),
              [call](const json& view) { TellCompiled(call, view); });
}

void McpEvaluate(const McpToolCallPtr& call) {
  call->Await("/v1/evaluations", "&whole=true", CandidateRequest(call->arguments()),
              [call](const json& view) { TellVerdict(call, view); });
}

void McpProfile(const McpToolCallPtr& call) {
  call->Await("/v1/profiles", "", CandidateRequest(call->arguments()),
              [call](const json& view) { TellProfile(call, view); });
}

void McpExplainVerdict(const McpToolCallPtr& call) {
  const std::string id = call->arguments()["id"];
  call->HintIfNone("evaluate and best_so_far tell ids");
  if (IsOfTheApi(id)) {
    return call->Await("/v1/evaluations/" + id, "&whole=true", nullptr,
                       [call](const json& view) { TellVerdict(call, view); });
  }
  call->Ask({.target = "/v1/entries/" + McpEscaped(id)},
            [call](int, const json& entry) { TellVerdict(call, ViewOfStored(entry.at("evaluation"))); });
}

}  // namespace kb::server

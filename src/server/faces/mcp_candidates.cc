// Tools that have something done with a candidate.
#include <fmt/format.h>

#include "report/view.h"
#include "server/evaluation_view.h"
#include "server/faces/mcp_tools.h"
#include "server/verdict_text.h"

namespace kb::server {
namespace {

using nlohmann::json;

// True if `view` is of something that has not ended in a result, and the model is told that.
bool ToldOtherwise(const McpToolCallPtr& call, const json& view, const std::string& what) {
  std::string text = NoResultText(view, what);
  if (text.empty()) return false;
  call->Refuse(std::move(text));
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
  if (!HasEnded(view)) {
    text = fmt::format("It has not ended: its state is {}. Call explain_verdict with id {} to wait on.",
                       TextAt(view, "state"), TextAt(view, "id"));
  } else {
    text = VerdictText(view.at("evaluation"));
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
  std::string text =
      HasEnded(view)
          ? CompilationText(view)
          : "It is still being built. Call compile again with a larger wait_s: what is built already is kept.\n";
  text += NotesText(view);
  structured["feedback"] = text;
  call->Tell(std::move(text), std::move(structured));
}

void TellProfile(const McpToolCallPtr& call, const json& view) {
  if (ToldOtherwise(call, view, "profile")) return;
  json structured = McpPicked(view, McpProfiledKeys());
  std::string text =
      HasEnded(view) ? ProfileText(view) : "It has not ended. Call profile again with a larger wait_s.\n";
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

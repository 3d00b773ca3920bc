// What there is to ask about besides evaluations.
#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "judge/problem/metadata.h"
#include "prompt/hardware.h"
#include "server/api.h"
#include "server/metrics.h"

namespace kb::server {

using nlohmann::json;

void Api::GetHealth(Call call) {
  if (const Status judging = desk_->health(); !judging) {
    Refusal why = RefusalOf(judging.error());
    why.status = 503;
    return call.responder->Send(AnswerOf(why));
  }
  call.responder->Send(JsonAnswer({{"status", "healthy"},
                                   {"version", options_.version},
                                   {"device", reader_->device()},
                                   {"devices", options_.devices}}));
}

void Api::GetMetrics(Call call) {
  call.responder->Send({200, "text/plain; version=0.0.4; charset=utf-8", MetricsText(desk_->counts()), {}});
}

void Api::GetOpenApi(Call call) { call.responder->Send(JsonAnswer(OpenApi(Routes(), options_.version))); }

void Api::GetProblems(Call call) {
  json problems = json::array();
  std::vector<ProblemFile> listed = reader_->problems();
  if (call.query.contains("sha256")) {
    const auto found = reader_->ProblemOfText(call.query["sha256"]);
    listed = found ? std::vector{*found} : std::vector<ProblemFile>();
  }
  for (const ProblemFile& problem : listed) {
    problems.push_back(
        {{"name", problem.name}, {"title", problem.title}, {"deck", problem.deck}, {"level", problem.level}});
  }
  call.responder->Send(JsonAnswer({{"problems", std::move(problems)}}));
}

void Api::GetProblem(Call call) {
  const auto problem = reader_->Problem(call.path["name"]);
  if (!problem) return call.responder->Send(AnswerOf(RefusalOf(problem.error(), 404)));
  const auto source = ReadFile(problem->path);
  if (!source) return call.responder->Send(AnswerOf(RefusalOf({ErrorCode::kEngine, source.error().message})));
  const ProblemMetadata metadata = ReadMetadata(*source);
  call.responder->Send(JsonAnswer({{"name", problem->name},
                                   {"title", problem->title},
                                   {"deck", problem->deck},
                                   {"level", problem->level},
                                   {"sizes", metadata.sizes},
                                   {"precisions", metadata.precisions},
                                   {"unscored", metadata.unscored.empty() ? json() : json(metadata.unscored)},
                                   {"source", *source}}));
}

void Api::GetProtocols(Call call) {
  json protocols = json::array();
  for (const std::string& name : Protocol::List(reader_->protocols())) {
    const auto protocol = Protocol::Load(reader_->protocols(), name);
    if (!protocol) continue;
    protocols.push_back({{"name", name}, {"description", protocol->description}, {"keys", protocol->ToJson()}});
  }
  call.responder->Send(JsonAnswer({{"protocols", std::move(protocols)}}));
}

void Api::GetPrompts(Call call) {
  json prompts = json::array();
  for (const std::string& name : BackendNames()) {
    json devices = json::array();
    std::string title;
    for (const char* device : {"cpu", "cuda"}) {
      const auto target = MakeTarget(name, device);
      if (!target) continue;
      devices.push_back(device);
      if (title.empty()) title = Title(*target);
    }
    prompts.push_back({{"name", name}, {"title", title}, {"devices", std::move(devices)}});
  }
  const auto hardware = HardwareNames(options_.installation.prompts);
  if (!hardware) return call.responder->Send(AnswerOf(RefusalOf({ErrorCode::kEngine, hardware.error().message})));
  call.responder->Send(JsonAnswer(
      {{"prompts", std::move(prompts)}, {"hardware", *hardware}, {"strategies", {"sample", "refine", "evolve"}}}));
}

// As `kernelbench prompt` makes it. A native candidate is for what is served, unless it is said otherwise.
Result<Prompt> Api::MakePrompt(const Call& call) const {
  const Installation& installation = options_.installation;
  const std::string backend = call.path.at("name");
  PromptRequest request{.size = call.query.value("size", "standard"),
                        .precision = call.query.value("precision", "fp32"),
                        .shots = call.query.value("shots", 1)};
  KB_ASSIGN_OR_RETURN(request.problem, reader_->Problem(call.query["problem"]));
  KB_ASSIGN_OR_RETURN(const PromptTemplate parts, PromptTemplate::Load(installation.prompts));
  KB_ASSIGN_OR_RETURN(request.target,
                      MakeTarget(backend, call.query.value("device", backend == "native" ? reader_->device() : "")));
  KB_ASSIGN_OR_RETURN(request.hardware, HardwareText(installation.prompts, call.query.value("hardware", "none"),
                                                     request.target, []() -> Result<json> {
                                                       return Fail(ErrorCode::kUsage,
                                                                   "hardware: name a GPU; a device is measured by "
                                                                   "kernelbench prompt alone");
                                                     }));
  return BuildPrompt(parts, request, installation);
}

void Api::GetPrompt(Call call) {
  const std::string name = call.path["name"];
  const std::vector<std::string> names = BackendNames();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return call.responder->Send(
        AnswerOf(CallersFault(404, "there is no prompt " + name + "; GET /v1/prompts lists them")));
  }
  const auto prompt = MakePrompt(call);
  if (!prompt) return call.responder->Send(AnswerOf(RefusalOf(prompt.error())));
  call.responder->Send(JsonAnswer(
      {{"system", prompt->system}, {"user", prompt->user}, {"examples", prompt->examples}, {"notes", prompt->notes}}));
}

}  // namespace kb::server

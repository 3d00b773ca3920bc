// What there is to ask about besides evaluations.
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "judge/problem/metadata.h"
#include "server/api.h"
#include "server/metrics.h"

namespace kb::server {

using nlohmann::json;

void Api::GetHealth(Call call) {
  if (const Status judging = desk_->health(); !judging) {
    return call.responder->Send(AnswerOf({503, judging.error().message, "engine", true, 5}));
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
  for (const ProblemFile& problem : reader_->problems()) {
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

void Api::GetService(Call call) {
  call.responder->Send(
      JsonAnswer({{"pid", ::getpid()}, {"identity", options_.identity}, {"open", desk_->counts().Open()}}));
}

void Api::GetRuns(Call call) {
  const auto runs = store_->Runs();
  if (!runs) return call.responder->Send(AnswerOf(RefusalOf(runs.error())));
  call.responder->Send(JsonAnswer({{"runs", *runs}}));
}

}  // namespace kb::server

// Candidates that are not to be judged for a verdict: built alone, or traced to see where their time goes. Nothing of
// them is stored.
#include <fmt/format.h>

#include "judge/devices/cuda/kernel_profile.h"
#include "judge/devices/device_kind.h"
#include "server/api.h"
#include "server/evaluation_view.h"

namespace kb::server {

using nlohmann::json;

namespace {

json NotesOf(const json& evaluation) {
  json notes = json::array();
  for (const json& note : evaluation.value("notes", json::array())) notes.push_back(note.at("text"));
  return notes;
}

json CommonOf(const json& view) {
  json common = json::object();
  for (const char* key : {"id", "state", "problem", "candidate", "verdict", "reason", "fault", "retryable", "error"}) {
    common[key] = view.at(key);
  }
  const json& evaluation = view.at("evaluation");
  common["notes"] = evaluation.is_null() ? json::array() : NotesOf(evaluation);
  return common;
}

json CompilationOf(const json& view) {
  json told = CommonOf(view);
  const json& evaluation = view.at("evaluation");
  const bool ended = evaluation.is_object();
  const bool compiled = ended && evaluation.at("verdict") == "not_run";
  const json evidence = ended ? evaluation.at("evidence") : json::object();
  told["compiled"] = ended ? json(compiled) : json(nullptr);
  told["findings"] = evidence.value("static_findings", json::array());
  told["compiler_output"] = evidence.value("compiler_output", json());
  if (compiled) told["verdict"] = told["reason"] = told["fault"] = nullptr;
  return told;
}

json ProfileOf(const json& view) {
  json told = CommonOf(view);
  const json& evaluation = view.at("evaluation");
  const bool correct = evaluation.is_object() && evaluation.at("verdict") == "correct";
  told["profile"] = correct ? KernelProfile(evaluation, evaluation.at("figures")) : json(nullptr);
  told["evaluation"] = evaluation;
  return told;
}

}  // namespace

void Api::AnswerShaped(const Call& call, double wait_s, const std::string& id, Shape shape) {
  const uint64_t number =
      desk_->Await(call.client.name, id, wait_s, true, [responder = call.responder, shape](const Result<json>& view) {
        if (!view) return responder->Send(AnswerOf(RefusalOf(view.error(), 404)));
        responder->Send(JsonAnswer(shape(*view), HasEnded(*view) ? 200 : 202));
      });
  ForgetWhenGone(call, {{id, number}});
}

bool Api::Is(Order::Kind kind, const Call& call) {
  const std::string& id = call.path.at("id");
  if (desk_->KindOf(id) == kind) return true;
  const char* const name = kind == Order::Kind::kEvaluate  ? "evaluation"
                           : kind == Order::Kind::kCompile ? "compilation"
                           : kind == Order::Kind::kLend    ? "lease"
                                                           : "profile";
  call.responder->Send(AnswerOf(CallersFault(404, fmt::format("there is no {} {}", name, id))));
  return false;
}

void Api::TakeUnkept(const Call& call, json request, Shape shape, Order::Kind kind) {
  if (request.value("keep", false)) {
    return call.responder->Send(
        AnswerOf(CallersFault(400, "/keep: nothing of it is stored; POST /v1/evaluations keeps what it judges")));
  }
  request["keep"] = false;
  const auto ids = Take(call, json::array({std::move(request)}), "", kind);
  if (ids) AnswerShaped(call, call.query.value("wait", kMostWait), ids->front(), shape);
}

void Api::PostCompilation(Call call) { TakeUnkept(call, call.body, CompilationOf, Order::Kind::kCompile); }

void Api::GetCompilation(Call call) {
  if (!Is(Order::Kind::kCompile, call)) return;
  AnswerShaped(call, call.query.value("wait", 0.0), call.path["id"], CompilationOf);
}

// Compared, since the profile of a wrong candidate is of no use, and timed in none.
void Api::PostProfile(Call call) {
  if (KindOfDevice(reader_->device())->on_host()) {
    return call.responder->Send(AnswerOf(CallersFault(
        400,
        "a profile takes an NVIDIA GPU, and this service judges on the CPU: an evaluation says what a call takes")));
  }
  json request = std::move(call.body);
  request.emplace("protocol", "quick");
  request["keys"]["measure"] = false;
  TakeUnkept(call, std::move(request), ProfileOf, Order::Kind::kTrace);
}

void Api::GetProfile(Call call) {
  if (!Is(Order::Kind::kTrace, call)) return;
  AnswerShaped(call, call.query.value("wait", 0.0), call.path["id"], ProfileOf);
}

}  // namespace kb::server

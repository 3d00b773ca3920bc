#include "server/evaluation_view.h"

#include <string_view>

#include "judge/problem/problem_catalog.h"
#include "server/refusal.h"

namespace kb::server {

using nlohmann::json;
using Type = Field::Type;

const Table kCandidate = {"Candidate",
                          "What is judged.",
                          {Always("name", Type::kText, "its file name"), Always("sha256", Type::kText, "of its text")}};

const Table kExtraction = {"Extraction",
                           "How the candidate was taken from an answer.",
                           {{.name = "outcome",
                             .type = Type::kText,
                             .help = "found, or why there is no candidate",
                             .required = true,
                             .choices = {"found", "no_code", "no_entry_point", "truncated"}},
                            Always("how", Type::kText, "fence, json or unfenced; empty: it was not"),
                            Always("reason", Type::kText, "a sentence; empty if it was found"),
                            Always("answer_sha256", Type::kText, "of the answer")}};

const Table kEvaluation = {
    "Evaluation",
    "An evaluation that was asked for, and what has come of it.",
    {
        Always("id", Type::kText, "32 hexadecimal digits"),
        {.name = "state",
         .type = Type::kText,
         .help = "how far it is; the last three are final",
         .required = true,
         .choices = {"queued", "preparing", "judging", "done", "failed", "cancelled"}},
        Always("created", Type::kText, "when it was accepted, UTC"),
        Always("problem", Type::kText, "its name; of one that a client sent client: and the SHA-256 of its text"),
        {.name = "problem_source",
         .type = Type::kText,
         .help = "client: it sent the text, so the verdict says nothing to others; else file",
         .required = true,
         .choices = {"file", "client"}},
        Always("size", Type::kText, "of the problem"),
        Always("device", Type::kText, "cpu or cuda"),
        Always("protocol", Type::kText, "rules of judgement, and every key that was changed"),
        Always("priority", Type::kInteger, "among the client's own"),
        Always("run", Type::kText, "that it is part of; empty: it is not kept"),
        Always("model", Type::kText, "which model wrote it"),
        Always("sample", Type::kInteger, "its number in the run"),
        Always("batch", Type::kText, "that it is part of; empty: none"),
        AlwaysOrNull("client_data", Type::kText, "what the request had of the client's own; null: nothing"),
        {.name = "candidate", .type = Type::kObject, .help = "what is judged", .required = true, .table = &kCandidate},
        {.name = "extraction",
         .type = Type::kObject,
         .help = "how it was taken from an answer; null: it came as it is",
         .required = true,
         .nullable = true,
         .table = &kExtraction},
        AlwaysOrNull("verdict", Type::kText, "of a done one: correct, incorrect, build_failed, ..."),
        AlwaysOrNull("reason", Type::kText, "why it is not correct"),
        AlwaysOrNull("speedup", Type::kNumber, "over the baseline; null: there is none"),
        {.name = "speedup_interval",
         .type = Type::kList,
         .help = "in which it lies, and how sure that is: the protocol",
         .required = true,
         .nullable = true,
         .items = Type::kNumber},
        AlwaysOrNull("no_speedup", Type::kText, "why a correct one has none: too_short, machine_busy, ..."),
        AlwaysOrNull("baseline_us", Type::kNumber, "microseconds of a call of the baseline"),
        AlwaysOrNull("candidate_us", Type::kNumber, "microseconds of a call of the candidate"),
        AlwaysOrNull("isolation", Type::kText, "under which it ran"),
        AlwaysOrNull("isolation_info", Type::kList, "barriers that held"),
        Always("seat", Type::kAny, "cores on which it was timed; null: none of its own"),
        {.name = "engine_us",
         .type = Type::kMap,
         .help = "microseconds that each step took",
         .required = true,
         .nullable = true,
         .items = Type::kNumber},
        AlwaysOrNull("authorship", Type::kText, "who did the work: custom, mixed or library; null: not known"),
        AlwaysOrNull("fault", Type::kText,
                     "whose fault it is that there is no verdict or no speedup: candidate, engine, machine or caller; "
                     "null: nobody's"),
        Always("retryable", Type::kFlag, "asked for again it may end otherwise, though the candidate is the same"),
        AlwaysOrNull("error", Type::kText, "why there is no verdict"),
        AlwaysOrNull("evaluation_id", Type::kText, "in the store: kernelbench show ID"),
        {.name = "evaluation",
         .type = Type::kAny,
         .help = "all that was measured, as docs/reference/evaluation.md describes it; only if asked for"},
    }};

// What both a line of a list and an entry say.
static std::vector<Field> Summarised(std::vector<Field> fields) {
  const std::vector<Field> common = {
      Always("created", Type::kText, "when, UTC"),
      AlwaysOrNull("run", Type::kText, "that it is part of"),
      AlwaysOrNull("model", Type::kText, "which model wrote it"),
      AlwaysOrNull("sample", Type::kInteger, "its number in the run"),
      Always("problem", Type::kText, "its name"),
      Always("size", Type::kText, "of the problem"),
      Always("device", Type::kText, "cpu or cuda"),
      Always("protocol", Type::kText, "rules of judgement"),
      {.name = "candidate", .type = Type::kObject, .help = "what is judged", .required = true, .table = &kCandidate},
      AlwaysOrNull("reason", Type::kText, "why it is not correct"),
      AlwaysOrNull("speedup", Type::kNumber, "over the baseline; null: there is none"),
      {.name = "speedup_interval",
       .type = Type::kList,
       .help = "in which it lies",
       .required = true,
       .nullable = true,
       .items = Type::kNumber},
      AlwaysOrNull("baseline_us", Type::kNumber, "microseconds of a call of the baseline"),
      AlwaysOrNull("candidate_us", Type::kNumber, "microseconds of a call of the candidate")};
  fields.insert(fields.end(), common.begin(), common.end());
  return fields;
}

const Table kEvaluationLine = {
    "EvaluationLine", "An evaluation that was asked for, in short.",
    Summarised({
        Always("id", Type::kText, "32 hexadecimal digits"),
        {.name = "state",
         .type = Type::kText,
         .help = "how far it is; the last three are final",
         .required = true,
         .choices = {"queued", "preparing", "judging", "done", "failed", "cancelled"}},
        Always("batch", Type::kText, "that it is part of; empty: none"),
        Always("priority", Type::kInteger, "among the client's own"),
        AlwaysOrNull("error", Type::kText, "why there is no verdict"),
        AlwaysOrNull("evaluation_id", Type::kText, "GET /v1/entries/ID"),
        AlwaysOrNull("verdict", Type::kText, "of a done one: correct, incorrect, build_failed, ..."),
    })};

const Table kEntry = {"Entry", "A stored evaluation, in short.",
                      Summarised({Always("id", Type::kText, "GET /v1/entries/ID, kernelbench show ID"),
                                  Always("verdict", Type::kText, "correct, incorrect, ..."),
                                  Always("device_name", Type::kText, "what its driver calls it")})};

namespace {

constexpr std::string_view kCallers = "caller: ", kMachines = "machine: ";

json Member(const json* evaluation, const char* key) {
  if (evaluation == nullptr) return nullptr;
  const auto found = evaluation->find(key);
  return found == evaluation->end() ? json(nullptr) : *found;
}

json AuthorshipOf(const json* evaluation) {
  const json authorship = Member(evaluation, "authorship");
  return authorship.is_object() ? authorship.value("class", json(nullptr)) : json(nullptr);
}

json SeatOf(const json* evaluation) {
  const json info = Member(evaluation, "device_info");
  return info.is_object() ? info.value("seat", json(nullptr)) : json(nullptr);
}

void AddOutcome(const EvaluationState& state, json* view) {
  (*view)["fault"] = nullptr;
  (*view)["retryable"] = false;
  (*view)["error"] = nullptr;
  if (state.evaluation != nullptr) {
    (*view)["fault"] = FaultOf(*state.evaluation);
    (*view)["retryable"] = (*view)["fault"] == "machine";
  } else if (state.error) {
    const Refusal refusal = RefusalOf(*state.error);
    (*view)["fault"] = refusal.fault;
    (*view)["retryable"] = refusal.retryable;
    (*view)["error"] = state.error->message;
  }
}

}  // namespace

bool HasEnded(const json& view) {
  const std::string state = view.at("state");
  return state == "done" || state == "failed" || state == "cancelled";
}

std::string StateOf(const Job& job) {
  if (job.state == "running") return "judging";
  return job.state == "failed" && job.error.starts_with("cancelled") ? "cancelled" : job.state;
}

std::string StoredText(const Error& error) {
  if (error.code == ErrorCode::kUsage) return std::string(kCallers) + error.message;
  const bool machines = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kStore;
  return machines ? std::string(kMachines) + error.message : error.message;
}

Error ErrorOf(const Job& job) {
  if (StateOf(job) == "cancelled") return {ErrorCode::kUsage, job.error};
  if (job.error.starts_with(kCallers)) return {ErrorCode::kUsage, job.error.substr(kCallers.size())};
  if (job.error.starts_with(kMachines)) return {ErrorCode::kUnavailable, job.error.substr(kMachines.size())};
  return {ErrorCode::kEngine, job.error};
}

json FaultOf(const json& evaluation) {
  const std::string verdict = evaluation.value("verdict", "");
  if (verdict == "not_run") return nullptr;
  if (verdict != "correct") return "candidate";
  const json why = Member(&evaluation, "no_speedup");
  return why == "machine_busy" ? json("machine") : json(nullptr);
}

json ViewOf(const Submission& submission, const EvaluationState& state, bool whole) {
  const Job& job = submission.job;
  const json* evaluation = state.evaluation;
  json view = {{"id", submission.id},
               {"state", state.state},
               {"created", submission.created},
               {"problem", job.problem},
               {"problem_source", IsClientsProblem(job.problem) ? "client" : "file"},
               {"size", job.size},
               {"device", job.device},
               {"protocol", job.protocol},
               {"priority", job.priority},
               {"run", submission.run},
               {"model", job.model},
               {"sample", job.sample},
               {"batch", submission.batch},
               {"seat", SeatOf(evaluation)},
               {"authorship", AuthorshipOf(evaluation)},
               {"candidate", {{"name", job.path}, {"sha256", job.sha256}}},
               {"client_data", submission.request.value("client_data", json())},
               {"extraction", submission.request.value("extraction", json())}};
  for (const char* key : {"verdict", "reason", "speedup", "speedup_interval", "no_speedup", "baseline_us",
                          "candidate_us", "isolation", "isolation_info", "engine_us"}) {
    view[key] = Member(evaluation, key);
  }
  view["evaluation_id"] = Member(evaluation, "id");
  AddOutcome(state, &view);
  if (whole) view["evaluation"] = evaluation == nullptr ? json(nullptr) : *evaluation;
  return view;
}

json EntryOf(const json& summary) {
  json entry = {{"device_name", summary["device_info"]["name"]},
                {"candidate", {{"name", summary["candidate"]["path"]}, {"sha256", summary["candidate"]["sha256"]}}}};
  for (const char* key : {"id", "created", "run", "model", "sample", "problem", "size", "device", "protocol", "verdict",
                          "reason", "speedup", "speedup_interval", "baseline_us", "candidate_us"}) {
    entry[key] = summary[key];
  }
  return entry;
}

json LineOf(const SubmissionSummary& summary, const std::string& state) {
  const Job& job = summary.submission.job;
  const bool lost = state == "failed" || state == "cancelled";
  json line = {{"id", summary.submission.id},
               {"state", state},
               {"batch", summary.submission.batch},
               {"priority", job.priority},
               {"error", lost ? json(ErrorOf(job).message) : json()},
               {"created", summary.submission.created},
               {"run", summary.submission.run},
               {"model", job.model},
               {"sample", job.sample},
               {"problem", job.problem},
               {"size", job.size},
               {"device", job.device},
               {"protocol", job.protocol},
               {"candidate", {{"name", job.path}, {"sha256", job.sha256}}}};
  for (const char* key : {"verdict", "reason", "speedup", "speedup_interval", "baseline_us", "candidate_us"}) {
    line[key] = Member(summary.entry.is_object() ? &summary.entry : nullptr, key);
  }
  line["evaluation_id"] = Member(summary.entry.is_object() ? &summary.entry : nullptr, "id");
  return line;
}

}  // namespace kb::server

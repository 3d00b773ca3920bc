#include "server/evaluation_view.h"

#include <string_view>

#include "judge/problem/problem_catalog.h"
#include "server/refusal.h"

namespace kb::server {

using nlohmann::json;
using Type = Field::Type;

const Table kCandidate = {"Candidate",
                          "What is judged.",
                          {{.name = "name", .type = Type::kText, .help = "its file name", .required = true},
                           {.name = "sha256", .type = Type::kText, .help = "of its text", .required = true}}};

const Table kExtraction = {
    "Extraction",
    "How the candidate was taken from an answer.",
    {{.name = "outcome",
      .type = Type::kText,
      .help = "found, or why there is no candidate",
      .required = true,
      .choices = {"found", "no_code", "no_entry_point", "truncated"}},
     {.name = "how", .type = Type::kText, .help = "fence, json or unfenced; empty: it was not", .required = true},
     {.name = "reason", .type = Type::kText, .help = "a sentence; empty if it was found", .required = true},
     {.name = "answer_sha256", .type = Type::kText, .help = "of the answer", .required = true}}};

const Table kEvaluation = {
    "Evaluation",
    "An evaluation that was asked for, and what has come of it.",
    {
        {.name = "id", .type = Type::kText, .help = "32 hexadecimal digits", .required = true},
        {.name = "state",
         .type = Type::kText,
         .help = "how far it is; the last three are final",
         .required = true,
         .choices = {"queued", "preparing", "judging", "done", "failed", "cancelled"}},
        {.name = "created", .type = Type::kText, .help = "when it was accepted, UTC", .required = true},
        {.name = "problem",
         .type = Type::kText,
         .help = "its name; of one that a client sent client: and the SHA-256 of its text",
         .required = true},
        {.name = "problem_source",
         .type = Type::kText,
         .help = "client: it sent the text, so the verdict says nothing to others; else file",
         .required = true,
         .choices = {"file", "client"}},
        {.name = "size", .type = Type::kText, .help = "of the problem", .required = true},
        {.name = "device", .type = Type::kText, .help = "cpu or cuda", .required = true},
        {.name = "protocol",
         .type = Type::kText,
         .help = "rules of judgement, and every key that was changed",
         .required = true},
        {.name = "priority", .type = Type::kInteger, .help = "among the client's own", .required = true},
        {.name = "run", .type = Type::kText, .help = "that it is part of; empty: it is not kept", .required = true},
        {.name = "model", .type = Type::kText, .help = "which model wrote it", .required = true},
        {.name = "sample", .type = Type::kInteger, .help = "its number in the run", .required = true},
        {.name = "batch", .type = Type::kText, .help = "that it is part of; empty: none", .required = true},
        {.name = "client_data",
         .type = Type::kText,
         .help = "what the request had of the client's own; null: nothing",
         .required = true,
         .nullable = true},
        {.name = "candidate", .type = Type::kObject, .help = "what is judged", .required = true, .table = &kCandidate},
        {.name = "extraction",
         .type = Type::kObject,
         .help = "how it was taken from an answer; null: it came as it is",
         .required = true,
         .nullable = true,
         .table = &kExtraction},
        {.name = "verdict",
         .type = Type::kText,
         .help = "of a done one: correct, incorrect, build_failed, ...",
         .required = true,
         .nullable = true},
        {.name = "reason", .type = Type::kText, .help = "why it is not correct", .required = true, .nullable = true},
        {.name = "speedup",
         .type = Type::kNumber,
         .help = "over the baseline; null: there is none",
         .required = true,
         .nullable = true},
        {.name = "speedup_interval",
         .type = Type::kList,
         .help = "in which it lies, and how sure that is: the protocol",
         .required = true,
         .nullable = true,
         .items = Type::kNumber},
        {.name = "no_speedup",
         .type = Type::kText,
         .help = "why a correct one has none: too_short, machine_busy, ...",
         .required = true,
         .nullable = true},
        {.name = "baseline_us",
         .type = Type::kNumber,
         .help = "microseconds of a call of the baseline",
         .required = true,
         .nullable = true},
        {.name = "candidate_us",
         .type = Type::kNumber,
         .help = "microseconds of a call of the candidate",
         .required = true,
         .nullable = true},
        {.name = "isolation", .type = Type::kText, .help = "under which it ran", .required = true, .nullable = true},
        {.name = "isolation_info",
         .type = Type::kList,
         .help = "barriers that held",
         .required = true,
         .nullable = true},
        {.name = "seat",
         .type = Type::kAny,
         .help = "cores on which it was timed; null: none of its own",
         .required = true},
        {.name = "engine_us",
         .type = Type::kMap,
         .help = "microseconds that each step took",
         .required = true,
         .nullable = true,
         .items = Type::kNumber},
        {.name = "authorship",
         .type = Type::kText,
         .help = "who did the work: custom, mixed or library; null: not known",
         .required = true,
         .nullable = true},
        {.name = "fault",
         .type = Type::kText,
         .help = "whose fault it is that there is no verdict or no speedup: candidate, engine, machine or caller; "
                 "null: nobody's",
         .required = true,
         .nullable = true},
        {.name = "retryable",
         .type = Type::kFlag,
         .help = "asked for again it may end otherwise, though the candidate is the same",
         .required = true},
        {.name = "error", .type = Type::kText, .help = "why there is no verdict", .required = true, .nullable = true},
        {.name = "evaluation_id",
         .type = Type::kText,
         .help = "in the store: kernelbench show ID",
         .required = true,
         .nullable = true},
        {.name = "evaluation",
         .type = Type::kAny,
         .help = "all that was measured, as docs/evaluation.md describes it; only if asked for"},
    }};

// What both a line of a list and an entry say.
static std::vector<Field> Summarised(std::vector<Field> fields) {
  const std::vector<Field> common = {
      {.name = "created", .type = Type::kText, .help = "when, UTC", .required = true},
      {.name = "run", .type = Type::kText, .help = "that it is part of", .required = true, .nullable = true},
      {.name = "model", .type = Type::kText, .help = "which model wrote it", .required = true, .nullable = true},
      {.name = "sample", .type = Type::kInteger, .help = "its number in the run", .required = true, .nullable = true},
      {.name = "problem", .type = Type::kText, .help = "its name", .required = true},
      {.name = "size", .type = Type::kText, .help = "of the problem", .required = true},
      {.name = "device", .type = Type::kText, .help = "cpu or cuda", .required = true},
      {.name = "protocol", .type = Type::kText, .help = "rules of judgement", .required = true},
      {.name = "candidate", .type = Type::kObject, .help = "what is judged", .required = true, .table = &kCandidate},
      {.name = "reason", .type = Type::kText, .help = "why it is not correct", .required = true, .nullable = true},
      {.name = "speedup",
       .type = Type::kNumber,
       .help = "over the baseline; null: there is none",
       .required = true,
       .nullable = true},
      {.name = "speedup_interval",
       .type = Type::kList,
       .help = "in which it lies",
       .required = true,
       .nullable = true,
       .items = Type::kNumber},
      {.name = "baseline_us",
       .type = Type::kNumber,
       .help = "microseconds of a call of the baseline",
       .required = true,
       .nullable = true},
      {.name = "candidate_us",
       .type = Type::kNumber,
       .help = "microseconds of a call of the candidate",
       .required = true,
       .nullable = true}};
  fields.insert(fields.end(), common.begin(), common.end());
  return fields;
}

const Table kEvaluationLine = {
    "EvaluationLine", "An evaluation that was asked for, in short.",
    Summarised({
        {.name = "id", .type = Type::kText, .help = "32 hexadecimal digits", .required = true},
        {.name = "state",
         .type = Type::kText,
         .help = "how far it is; the last three are final",
         .required = true,
         .choices = {"queued", "preparing", "judging", "done", "failed", "cancelled"}},
        {.name = "batch", .type = Type::kText, .help = "that it is part of; empty: none", .required = true},
        {.name = "priority", .type = Type::kInteger, .help = "among the client's own", .required = true},
        {.name = "error", .type = Type::kText, .help = "why there is no verdict", .required = true, .nullable = true},
        {.name = "evaluation_id",
         .type = Type::kText,
         .help = "GET /v1/entries/ID",
         .required = true,
         .nullable = true},
        {.name = "verdict",
         .type = Type::kText,
         .help = "of a done one: correct, incorrect, build_failed, ...",
         .required = true,
         .nullable = true},
    })};

const Table kEntry = {
    "Entry", "A stored evaluation, in short.",
    Summarised(
        {{.name = "id", .type = Type::kText, .help = "GET /v1/entries/ID, kernelbench show ID", .required = true},
         {.name = "verdict", .type = Type::kText, .help = "correct, incorrect, ...", .required = true},
         {.name = "device_name", .type = Type::kText, .help = "what its driver calls it", .required = true}})};

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

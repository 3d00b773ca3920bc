// What the store has: a client's own, and with the right admin all of it.
#include <fmt/format.h>

#include <algorithm>

#include "server/api.h"
#include "server/evaluation_view.h"

namespace kb::server {

using nlohmann::json;

namespace {

constexpr int kMostScoring = 2;  // at the same time: they read whole runs

// A run that is the client's: CLIENT, or CLIENT/RUN.
bool MaySee(const Client& client, const std::string& run) {
  return client.rights.contains("admin") || run == client.name || run.starts_with(client.name + "/");
}

PageFilter FilterOf(const Call& call) {
  PageFilter filter;
  filter.run = call.query.value("run", "");
  filter.problem = call.query.value("problem", "");
  filter.verdict = call.query.value("verdict", "");
  filter.batch = call.query.value("batch", "");
  filter.key = call.query.value("idempotency_key", "");
  filter.before = call.query.value("before", int64_t{0});
  filter.limit = call.query.value("limit", 100);
  return filter;
}

json NextOf(int64_t next) { return next == 0 ? json() : json(next); }

Refusal NoSuchRun(const std::string& run) {
  return CallersFault(404, fmt::format("there is no run {}; GET /v1/runs lists them", run));
}

}  // namespace

void Api::GetRuns(Call call) {
  auto runs = store_->Runs();
  if (!runs) return call.responder->Send(AnswerOf(RefusalOf(runs.error())));
  std::erase_if(*runs, [&](const std::string& run) { return !MaySee(call.client, run); });
  call.responder->Send(JsonAnswer({{"runs", *runs}}));
}

// The store knows no difference between what is prepared and what is judged, the desk does.
void Api::GetEvaluations(Call call) {
  PageFilter filter = FilterOf(call);
  filter.client = call.client.name;
  const std::string state = call.query.value("state", "");
  filter.state = state == "preparing" || state == "judging" ? "running" : state;
  const auto page = store_->Submissions(filter);
  if (!page) return call.responder->Send(AnswerOf(RefusalOf(page.error())));
  json lines = json::array();
  for (const SubmissionSummary& each : page->items) {
    const std::string now = desk_->StateNow(each.submission);
    if (filter.state != "running" || now == state) lines.push_back(LineOf(each, now));
  }
  call.responder->Send(JsonAnswer({{"evaluations", std::move(lines)}, {"next", NextOf(page->next)}}));
}

void Api::GetEntries(Call call) {
  PageFilter filter = FilterOf(call);
  if (!call.client.rights.contains("admin")) filter.client = call.client.name;
  const auto page = store_->Entries(filter);
  if (!page) return call.responder->Send(AnswerOf(RefusalOf(page.error())));
  json entries = json::array();
  for (const json& summary : page->items) entries.push_back(EntryOf(summary));
  call.responder->Send(JsonAnswer({{"entries", std::move(entries)}, {"next", NextOf(page->next)}}));
}

void Api::GetEntry(Call call) {
  const auto evaluation = store_->Get(call.path["id"]);
  if (!evaluation && evaluation.error().code != ErrorCode::kUsage) {
    return call.responder->Send(AnswerOf(RefusalOf(evaluation.error())));
  }
  const auto run = evaluation ? evaluation->find("run") : json::const_iterator();
  const bool named = evaluation && run != evaluation->end() && run->is_string();
  if (!evaluation || !MaySee(call.client, named ? run->get<std::string>() : "")) {
    return call.responder->Send(AnswerOf(CallersFault(404, "there is no entry " + call.path["id"])));
  }
  call.responder->Send(JsonAnswer({{"evaluation", *evaluation}}));
}

void Api::GetScores(Call call) {
  const std::string run = call.query["run"];
  const auto runs = store_->Runs();
  if (!runs) return call.responder->Send(AnswerOf(RefusalOf(runs.error())));
  if (!MaySee(call.client, run) || std::find(runs->begin(), runs->end(), run) == runs->end()) {
    return call.responder->Send(AnswerOf(NoSuchRun(run)));
  }
  if (++scoring_ > kMostScoring) {
    --scoring_;
    return call.responder->Send(AnswerOf({503, "other runs are being scored: try again", "engine", true, 1}));
  }
  const auto scores = options_.scores(run);
  --scoring_;
  if (!scores) return call.responder->Send(AnswerOf(RefusalOf(scores.error())));
  call.responder->Send({200, "application/json", fmt::format("{{\"scores\":{}}}\n", *scores), {}});
}

}  // namespace kb::server

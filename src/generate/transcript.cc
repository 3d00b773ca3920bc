#include "generate/transcript.h"

#include <algorithm>

#include "base/json_shape.h"
#include "generate/line_diff.h"

namespace kb {
namespace {

using nlohmann::json;

json ArrayOf(const json& object, const char* key) {
  const bool there = object.is_object() && object.contains(key) && object.at(key).is_array();
  return there ? object.at(key) : json::array();
}

TranscriptResult ResultOf(const json& object) {
  TranscriptResult result{
      StoredText(object, "call_id"), StoredText(object, "name"), StoredText(object, "text"), false, {}};
  if (!object.is_object()) return result;
  if (const auto at = object.find("is_error"); at != object.end() && at->is_boolean())
    result.is_error = at->get<bool>();
  if (const auto at = object.find("seconds"); at != object.end() && at->is_number()) result.seconds = at->get<double>();
  return result;
}

// Models repeat ids, so the first call that has none yet gets the result.
void Place(TranscriptResult result, TranscriptTurn* turn) {
  const auto call = std::find_if(turn->calls.begin(), turn->calls.end(),
                                 [&](const auto& each) { return !each.result && each.id == result.call_id; });
  if (call == turn->calls.end()) {
    turn->other_results.push_back(std::move(result));
  } else {
    call->result = std::move(result);
  }
}

void CountChange(const std::string& before, const std::string& after, const FileContents& contents,
                 FileChange* change) {
  std::string texts[2];
  const std::string* const hashes[] = {&before, &after};
  for (int i = 0; i < 2; ++i) {
    if (hashes[i]->empty()) continue;
    auto text = contents(*hashes[i]);
    if (!text || text->find('\0') != std::string::npos) return;
    texts[i] = std::move(*text);
  }
  const LineDiff diff = DiffLines(texts[0], texts[1]);
  change->added = diff.added;
  change->removed = diff.removed;
}

template <typename Value>
json OrNull(const std::optional<Value>& value) {
  return value ? json(*value) : json(nullptr);
}

json OrNull(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json ResultJson(const TranscriptResult& result) {
  return {{"text", result.text}, {"is_error", result.is_error}, {"seconds", OrNull(result.seconds)}};
}

json CallJson(const TranscriptCall& call) {
  return {{"id", call.id},
          {"name", call.name},
          {"arguments", call.arguments},
          {"result", call.result ? ResultJson(*call.result) : json(nullptr)}};
}

json FileJson(const FileChange& file) {
  return {{"path", file.path},           {"change", file.change},
          {"mode", file.mode},           {"sha256", OrNull(file.sha256)},
          {"added", OrNull(file.added)}, {"removed", OrNull(file.removed)}};
}

json RelayedJson(const RelayedRequest& request) {
  json tools = json::array();
  for (const json& tool : request.tools) tools.push_back(tool.at("name"));
  return {{"conversation", request.conversation},
          {"begins", OrNull(request.begins)},
          {"aside", request.aside},
          {"repeated", request.repeated},
          {"system_bytes", request.system.size()},
          {"tools", std::move(tools)},
          {"model", OrNull(request.model)},
          {"dropped", request.dropped},
          {"denied", request.denied}};
}

json ToldJson(const std::vector<std::pair<std::string, std::string>>& told) {
  json messages = json::array();
  for (const auto& [role, text] : told) messages.push_back({{"role", role}, {"text", text}});
  return messages;
}

json VerdictJson(const TurnVerdict& verdict) {
  return {{"call", verdict.call},
          {"tool", verdict.tool},
          {"source_sha256", OrNull(verdict.source_sha256)},
          {"language", OrNull(verdict.language)},
          {"verdict", OrNull(verdict.verdict)},
          {"speedup", OrNull(verdict.speedup)},
          {"speedup_interval", verdict.low && verdict.high ? json{*verdict.low, *verdict.high} : json(nullptr)},
          {"device_seconds", verdict.device_seconds},
          {"view", ParseStored(verdict.view)}};
}

json TotalsJson(const TranscriptTotals& totals) {
  return {{"turns", totals.turns},
          {"condensed", totals.condensed},
          {"tool_calls", totals.calls},
          {"failed_calls", totals.failed_calls},
          {"evaluations", totals.evaluations},
          {"input", totals.input},
          {"cache_read", totals.cache_read},
          {"cache_write", totals.cache_write},
          {"output", totals.output},
          {"reasoning_tokens", totals.reasoning},
          {"without_usage", totals.without_usage},
          {"cost_usd", OrNull(totals.usd)},
          {"lost", totals.lost},
          {"lost_tokens", totals.lost_tokens},
          {"lost_usd", totals.lost_usd},
          {"model_seconds", totals.model_seconds},
          {"tool_seconds", totals.tool_seconds},
          {"device_seconds", totals.device_seconds}};
}

}  // namespace

json ParseStored(const std::string& text) {
  constexpr size_t kDeepest = 64;
  if (!CheckShape(text, kDeepest)) return {};
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json() : value;
}

std::string StoredText(const json& object, const char* key) {
  const bool there = object.is_object() && object.contains(key) && object.at(key).is_string();
  return there ? object.at(key).get<std::string>() : "";
}

TranscriptTurn ParseTurn(const Turn& turn) {
  TranscriptTurn parsed{.turn = turn};
  parsed.context = ParseStored(turn.context);
  const json answer = ParseStored(turn.answer), results = ParseStored(turn.results);
  parsed.text = StoredText(answer, "text");
  parsed.reasoning = StoredText(answer, "reasoning");
  parsed.finish = StoredText(answer, "finish");
  parsed.finish_word = StoredText(answer, "finish_word");
  parsed.model = StoredText(answer, "model");
  for (const json& each : ArrayOf(answer, "calls")) {
    TranscriptCall call{StoredText(each, "id"), StoredText(each, "name"), StoredText(each, "arguments"), {}, {}};
    call.parsed = ParseStored(call.arguments);
    parsed.calls.push_back(std::move(call));
  }
  for (const json& each : ArrayOf(results, "results")) Place(ResultOf(each), &parsed);
  parsed.follows = StoredText(results, "text");
  return parsed;
}

void ParseOpening(Transcript* transcript) {
  const json opening = ParseStored(transcript->episode.opening);
  // A program has a system prompt of its own, which comes with its first request.
  if (transcript->episode.harness.empty()) transcript->system = StoredText(opening, "system");
  transcript->tools = ArrayOf(opening, "tools");
  transcript->messages.clear();
  for (const json& message : ArrayOf(opening, "messages")) {
    transcript->messages.emplace_back(StoredText(message, "role"), StoredText(message, "text"));
  }
}

void AddFileChanges(std::span<const std::pair<int, TurnFile>> files, const FileContents& contents,
                    Transcript* transcript) {
  std::map<int, TranscriptTurn*> turns;
  for (TranscriptTurn& turn : transcript->turns) turns[turn.turn.number] = &turn;
  std::map<std::string, std::string> hashes;  // of what is there now
  for (const auto& [number, file] : files) {
    std::string& now = hashes[file.path];
    const std::string before = std::exchange(now, file.sha256);
    const auto turn = turns.find(number);
    if (turn == turns.end()) continue;
    FileChange change{file.path, file.mode, file.sha256, {}, {}, {}};
    change.change = file.sha256.empty() ? "removed" : before.empty() ? "made" : "changed";
    // What is removed without having been made was there before, and its lines are not known.
    if (!before.empty() || !file.sha256.empty()) CountChange(before, file.sha256, contents, &change);
    turn->second->files.push_back(std::move(change));
  }
}

void AddTo(const TranscriptTurn& each, TranscriptTotals* totals) {
  const Turn& turn = each.turn;
  ++totals->turns;
  totals->condensed += turn.kind == "condense";
  for (const TranscriptCall& call : each.calls) {
    ++totals->calls[call.name];
    totals->failed_calls += call.result && call.result->is_error;
  }
  totals->input += turn.input.value_or(0);
  totals->cache_read += turn.cache_read.value_or(0);
  totals->cache_write += turn.cache_write.value_or(0);
  totals->output += turn.output.value_or(0);
  totals->reasoning += turn.reasoning_tokens.value_or(0);
  if (turn.state != "asked") {
    if (!turn.input && !turn.output) ++totals->without_usage;
    if (!turn.cost_usd) totals->usd.reset();
    if (totals->usd) *totals->usd += *turn.cost_usd;
  }
  totals->lost += turn.lost;
  totals->lost_tokens += turn.lost_tokens;
  totals->lost_usd += turn.lost_usd;
  totals->model_seconds += turn.seconds;
  totals->tool_seconds += turn.tool_seconds;
  for (const TurnVerdict& verdict : each.verdicts) {
    totals->device_seconds += verdict.device_seconds;
    totals->evaluations += verdict.tool == "evaluate";
  }
}

TranscriptTotals TotalsOf(const Transcript& transcript) {
  TranscriptTotals totals;
  for (const TranscriptTurn& turn : transcript.turns) AddTo(turn, &totals);
  return totals;
}

const TurnVerdict* BestVerdict(const Transcript& transcript) {
  const TurnVerdict* best = nullptr;
  for (const TranscriptTurn& turn : transcript.turns) {
    for (const TurnVerdict& verdict : turn.verdicts) {
      if (verdict.verdict != "correct") continue;
      // No speedup is less than any.
      if (best == nullptr || verdict.speedup > best->speedup) best = &verdict;
    }
  }
  return best;
}

json EpisodeJson(const Transcript& transcript) {
  const GenerationRequest& request = transcript.request;
  return {{"schema", 1},
          {"type", "episode"},
          {"run", transcript.run},
          {"model", request.model},
          {"problem", request.problem},
          {"sample", request.sample},
          {"candidate", request.candidate},
          {"harness", OrNull(transcript.episode.harness)},
          {"created", transcript.episode.created},
          {"system", transcript.system},
          {"tools", transcript.tools},
          {"messages", ToldJson(transcript.messages)}};
}

json TurnJson(const TranscriptTurn& each, bool raw) {
  const Turn& turn = each.turn;
  json calls = json::array(), others = json::array(), files = json::array(), verdicts = json::array();
  for (const TranscriptCall& call : each.calls) calls.push_back(CallJson(call));
  for (const TranscriptResult& result : each.other_results) {
    others.push_back(ResultJson(result));
    others.back()["call_id"] = result.call_id;
    others.back()["name"] = result.name;
  }
  for (const FileChange& file : each.files) files.push_back(FileJson(file));
  for (const TurnVerdict& verdict : each.verdicts) verdicts.push_back(VerdictJson(verdict));
  json line = {{"schema", 1},
               {"type", "turn"},
               {"turn", turn.number},
               {"kind", turn.kind},
               {"state", turn.state},
               {"created", turn.created},
               {"context", each.context},
               {"request", each.relayed ? RelayedJson(*each.relayed) : json(nullptr)},
               {"told", each.relayed ? ToldJson(each.relayed->told) : json::array()},
               {"lost", turn.lost},
               {"lost_tokens", turn.lost_tokens},
               {"lost_usd", turn.lost_usd},
               {"text", each.text},
               {"reasoning", each.reasoning},
               {"finish", OrNull(each.finish)},
               {"finish_word", OrNull(each.finish_word)},
               {"answered_by", OrNull(each.model)},
               {"calls", std::move(calls)},
               {"other_results", std::move(others)},
               {"follows", each.follows},
               {"files", std::move(files)},
               {"verdicts", std::move(verdicts)},
               {"input", OrNull(turn.input)},
               {"cache_read", OrNull(turn.cache_read)},
               {"cache_write", OrNull(turn.cache_write)},
               {"output", OrNull(turn.output)},
               {"reasoning_tokens", OrNull(turn.reasoning_tokens)},
               {"cost_usd", OrNull(turn.cost_usd)},
               {"price_source", OrNull(turn.price_source)},
               {"model_calls", turn.calls},
               {"model_seconds", turn.seconds},
               {"tool_seconds", turn.tool_seconds}};
  // They are the judge's calls, and not the model's.
  if (each.relayed) {
    for (json& verdict : line.at("verdicts")) verdict["call"] = nullptr;
    line["tool_seconds"] = nullptr;
  }
  if (raw) line["raw"] = StoredText(ParseStored(turn.answer), "raw");
  if (raw && each.relayed) line["raw_request"] = each.relayed->raw;
  return line;
}

json EndJson(const Transcript& transcript) {
  json submitted, best;
  if (const auto& answer = transcript.submitted) {
    submitted = {{"source_sha256", OrNull(answer->source_sha256)},
                 {"language", OrNull(answer->language)},
                 {"complaint", OrNull(answer->complaint)}};
    const json& evaluation = transcript.evaluation;
    for (const char* key : {"id", "verdict", "reason", "speedup", "speedup_interval"}) {
      submitted[key] = evaluation.is_object() ? evaluation.value(key, json()) : json();
    }
  }
  if (const TurnVerdict* verdict = BestVerdict(transcript)) {
    best = VerdictJson(*verdict);
    best.erase("view");
    if (!transcript.episode.harness.empty()) best["call"] = nullptr;
    best["turn"] = verdict->turn;
  }
  json totals = TotalsJson(TotalsOf(transcript));
  if (!transcript.episode.harness.empty()) totals["tool_seconds"] = nullptr;
  return {{"schema", 1},
          {"type", "end"},
          {"ended_by", OrNull(transcript.episode.ended_by)},
          {"ending", OrNull(transcript.episode.ending)},
          {"submitted", std::move(submitted)},
          {"best", std::move(best)},
          {"totals", std::move(totals)}};
}

}  // namespace kb

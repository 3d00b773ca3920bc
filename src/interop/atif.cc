#include "interop/atif.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/json.h"

namespace kb {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// "2026-11-30T10:00:00Z"; a validator refuses what is no time.
bool IsTime(const std::string& text) {
  constexpr char kForm[] = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != sizeof(kForm) - 1) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return false;
  }
  return true;
}

template <typename Value>
void AddIf(const char* key, const std::optional<Value>& value, ordered_json* object) {
  if (value) (*object)[key] = *value;
}

// As OpenAI's functions are declared.
ordered_json ToolDefinition(const json& tool) {
  if (!tool.is_object() || tool.contains("function"))
    return tool.is_object() ? ordered_json(tool) : ordered_json::object();
  json parameters = tool.value("parameters", json::object());
  if (parameters.is_string()) parameters = ParseStored(parameters.get<std::string>());
  if (!parameters.is_object()) parameters = json::object();
  return {{"type", "function"},
          {"function",
           {{"name", StoredText(tool, "name")},
            {"description", StoredText(tool, "description")},
            {"parameters", std::move(parameters)}}}};
}

ordered_json Metrics(const Turn& turn) {
  ordered_json metrics = ordered_json::object();
  if (turn.input || turn.cache_read || turn.cache_write) {
    metrics["prompt_tokens"] = turn.input.value_or(0) + turn.cache_read.value_or(0) + turn.cache_write.value_or(0);
  }
  AddIf("completion_tokens", turn.output, &metrics);
  AddIf("cached_tokens", turn.cache_read, &metrics);
  AddIf("cost_usd", turn.cost_usd, &metrics);
  ordered_json extra = ordered_json::object();
  AddIf("cache_write_tokens", turn.cache_write, &extra);
  AddIf("reasoning_tokens", turn.reasoning_tokens, &extra);
  if (!turn.price_source.empty()) extra["price_source"] = turn.price_source;
  if (!extra.empty()) metrics["extra"] = std::move(extra);
  return metrics;
}

class AtifWriter {
 public:
  AtifWriter(const Transcript& transcript, const std::string& version) : transcript_(transcript), version_(version) {}

  ordered_json Trajectory() {
    const std::string& created = transcript_.episode.created;
    if (!transcript_.system.empty()) AddStep("system", created, transcript_.system);
    for (const auto& [role, text] : transcript_.messages) {
      AddStep(role == "user" ? "user" : role == "assistant" ? "agent" : "system", created, text);
    }
    for (const TranscriptTurn& turn : transcript_.turns) AddTurn(turn);
    // At least one is necessary.
    if (steps_.empty()) AddStep("system", created, "");
    const GenerationRequest& request = transcript_.request;
    ordered_json trajectory = {
        {"schema_version", "ATIF-v1.7"},
        {"session_id", transcript_.run},
        {"trajectory_id", fmt::format("{}/{}/{}/{}", transcript_.run, request.model, request.problem, request.sample)},
        {"agent", Agent()}};
    trajectory["final_metrics"] = FinalMetrics();
    if (const std::string notes = Notes(); !notes.empty()) trajectory["notes"] = notes;
    trajectory["extra"] = Extra();
    trajectory["steps"] = std::move(steps_);
    return trajectory;
  }

 private:
  ordered_json& AddStep(const char* source, const std::string& time, const std::string& message) {
    ordered_json step = {{"step_id", steps_.size() + 1}};
    if (IsTime(time)) step["timestamp"] = time;
    step["source"] = source;
    step["message"] = message;
    steps_.push_back(std::move(step));
    return steps_.back();
  }

  void AddTurn(const TranscriptTurn& each) {
    const Turn& turn = each.turn;
    if (turn.kind == "condense") {
      AddCondense(each);
      return;
    }
    if (each.relayed && each.relayed->aside) {
      AddAside(each);
      return;
    }
    if (each.relayed) AddRelayed(*each.relayed, turn);
    if (!each.context.is_null()) {
      AddStep("system", turn.created, "The history was shortened: " + Dump(each.context))["extra"] = {
          {"turn", turn.number}, {"kind", "context"}, {"context", each.context}};
    }
    if (turn.state == "asked") return;
    AddAnswer(each);
    if (!each.follows.empty()) AddStep("user", "", each.follows);
  }

  // Not the agent's work on the task, so a step of the system; its metrics are in `extra`, for only agents have some.
  void AddCondense(const TranscriptTurn& each) {
    const Turn& turn = each.turn;
    ordered_json& step = AddStep("system", turn.created, each.text);
    if (turn.state != "asked") step["llm_call_count"] = 1;
    step["extra"] = {
        {"turn", turn.number}, {"kind", "condense"}, {"context", each.context}, {"metrics", Metrics(turn)}};
    if (!each.follows.empty()) AddStep("user", "", each.follows);
  }

  // What the program told the model.
  void AddRelayed(const RelayedRequest& request, const Turn& turn) {
    if (!request.system.empty() && systems_.insert(request.system).second) {
      AddStep("system", turn.created, request.system)["extra"] = {{"turn", turn.number}, {"kind", "system"}};
    }
    for (const auto& [role, text] : request.told) {
      AddStep(role == "user" ? "user" : "system", turn.created, text)["extra"] = {
          {"turn", turn.number}, {"kind", "told"}, {"role", role}};
    }
  }

  // A title or a summary that the program wants is no work on the task, so a step of the system.
  void AddAside(const TranscriptTurn& each) {
    if (each.turn.state == "asked") return;
    ordered_json& step = AddStep("system", each.turn.created, each.text);
    step["llm_call_count"] = 1;
    const json line = TurnJson(each, false);
    step["extra"] = {{"turn", each.turn.number}, {"kind", "aside"}, {"metrics", Metrics(each.turn)}};
    for (const char* key : {"request", "told", "reasoning", "calls", "verdicts", "files"})
      step["extra"][key] = line.at(key);
  }

  void AddAnswer(const TranscriptTurn& each) {
    ordered_json& step = AddStep("agent", each.turn.created, each.text);
    if (!each.model.empty()) step["model_name"] = each.model;
    if (!each.reasoning.empty()) step["reasoning_content"] = each.reasoning;
    ordered_json calls = ordered_json::array(), results = ordered_json::array();
    std::set<std::string> ids;
    for (const TranscriptCall& call : each.calls) {
      std::string id = call.id;
      while (id.empty() || !ids.insert(id).second) id = fmt::format("{}#{}", call.id, calls.size() + 1);
      ordered_json entry = {{"tool_call_id", id}, {"function_name", call.name}};
      entry["arguments"] = call.parsed.is_object() ? ordered_json(call.parsed) : ordered_json::object();
      if (!call.parsed.is_object()) entry["extra"] = {{"arguments_text", call.arguments}};
      calls.push_back(std::move(entry));
      if (call.result) results.push_back(Result(*call.result, id));
    }
    for (const TranscriptResult& result : each.other_results) results.push_back(Result(result, ""));
    if (!calls.empty()) step["tool_calls"] = std::move(calls);
    if (!results.empty()) step["observation"] = {{"results", std::move(results)}};
    if (ordered_json metrics = Metrics(each.turn); !metrics.empty()) step["metrics"] = std::move(metrics);
    step["llm_call_count"] = 1;
    const json line = TurnJson(each, false);
    for (const char* key : {"turn", "state", "finish", "lost", "lost_tokens", "lost_usd", "model_calls",
                            "model_seconds", "tool_seconds", "files", "verdicts"}) {
      step["extra"][key] = line.at(key);
    }
    if (each.relayed) {
      step["extra"]["request"] = line.at("request");
      step["extra"].erase("tool_seconds");
    }
  }

  static ordered_json Result(const TranscriptResult& result, const std::string& id) {
    ordered_json entry = ordered_json::object();
    if (!id.empty()) entry["source_call_id"] = id;
    entry["content"] = result.text;
    entry["extra"] = {{"is_error", result.is_error}};
    AddIf("seconds", result.seconds, &entry["extra"]);
    return entry;
  }

  ordered_json Agent() const {
    const bool own = transcript_.episode.harness.empty();
    ordered_json agent = {{"name", own ? "kernelbench" : transcript_.episode.harness},
                          {"version", own ? version_ : "unknown"},
                          {"model_name", transcript_.request.model}};
    ordered_json tools = ordered_json::array();
    for (const json& tool : Tools()) tools.push_back(ToolDefinition(tool));
    if (!tools.empty()) agent["tool_definitions"] = std::move(tools);
    return agent;
  }

  // Of a program those that it offered first.
  const json& Tools() const {
    for (const TranscriptTurn& turn : transcript_.turns) {
      if (turn.relayed && !turn.relayed->tools.empty()) return turn.relayed->tools;
    }
    return transcript_.tools;
  }

  ordered_json FinalMetrics() const {
    const TranscriptTotals totals = TotalsOf(transcript_);
    ordered_json metrics = {{"total_prompt_tokens", totals.Prompt()},
                            {"total_completion_tokens", totals.output},
                            {"total_cached_tokens", totals.cache_read}};
    AddIf("total_cost_usd", totals.usd, &metrics);
    metrics["total_steps"] = steps_.size();
    metrics["extra"] = EndJson(transcript_).at("totals");
    return metrics;
  }

  std::string Notes() const {
    std::string notes;
    const auto& turns = transcript_.turns;
    if (std::any_of(turns.begin(), turns.end(), [](const auto& turn) { return turn.turn.kind == "condense"; })) {
      notes = "The totals include answers in which the model shortened its history, which are steps of the system.";
    }
    if (std::any_of(turns.begin(), turns.end(), [](const auto& turn) { return turn.relayed && turn.relayed->aside; })) {
      notes = "The totals include asides of the program, such as titles, which are steps of the system.";
    }
    if (!turns.empty() && turns.back().turn.state == "asked") {
      notes += std::string(notes.empty() ? "" : " ") + "The last turn has no answer yet.";
    }
    return notes;
  }

  ordered_json Extra() const {
    const GenerationRequest& request = transcript_.request;
    const json end = EndJson(transcript_);
    ordered_json extra = {{"problem", request.problem}, {"sample", request.sample}, {"candidate", request.candidate}};
    for (const char* key : {"ended_by", "ending", "submitted", "best"}) extra[key] = end.at(key);
    return extra;
  }

  const Transcript& transcript_;
  const std::string& version_;
  std::set<std::string> systems_;  // prompts of a program that are steps already
  ordered_json steps_ = ordered_json::array();
};

}  // namespace

ordered_json AtifJson(const Transcript& transcript, const std::string& version) {
  return AtifWriter(transcript, version).Trajectory();
}

std::string AtifFileName(const GenerationRequest& request) {
  std::string name = fmt::format("{}_{}", request.problem, request.model);
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && c != '.' && c != '_' && c != '-') c = '-';
  }
  // Neither hidden nor an option.
  name.erase(0, name.find_first_not_of("-."));
  return fmt::format("{}_sample_{}.json", name.substr(0, 150), request.sample);
}

}  // namespace kb

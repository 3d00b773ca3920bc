#include "agents/stored_turn.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr std::pair<FinishReason, const char*> kFinishes[] = {
    {FinishReason::kStop, "stop"},       {FinishReason::kToolCalls, "tool_calls"},
    {FinishReason::kLength, "length"},   {FinishReason::kContextFull, "context_full"},
    {FinishReason::kPaused, "paused"},   {FinishReason::kRefused, "refused"},
    {FinishReason::kUnknown, "unknown"},
};

Result<json> Parsed(const std::string& text) {
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) return Fail(ErrorCode::kStore, "a turn in the store is damaged: kernelbench store check");
  return parsed;
}

// Reads what this wrote; anything else is damage.
template <typename Read>
auto Guarded(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const json::exception& error) {
    return Fail(ErrorCode::kStore,
                fmt::format("a turn in the store is damaged ({}): kernelbench store check", error.what()));
  }
}

}  // namespace

std::vector<ToolResult> StoredResults::Plain() const {
  std::vector<ToolResult> plain;
  for (const StoredResult& each : results) plain.push_back(each.result);
  return plain;
}

std::string OpeningJson(const Conversation::Opening& opening) {
  json tools = json::array();
  for (const Tool& tool : opening.tools) {
    tools.push_back({{"name", tool.name}, {"description", tool.description}, {"parameters", tool.parameters}});
  }
  return Dump(json{{"system", opening.system},
                   {"tools", std::move(tools)},
                   {"messages", {{{"role", "user"}, {"text", opening.task}}}}});
}

Result<Conversation::Opening> OpeningOf(const std::string& text) {
  KB_ASSIGN_OR_RETURN(const json opening, Parsed(text));
  return Guarded([&]() -> Result<Conversation::Opening> {
    Conversation::Opening read{.system = opening.at("system"), .task = opening.at("messages").at(0).at("text")};
    for (const json& tool : opening.at("tools")) {
      read.tools.push_back({tool.at("name"), tool.at("description"), tool.at("parameters")});
    }
    return read;
  });
}

void PutAnswer(const Completion& completion, Turn* turn) {
  json calls = json::array();
  for (const ToolCall& call : completion.calls) {
    calls.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  }
  std::string finish;
  for (const auto& [reason, name] : kFinishes) {
    if (reason == completion.finish) finish = name;
  }
  turn->answer = Dump(json{{"text", completion.text},
                           {"reasoning", completion.reasoning},
                           {"finish", finish},
                           {"finish_word", completion.finish_word},
                           {"raw", completion.raw},
                           {"model", completion.model},
                           {"calls", std::move(calls)}});
  turn->input = completion.usage.input;
  turn->cache_read = completion.usage.cache_read;
  turn->cache_write = completion.usage.cache_write;
  turn->output = completion.usage.output;
  turn->reasoning_tokens = completion.usage.reasoning;
  turn->calls = completion.attempts;
  turn->seconds = completion.seconds;
}

Result<Completion> AnswerOf(const Turn& turn) {
  KB_ASSIGN_OR_RETURN(const json answer, Parsed(turn.answer));
  return Guarded([&]() -> Result<Completion> {
    Completion completion;
    completion.text = answer.at("text");
    completion.reasoning = answer.at("reasoning");
    for (const auto& [reason, name] : kFinishes) {
      if (answer.at("finish") == name) completion.finish = reason;
    }
    completion.finish_word = answer.at("finish_word");
    completion.raw = answer.at("raw");
    completion.model = answer.at("model");
    for (const json& call : answer.at("calls")) {
      completion.calls.push_back({call.at("id"), call.at("name"), call.at("arguments")});
    }
    completion.usage = {turn.input, turn.cache_read, turn.cache_write, turn.output, turn.reasoning_tokens};
    completion.attempts = turn.calls;
    completion.seconds = turn.seconds;
    return completion;
  });
}

std::string ResultsJson(const StoredResults& results) {
  json list = json::array();
  for (const StoredResult& each : results.results) {
    list.push_back({{"call_id", each.result.call_id},
                    {"name", each.name},
                    {"text", each.result.text},
                    {"is_error", each.result.is_error},
                    {"seconds", each.seconds}});
  }
  return Dump(json{{"results", std::move(list)}, {"text", results.text}});
}

Result<StoredResults> ResultsOf(const std::string& text) {
  KB_ASSIGN_OR_RETURN(const json stored, Parsed(text));
  return Guarded([&]() -> Result<StoredResults> {
    StoredResults results{.text = stored.at("text")};
    for (const json& each : stored.at("results")) {
      results.results.push_back(
          {{each.at("call_id"), each.at("text"), each.at("is_error")}, each.at("name"), each.at("seconds")});
    }
    return results;
  });
}

}  // namespace kb

// What providers stream on each wire, for tests, and how they are asked.
#ifndef MODEL_TEST_STREAMS_H_
#define MODEL_TEST_STREAMS_H_

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/open_model.h"
#include "model/settings.h"
#include "model/test_server.h"

namespace kb {

// The events of one answer, each as its bytes in the stream. The last is the end mark alone.
inline std::vector<std::string> ChatStream(const std::vector<std::string>& pieces) {
  using nlohmann::json;
  const auto event = [](const json& choice, const json& usage = {}) {
    json body = {{"id", "c1"}, {"object", "chat.completion.chunk"}, {"model", "served-model"}, {"choices", choice}};
    if (!usage.is_null()) body["usage"] = usage;
    return "data: " + body.dump() + "\n\n";
  };
  const auto delta = [](const json& value, const json& finish = {}) {
    return json::array({{{"index", 0}, {"delta", value}, {"finish_reason", finish}}});
  };
  std::vector<std::string> events = {": a comment that keeps the connection alive\n\n",
                                     event(delta({{"role", "assistant"}, {"content", ""}}))};
  for (const std::string& piece : pieces) events.push_back(event(delta({{"content", piece}})));
  events.push_back(event(delta(json::object(), "stop")));
  events.push_back(event(json::array(), {{"prompt_tokens", 100},
                                         {"completion_tokens", 50},
                                         {"total_tokens", 150},
                                         {"prompt_tokens_details", {{"cached_tokens", 40}}},
                                         {"completion_tokens_details", {{"reasoning_tokens", 20}}}}));
  events.emplace_back("data: [DONE]\n\n");
  return events;
}

inline std::vector<std::string> AnthropicStream(const std::vector<std::string>& pieces) {
  using nlohmann::json;
  const auto event = [](const json& body) {
    return fmt::format("event: {}\ndata: {}\n\n", body["type"].get<std::string>(), body.dump());
  };
  std::vector<std::string> events = {
      event({{"type", "message_start"},
             {"message",
              {{"id", "m1"},
               {"model", "served-model"},
               {"content", json::array()},
               {"usage",
                {{"input_tokens", 60},
                 {"cache_read_input_tokens", 40},
                 {"cache_creation_input_tokens", 0},
                 {"output_tokens", 1}}}}}}),
      event({{"type", "ping"}}),
      event({{"type", "content_block_start"}, {"index", 0}, {"content_block", {{"type", "text"}, {"text", ""}}}})};
  for (const std::string& piece : pieces) {
    events.push_back(
        event({{"type", "content_block_delta"}, {"index", 0}, {"delta", {{"type", "text_delta"}, {"text", piece}}}}));
  }
  events.push_back(event({{"type", "content_block_stop"}, {"index", 0}}));
  events.push_back(event({{"type", "message_delta"},
                          {"delta", {{"stop_reason", "end_turn"}, {"stop_sequence", nullptr}}},
                          {"usage", {{"output_tokens", 50}}}}));
  events.push_back(event({{"type", "message_stop"}}));
  return events;
}

inline std::vector<std::string> ResponsesStream(const std::vector<std::string>& pieces) {
  using nlohmann::json;
  const auto event = [](const json& body) {
    return fmt::format("event: {}\ndata: {}\n\n", body["type"].get<std::string>(), body.dump());
  };
  json response = {{"id", "r1"}, {"model", "served-model"}, {"status", "in_progress"}, {"output", json::array()}};
  std::vector<std::string> events = {event({{"type", "response.created"}, {"response", response}})};
  std::string text;
  for (const std::string& piece : pieces) {
    events.push_back(event({{"type", "response.output_text.delta"}, {"output_index", 0}, {"delta", piece}}));
    text += piece;
  }
  const json part = {{"type", "output_text"}, {"text", text}, {"annotations", json::array()}};
  const json item = {{"type", "message"}, {"id", "m1"}, {"role", "assistant"}, {"content", json::array({part})}};
  events.push_back(event({{"type", "response.output_item.done"}, {"output_index", 0}, {"item", item}}));
  response.update({{"status", "completed"},
                   {"output", json::array({item})},
                   {"usage",
                    {{"input_tokens", 100},
                     {"input_tokens_details", {{"cached_tokens", 40}}},
                     {"output_tokens", 50},
                     {"output_tokens_details", {{"reasoning_tokens", 20}}}}}});
  events.push_back(event({{"type", "response.completed"}, {"response", response}}));
  events.emplace_back("data: [DONE]\n\n");  // as some servers have it; OpenAI's has no end mark after the reason to end
  return events;
}

inline std::vector<std::string> StreamOf(Wire wire, const std::vector<std::string>& pieces) {
  return wire == Wire::kMessages    ? AnthropicStream(pieces)
         : wire == Wire::kResponses ? ResponsesStream(pieces)
                                    : ChatStream(pieces);
}

// The same answer as one JSON object.
inline std::string WholeOf(Wire wire, const std::string& text) {
  using nlohmann::json;
  if (wire == Wire::kMessages) {
    return json{{"type", "message"},
                {"model", "served-model"},
                {"content", {{{"type", "thinking"}, {"thinking", "hm"}}, {{"type", "text"}, {"text", text}}}},
                {"stop_reason", "end_turn"},
                {"usage", {{"input_tokens", 60}, {"cache_read_input_tokens", 40}, {"output_tokens", 50}}}}
        .dump();
  }
  if (wire == Wire::kResponses) {
    const json parts = json::array({{{"type", "output_text"}, {"text", text}}});
    const json summary = json::array({{{"type", "summary_text"}, {"text", "hm"}}});
    return json{
        {"object", "response"},
        {"model", "served-model"},
        {"status", "completed"},
        {"error", nullptr},
        {"output",
         {{{"type", "reasoning"}, {"summary", summary}},
          {{"type", "message"}, {"role", "assistant"}, {"content", parts}}}},
        {"usage", {{"input_tokens", 100}, {"output_tokens", 50}, {"input_tokens_details", {{"cached_tokens", 40}}}}}}
        .dump();
  }
  const json message = {{"role", "assistant"}, {"content", text}, {"reasoning_content", "hm"}};
  return json{{"object", "chat.completion"},
              {"model", "served-model"},
              {"choices", {{{"index", 0}, {"message", message}, {"finish_reason", "stop"}}}},
              {"usage",
               {{"prompt_tokens", 100}, {"completion_tokens", 50}, {"prompt_tokens_details", {{"cached_tokens", 40}}}}}}
      .dump();
}

inline std::string Joined(const std::vector<std::string>& events, size_t count = static_cast<size_t>(-1)) {
  std::string all;
  for (size_t i = 0; i < events.size() && i < count; ++i) all += events[i];
  return all;
}

// Settings of a provider at `url` that waits for next to nothing. Its key is in KB_TEST_KEY.
inline ModelSettings QuickSettings(ProviderKind kind, const std::string& url) {
  using std::chrono::milliseconds;
  ModelSettings settings;
  settings.name = "tested";
  settings.provider = kind;
  settings.wire = kind == ProviderKind::kAnthropic ? Wire::kMessages : Wire::kChat;
  settings.model = "some-model";
  settings.base_url = url;
  settings.key_env = "KB_TEST_KEY";
  settings.key_needed = true;
  settings.timeouts.first_byte = settings.timeouts.between_bytes = milliseconds(5000);
  settings.retry.attempts = 3;
  settings.retry.first_wait = settings.retry.longest_wait = milliseconds(1);
  settings.retry.longest_retry_after = milliseconds(60);
  return settings;
}

inline ModelSettings QuickSettings(Wire wire, const std::string& url) {
  ModelSettings settings =
      QuickSettings(wire == Wire::kMessages ? ProviderKind::kAnthropic : ProviderKind::kOpenAi, url);
  settings.wire = wire;
  return settings;
}

inline Result<Completion> Ask(const ModelSettings& settings, const CompletionRequest& request) {
  const auto provider = OpenModel(settings);
  if (!provider) return tl::make_unexpected(provider.error());
  return (*provider)->Complete(request, nullptr);
}

inline void Stream(ServedConnection* connection, const std::string& stream) {
  connection->Send(StreamHead() + Chunk(stream) + Chunk(""));
}

constexpr Wire kWires[] = {Wire::kChat, Wire::kMessages, Wire::kResponses};

}  // namespace kb

#endif  // MODEL_TEST_STREAMS_H_

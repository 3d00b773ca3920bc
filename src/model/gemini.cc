#include <fmt/format.h>

#include "base/json.h"
#include "model/wire_format.h"

namespace kb {
namespace {

std::string GeminiPath(const ModelSettings& settings, bool stream) {
  return fmt::format("/models/{}:{}", settings.model, stream ? "streamGenerateContent?alt=sse" : "generateContent");
}

std::vector<std::string> GeminiHeaders(const std::string& key, const ModelSettings&) {
  if (key.empty()) return {};
  return {"x-goog-api-key: " + key};
}

// What the settings say about an answer.
Result<WireJson> GeminiBody(const CompletionRequest& request, const ModelSettings&) {
  if (!request.messages.empty()) {
    return Fail(
        ErrorCode::kUsage,
        "the wire gemini is for agent programs that speak it; to ask the model without one, set wire = \"chat\" "
        "and base_url = \"https://generativelanguage.googleapis.com/v1beta/openai\" in models.toml");
  }
  WireJson config = {{"maxOutputTokens", request.max_tokens}};
  if (request.temperature) config["temperature"] = *request.temperature;
  if (request.top_p) config["topP"] = *request.top_p;
  if (request.seed) config["seed"] = *request.seed;
  if (!request.reasoning_effort.empty()) config["thinkingConfig"] = {{"thinkingLevel", request.reasoning_effort}};
  return WireJson{{"generationConfig", std::move(config)}};
}

FinishReason GeminiFinish(const std::string& reason) {
  if (reason == "STOP") return FinishReason::kStop;
  if (reason == "MAX_TOKENS") return FinishReason::kLength;
  for (const char* refusal : {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"}) {
    if (reason == refusal) return FinishReason::kRefused;
  }
  return FinishReason::kUnknown;
}

// promptTokenCount counts what was read from a cache too, candidatesTokenCount no thoughts.
Usage GeminiUsage(const WireJson& usage) {
  Usage counted;
  counted.cache_read = CountOf(usage, "cachedContentTokenCount");
  counted.reasoning = CountOf(usage, "thoughtsTokenCount");
  if (const auto candidates = CountOf(usage, "candidatesTokenCount")) {
    counted.output = *candidates + counted.reasoning.value_or(0);
  }
  if (const auto prompt = CountOf(usage, "promptTokenCount")) {
    counted.input = *prompt + CountOf(usage, "toolUsePromptTokenCount").value_or(0) - counted.cache_read.value_or(0);
    if (*counted.input < 0) counted.input.reset();  // they contradict each other: not known
  }
  return counted;
}

// An event of a stream is a whole answer, too, whose parts go on where the last one's ended.
class GeminiReader : public AnswerReader {
 protected:
  std::optional<StreamFault> ReadJson(const WireJson& event) override {
    if (!MemberOf(event, "error").is_null()) return FaultOf(event);
    if (const std::string model = TextOf(event, "modelVersion"); !model.empty()) completion_.model = model;
    if (const WireJson& usage = MemberOf(event, "usageMetadata"); usage.is_object()) {
      completion_.usage = GeminiUsage(usage);
    }
    if (const std::string blocked = TextOf(MemberOf(event, "promptFeedback"), "blockReason"); !blocked.empty()) {
      finished_ = true;
      completion_.finish_word = blocked;
      completion_.finish = FinishReason::kRefused;
    }
    const WireJson& candidates = MemberOf(event, "candidates");
    if (!candidates.is_array() || candidates.empty()) return std::nullopt;
    const WireJson& parts = MemberOf(MemberOf(candidates[0], "content"), "parts");
    for (const WireJson& part : parts.is_array() ? parts : WireJson::array()) AddPart(part);
    if (const std::string reason = TextOf(candidates[0], "finishReason"); !reason.empty()) {
      finished_ = true;
      completion_.finish_word = reason;
      completion_.finish = GeminiFinish(reason);
    }
    return std::nullopt;
  }

  void Conclude() override {
    for (const WireJson& part : parts_) {
      const bool thought = MemberOf(part, "thought") == true;
      (thought ? completion_.reasoning : completion_.text) += TextOf(part, "text");
      const WireJson& call = MemberOf(part, "functionCall");
      if (!call.is_object()) continue;
      const WireJson& arguments = MemberOf(call, "args");
      completion_.calls.push_back(
          {TextOf(call, "id"), TextOf(call, "name"), arguments.is_null() ? "{}" : Dump(arguments)});
    }
    completion_.raw = Dump(WireJson{{"role", "model"}, {"parts", parts_}});
  }

 private:
  void AddPart(const WireJson& part) {
    const std::string text = TextOf(part, "text");
    size_ += text.size();
    if (const WireJson& call = MemberOf(part, "functionCall"); !call.is_null()) size_ += Dump(call).size();
    const auto only_text = [](const WireJson& each) {
      return each.is_object() && each.contains("text") && each.size() == (each.contains("thought") ? 2U : 1U);
    };
    WireJson* const last = parts_.empty() ? nullptr : &parts_.back();
    if (last != nullptr && only_text(*last) && only_text(part) &&
        MemberOf(*last, "thought") == MemberOf(part, "thought")) {
      (*last)["text"] = TextOf(*last, "text") + text;
    } else {
      parts_.push_back(part);
    }
  }

  WireJson parts_ = WireJson::array();
};

std::unique_ptr<AnswerReader> NewGeminiReader(const ModelSettings&) { return std::make_unique<GeminiReader>(); }

}  // namespace

const WireFormat& Gemini() {
  static const WireFormat format = {GeminiPath, GeminiHeaders, GeminiBody, NewGeminiReader};
  return format;
}

}  // namespace kb

#include <algorithm>
#include <map>

#include "base/json.h"
#include "model/wire_format.h"

namespace kb {
namespace {

std::string ResponsesPath(const ModelSettings&, bool) { return "/responses"; }

std::vector<std::string> ResponsesHeaders(const std::string& key, const ModelSettings&) {
  if (key.empty()) return {};
  return {"Authorization: Bearer " + key};
}

// Appends what are as many items here as an answer had, or results.
Status AddItems(const Message& message, WireJson* items) {
  if (!message.raw.empty()) {
    KB_ASSIGN_OR_RETURN(const WireJson raw, RawOf(message, WireJson::value_t::array));
    for (const WireJson& item : raw) items->push_back(item);
    return {};
  }
  for (const ToolResult& result : message.results) {
    items->push_back({{"type", "function_call_output"}, {"call_id", result.call_id}, {"output", result.text}});
  }
  if (message.results.empty() || !message.text.empty()) {
    const char* role = message.role == Role::kUser ? "user" : "assistant";
    items->push_back({{"role", role}, {"content", message.text}});
  }
  return {};
}

// Nothing is kept at the provider, so reasoning comes encrypted and goes back with the conversation. There is no seed.
Result<WireJson> ResponsesBody(const CompletionRequest& request, const ModelSettings&) {
  WireJson body = {{"model", request.model},
                   {"stream", true},
                   {"store", false},
                   {"include", {"reasoning.encrypted_content"}},
                   {"max_output_tokens", request.max_tokens}};
  if (request.temperature) body["temperature"] = *request.temperature;
  if (request.top_p) body["top_p"] = *request.top_p;
  if (!request.reasoning_effort.empty()) body["reasoning"] = {{"effort", request.reasoning_effort}};
  for (const Tool& tool : request.tools) {
    KB_ASSIGN_OR_RETURN(WireJson function, FunctionOf(tool, "parameters"));
    function["type"] = "function";
    function["strict"] = false;  // otherwise every schema is held to OpenAI's rules for strict ones
    body["tools"].push_back(std::move(function));
  }
  if (!request.system.empty()) body["instructions"] = request.system;
  WireJson& items = body["input"] = WireJson::array();
  for (const Message& message : request.messages) KB_RETURN_IF_ERROR(AddItems(message, &items));
  return body;
}

// input_tokens counts what was read from a cache too; each token is counted once here.
Usage ResponsesUsage(const WireJson& usage) {
  Usage counted;
  counted.cache_read = CountOf(MemberOf(usage, "input_tokens_details"), "cached_tokens");
  counted.reasoning = CountOf(MemberOf(usage, "output_tokens_details"), "reasoning_tokens");
  counted.output = CountOf(usage, "output_tokens");
  counted.input = CountOf(usage, "input_tokens");
  if (counted.input) *counted.input -= counted.cache_read.value_or(0);
  if (counted.input && *counted.input < 0) counted.input.reset();  // they contradict each other: not known
  return counted;
}

// The texts of a list of parts, where they are `member`s.
std::string PartsOf(const WireJson& list, const char* member, const char* between) {
  std::string all;
  for (const WireJson& part : list.is_array() ? list : WireJson::array()) {
    const std::string text = TextOf(part, member);
    if (!text.empty() && !all.empty()) all += between;
    all += text;
  }
  return all;
}

void AppendParagraph(const std::string& text, std::string* all) {
  if (!text.empty() && !all->empty()) *all += "\n\n";
  *all += text;
}

class ResponsesReader : public AnswerReader {
 protected:
  std::optional<StreamFault> ReadJson(const WireJson& event) override {
    const std::string type = TextOf(event, "type");
    if (type == "error" || !MemberOf(event, "error").is_null()) return FaultOf(event);
    if (type.empty()) return ReadResponse(event);  // the whole of an answer that is no stream
    if (type == "response.output_item.done") {
      done_[CountOf(event, "output_index").value_or(static_cast<int64_t>(done_.size()))] = MemberOf(event, "item");
    } else if (type.ends_with(".delta")) {
      const std::string piece = TextOf(event, "delta");
      size_ += piece.size();
      if (type == "response.output_text.delta") streamed_ += piece;
    } else if (const WireJson& response = MemberOf(event, "response"); response.is_object()) {
      return ReadResponse(response);  // created, in_progress, completed, incomplete, failed
    }
    return std::nullopt;
  }

  void Conclude() override {
    if (!ended_) Gather(WireJson());
    for (const WireJson& item : items_) ReadItem(item);
    if (completion_.finish == FinishReason::kStop && refused_) completion_.finish = FinishReason::kRefused;
    // What reasoning led to must follow it, or the API refuses both.
    while (!items_.empty() && TextOf(items_.back(), "type") == "reasoning") items_.erase(items_.size() - 1);
    completion_.raw = Dump(items_);
  }

 private:
  std::optional<StreamFault> ReadResponse(const WireJson& response) {
    if (const std::string model = TextOf(response, "model"); !model.empty()) completion_.model = model;
    if (const WireJson& usage = MemberOf(response, "usage"); usage.is_object()) {
      completion_.usage = ResponsesUsage(usage);
    }
    const std::string status = TextOf(response, "status");
    if (status == "failed" || !MemberOf(response, "error").is_null()) return FaultOf(response);
    if (status == "cancelled") return StreamFault{"the provider cancelled the answer"};
    if (status != "completed" && status != "incomplete") return std::nullopt;
    ended_ = true;
    const std::string reason = TextOf(MemberOf(response, "incomplete_details"), "reason");
    completion_.finish_word = reason.empty() ? status : reason;
    completion_.finish = status == "completed"           ? FinishReason::kStop
                         : reason == "max_output_tokens" ? FinishReason::kLength
                         : reason == "content_filter"    ? FinishReason::kRefused
                                                         : FinishReason::kUnknown;
    Gather(MemberOf(response, "output"));
    return std::nullopt;
  }

  // The items of the answer: some servers leave them out at the end of a stream, and what was cut off is only there.
  void Gather(const WireJson& output) {
    items_ = WireJson::array();
    if (output.is_array() && output.size() >= done_.size()) {
      items_ = output;
    } else {
      for (auto& [index, item] : done_) items_.push_back(std::move(item));
    }
    if (items_.empty() && !streamed_.empty()) {
      const WireJson parts = WireJson::array({{{"type", "output_text"}, {"text", streamed_}}});
      items_.push_back({{"type", "message"}, {"role", "assistant"}, {"content", parts}});
    }
    if (done_.empty() && streamed_.empty()) size_ = Dump(items_).size();
  }

  void ReadItem(const WireJson& item) {
    const std::string type = TextOf(item, "type");
    const WireJson& content = MemberOf(item, "content");
    if (type == "message") {
      const std::string refusal = PartsOf(content, "refusal", "");
      refused_ |= !refusal.empty();
      AppendParagraph(PartsOf(content, "text", "") + refusal, &completion_.text);
    } else if (type == "reasoning") {
      const std::string shown = PartsOf(content, "text", "\n\n");
      AppendParagraph(shown.empty() ? PartsOf(MemberOf(item, "summary"), "text", "\n\n") : shown,
                      &completion_.reasoning);
    } else if (type == "function_call" || type == "custom_tool_call") {
      const std::string space = TextOf(item, "namespace");  // of a tool that is one of several in a namespace
      completion_.calls.push_back({TextOf(item, "call_id"), (space.empty() ? "" : space + ".") + TextOf(item, "name"),
                                   TextOf(item, type == "function_call" ? "arguments" : "input")});
    }
  }

  std::map<int64_t, WireJson> done_;  // items of the stream, by their place
  std::string streamed_;
  WireJson items_ = WireJson::array();
  bool refused_ = false;
};

std::unique_ptr<AnswerReader> NewResponsesReader(const ModelSettings&) { return std::make_unique<ResponsesReader>(); }

}  // namespace

const WireFormat& Responses() {
  static const WireFormat format = {ResponsesPath, ResponsesHeaders, ResponsesBody, NewResponsesReader};
  return format;
}

}  // namespace kb

#include "agents/conversation.h"

#include <fmt/format.h>

#include <algorithm>

namespace kb {
namespace {

// Where nothing was counted yet. Code and JSON have fewer bytes to a token than prose.
constexpr double kBytesPerToken = 3;
constexpr int kNewestKept = 2;  // turns whose outputs never shrink
constexpr size_t kWorthShrinking = 200;

constexpr const char* kCondense =
    "Your history is nearly as long as you can read. Write down now, in words of your own, all that you need to go on: "
    "what you tried and what came of each, figures included, what you know about the problem and the device, what is "
    "in the folder, and what you would do next. Everything before this message but the task is then replaced by what "
    "you write, NOTES.md if the folder has it, and the best candidate so far. Call no tool in this answer.";

int64_t BytesOf(const Message& message) {
  size_t bytes = message.raw.empty() ? message.text.size() : message.raw.size();
  for (const ToolResult& result : message.results) bytes += result.text.size() + result.call_id.size() + 40;
  return static_cast<int64_t>(bytes + 20);
}

}  // namespace

std::string ShrunkText(const std::string& text) {
  if (text.size() < kWorthShrinking) return text;
  return fmt::format("({} characters, left out to save room: call the tool again if you need them)", text.size());
}

Conversation::Conversation(Opening opening, int64_t window, int max_tokens)
    : opening_(std::move(opening)),
      window_(window),
      max_tokens_(std::min<int64_t>(max_tokens, std::max<int64_t>(window / 4, 256))) {
  bytes_ = static_cast<int64_t>(opening_.system.size());
  for (const Tool& tool : opening_.tools) {
    bytes_ += static_cast<int64_t>(tool.name.size() + tool.description.size() + tool.parameters.size());
  }
  Append(0, {.role = Role::kUser, .text = opening_.task, .cache_until_here = true});
}

void Conversation::Append(int turn, Message message) {
  bytes_ += BytesOf(message);
  parts_.push_back({turn, std::move(message)});
  newest_ = turn;
}

int64_t Conversation::Estimate(int64_t bytes) const {
  const double ratio =
      counted_tokens_ > 0
          ? std::clamp(static_cast<double>(counted_bytes_) / static_cast<double>(counted_tokens_), 1.5, 6.0)
          : kBytesPerToken;
  return counted_tokens_ + static_cast<int64_t>(static_cast<double>(bytes - counted_bytes_) / ratio);
}

int64_t Conversation::Tokens() const { return Estimate(bytes_); }

// Above it the history is made shorter. The results of one more turn have room above.
int64_t Conversation::High() const { return (window_ - max_tokens_) * 4 / 5; }

size_t Conversation::ResultBytes() const { return static_cast<size_t>(std::max<int64_t>(window_ / 5, 500) * 3); }

int64_t Conversation::AfterShrink(int before) const {
  int64_t bytes = bytes_;
  for (const Part& part : parts_) {
    if (part.turn >= before) break;
    for (const ToolResult& result : part.message.results) {
      bytes -= static_cast<int64_t>(result.text.size()) - static_cast<int64_t>(ShrunkText(result.text).size());
    }
  }
  return Estimate(bytes);
}

Conversation::Step Conversation::Next() const {
  if (Tokens() <= High()) return Step::kAsk;
  // Shrinking is a break in the cache: it has to bring room for many turns.
  return AfterShrink(newest_ - kNewestKept + 1) <= High() * 3 / 5 ? Step::kShrink : Step::kCondense;
}

int Conversation::ShrinkBefore() const {
  const int last = newest_ - kNewestKept + 1;
  int before = shrunk_before_ + 1;
  while (before < last && AfterShrink(before) > High() / 2) ++before;
  return before;
}

void Conversation::Shrink(int before) {
  for (Part& part : parts_) {
    if (part.turn >= before) break;
    bytes_ -= BytesOf(part.message);
    for (ToolResult& result : part.message.results) result.text = ShrunkText(result.text);
    bytes_ += BytesOf(part.message);
  }
  shrunk_before_ = std::max(shrunk_before_, before);
}

void Conversation::Restart(const std::string& text) {
  for (const Part& part : parts_) bytes_ -= BytesOf(part.message);
  parts_.clear();
  shrunk_before_ = newest_;
  Append(newest_, {.role = Role::kUser, .text = opening_.task + "\n\n" + text, .cache_until_here = true});
}

CompletionRequest Conversation::With(CompletionRequest request, int64_t tokens) const {
  request.system = opening_.system;
  request.tools = opening_.tools;
  for (const Part& part : parts_) request.messages.push_back(part.message);
  const int64_t room = std::max<int64_t>(window_ - tokens * 21 / 20, 256);  // the estimate may be too low
  request.max_tokens = static_cast<int>(std::min(max_tokens_, room));
  return request;
}

CompletionRequest Conversation::ToAsk(CompletionRequest request) const { return With(std::move(request), Tokens()); }

CompletionRequest Conversation::ToCondense(CompletionRequest request) const {
  request = With(std::move(request), Tokens());
  Message& last = request.messages.back();
  if (last.role == Role::kUser) {
    last.text += (last.text.empty() ? "" : "\n\n") + std::string(kCondense);
  } else {
    request.messages.push_back({.role = Role::kUser, .text = kCondense});
  }
  return request;
}

void Conversation::Answered(int turn, const Completion& completion) {
  const Usage& usage = completion.usage;
  if (usage.input && usage.output) {
    counted_tokens_ = *usage.input + usage.cache_read.value_or(0) + usage.cache_write.value_or(0) + *usage.output;
  }
  Append(turn, Message::Answer(completion));
  if (usage.input && usage.output) counted_bytes_ = bytes_;
}

void Conversation::Given(int turn, const std::vector<ToolResult>& results, const std::string& text) {
  Append(turn, Message::Results(results, text));
}

}  // namespace kb

#include "agents/conversation.h"

#include <fmt/format.h>

#include <algorithm>

namespace kb {
namespace {

// Where nothing was counted yet. Code and JSON have fewer bytes to a token than prose.
constexpr double kBytesPerToken = 3;
constexpr int64_t kMostBytesPerToken = 8;  // a provider that counts fewer tokens does not count all
// Parts of the window: for the results of a turn, and for what the model writes when it condenses.
constexpr int64_t kResultsPart = 16, kSummaryPart = 10;
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

// An estimate may be too low.
int64_t WithMargin(int64_t tokens) { return tokens * 21 / 20; }

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
  newest_ = std::max(newest_, turn);
}

int64_t Conversation::Estimate(int64_t bytes) const {
  const auto at = [](int64_t of, double ratio) { return static_cast<int64_t>(static_cast<double>(of) / ratio); };
  if (counted_tokens_ == 0) return at(bytes, kBytesPerToken);
  const double ratio = static_cast<double>(counted_bytes_) / static_cast<double>(counted_tokens_);
  if (bytes <= counted_bytes_) return at(bytes, ratio);
  // What came since may be denser than the rest.
  return counted_tokens_ + at(bytes - counted_bytes_, std::clamp(ratio, 1.5, kBytesPerToken));
}

int64_t Conversation::Tokens() const { return Estimate(bytes_); }

// Above it the history is made shorter. One more turn, and the question to condense, have room above.
int64_t Conversation::High() const { return window_ - max_tokens_ - window_ / kResultsPart - window_ / kSummaryPart; }

size_t Conversation::ResultBytes() const {
  return static_cast<size_t>(std::max<int64_t>(window_ / kResultsPart, 500)) * static_cast<size_t>(kBytesPerToken);
}

Message Conversation::Shrunk(const Part& part) {
  Message message = part.message;
  if (part.turn == 0 || message.role != Role::kUser) return message;
  for (ToolResult& result : message.results) result.text = ShrunkText(result.text);
  if (message.results.empty()) message.text = ShrunkText(message.text);  // results in text form
  return message;
}

int64_t Conversation::AfterShrink(int before) const {
  int64_t bytes = bytes_;
  for (const Part& part : parts_) {
    if (part.turn >= before) break;
    bytes += BytesOf(Shrunk(part)) - BytesOf(part.message);
  }
  return Estimate(bytes);
}

Conversation::Step Conversation::Next() const {
  // What was condensed just now is not condensed again, or it would go on for ever.
  if (Tokens() <= High() || parts_.size() == 1) return Step::kAsk;
  // Shrinking is a break in the cache: it has to bring room for many turns.
  return AfterShrink(newest_ - kNewestKept + 1) <= High() * 3 / 5 ? Step::kShrink : Step::kCondense;
}

int Conversation::ShrinkBefore() const {
  const int last = newest_ - kNewestKept + 1;
  int before = shrunk_before_ + 1;
  while (before < last && AfterShrink(before) > High() * 2 / 5) ++before;
  return before;
}

void Conversation::Shrink(int before) {
  for (Part& part : parts_) {
    if (part.turn >= before) break;
    bytes_ -= BytesOf(part.message);
    part.message = Shrunk(part);
    bytes_ += BytesOf(part.message);
  }
  shrunk_before_ = std::max(shrunk_before_, before);
}

void Conversation::Restart(const std::string& text) {
  for (const Part& part : parts_) bytes_ -= BytesOf(part.message);
  parts_.clear();
  shrunk_before_ = newest_;
  Append(0, {.role = Role::kUser, .text = opening_.task + "\n\n" + text, .cache_until_here = true});
}

CompletionRequest Conversation::ToAsk(CompletionRequest request) const {
  request.system = opening_.system;
  request.tools = opening_.tools;
  for (const Part& part : parts_) request.messages.push_back(part.message);
  const int64_t room = std::max<int64_t>(window_ - WithMargin(Tokens()), 256);
  request.max_tokens = static_cast<int>(std::min(max_tokens_, room));
  return request;
}

CompletionRequest Conversation::ToCondense(CompletionRequest request) const {
  if (WithMargin(Tokens()) + window_ / kSummaryPart > window_) {  // the newest outputs were denser than they seemed
    Conversation shorter(*this);
    shorter.Shrink(newest_ + 1);
    request = shorter.ToAsk(std::move(request));
  } else {
    request = ToAsk(std::move(request));
  }
  Message& last = request.messages.back();
  if (last.role == Role::kUser) {
    last.text += (last.text.empty() ? "" : "\n\n") + std::string(kCondense);
  } else {
    request.messages.push_back({.role = Role::kUser, .text = kCondense});
  }
  return request;
}

void Conversation::Answered(int turn, const Completion& completion) {
  // What was sent. Of the answer it is not known how much is sent back.
  if (const Usage& usage = completion.usage; usage.input) {
    const int64_t counted = *usage.input + usage.cache_read.value_or(0) + usage.cache_write.value_or(0);
    counted_tokens_ = std::max(counted, bytes_ / kMostBytesPerToken);
    counted_bytes_ = bytes_;
  }
  Append(turn, Message::Answer(completion));
}

void Conversation::Given(int turn, const std::vector<ToolResult>& results, const std::string& text) {
  Append(turn, Message::Results(results, text));
}

}  // namespace kb

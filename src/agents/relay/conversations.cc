#include "agents/relay/conversations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/json.h"

namespace kb {
namespace {

// Of JSON that an addition holds.
constexpr size_t kMostMessages = size_t{768} << 10, kMostSystem = size_t{128} << 10, kMostTools = size_t{128} << 10;

constexpr char kMark[] = "cache_control";

// Programs move their marks along as a conversation grows, and a content that is marked is a list of one text.
WireJson WithoutMarks(const WireJson& message) {
  WireJson plain = message;
  if (!plain.is_object()) return plain;
  plain.erase(kMark);
  const auto content = plain.find("content");
  if (content == plain.end() || !content->is_array()) return plain;
  for (WireJson& part : *content) {
    if (part.is_object()) part.erase(kMark);
  }
  if (content->size() == 1 && (*content)[0].size() == 2 && TextOf((*content)[0], "type") == "text") {
    *content = TextOf((*content)[0], "text");
  }
  return plain;
}

std::string HashOf(const WireJson& value) { return value.is_null() ? "" : Sha256(Dump(value)); }

// `value` with texts of at most `longest` bytes and what says how much each lacks.
WireJson Shortened(const WireJson& value, size_t longest) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text.size() <= longest) return value;
    const size_t half = longest / 2;
    return fmt::format("{}[... {} bytes left out ...]{}", std::string_view(text).substr(0, half),
                       text.size() - 2 * half, std::string_view(text).substr(text.size() - half));
  }
  if (!value.is_structured()) return value;
  WireJson shorter = value.is_array() ? WireJson::array() : WireJson::object();
  for (const auto& [name, member] : value.items()) {
    value.is_array() ? shorter.push_back(Shortened(member, longest)) : void(shorter[name] = Shortened(member, longest));
  }
  return shorter;
}

// As JSON of the same shape in at most `most` bytes. Where many small values are more than that, a text takes the place
// of them all.
std::string Within(size_t most, const WireJson& value) {
  std::string whole = Dump(value);
  if (whole.size() <= most) return whole;
  for (size_t longest = most / 8; longest >= 128; longest /= 4) {
    std::string shorter = Dump(Shortened(value, longest));
    if (shorter.size() <= most) return shorter;
  }
  const WireJson said = fmt::format("[{} bytes left out]", whole.size());
  return Dump(value.is_array() ? WireJson::array({said}) : said);
}

// The member as JSON, if it differs from what has that hash.
std::optional<std::string> IfNew(const WireJson& value, std::string* hash) {
  std::string now = HashOf(value);
  if (now == *hash) return std::nullopt;
  *hash = std::move(now);
  return Within(kMostTools, value);
}

}  // namespace

Addition Conversations::Add(const Dialect& dialect, const WireJson& request) {
  const WireJson& said = MemberOf(request, dialect.messages);
  const WireJson text = said.is_array() ? WireJson() : WireJson::array({said});
  const WireJson& messages = said.is_array() ? said : text;
  const WireJson system = MemberOf(WithoutMarks({{"content", MemberOf(request, dialect.system)}}), "content");

  std::string hash = HashOf(system);
  auto found = known_.find(hash);
  for (const WireJson& message : messages) {
    hash = Sha256(hash + HashOf(WithoutMarks(message)));
    if (const auto longer = known_.find(hash); longer != known_.end()) found = longer;
  }
  Addition addition;
  addition.continues = found != known_.end();
  Conversation now;
  if (addition.continues) {
    now = std::move(found->second);
    known_.erase(found);
  } else {
    now.number = ++begun_;
    if (!system.is_null()) addition.system = Within(kMostSystem, system);
  }
  addition.conversation = now.number;
  addition.known = std::exchange(now.messages, messages.size());
  addition.messages =
      Within(kMostMessages, WireJson(messages.begin() + static_cast<ptrdiff_t>(addition.known), messages.end()));
  addition.tools = IfNew(MemberOf(request, "tools"), &now.tools);
  now.asked = ++requests_;
  known_[hash] = std::move(now);
  if (known_.size() > most_) {
    known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& one, const auto& other) {
      return one.second.asked < other.second.asked;
    }));
  }
  return addition;
}

}  // namespace kb

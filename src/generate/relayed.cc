#include "generate/relayed.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "generate/wire_message.h"

namespace kb {
namespace {

using nlohmann::json;

// Without the space and the quotes that programs put around a text.
std::string Bare(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\n\"";
  const size_t begin = text.find_first_not_of(kAround);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kAround) - begin + 1));
}

int NumberOf(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<int>() : 0;
}

std::vector<std::string> TextsOf(const json& object, const char* key) {
  std::vector<std::string> texts;
  const auto at = object.find(key);
  if (at == object.end() || !at->is_array()) return texts;
  for (const json& text : *at) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

class RelayedReader {
 public:
  explicit RelayedReader(Transcript* transcript) : transcript_(*transcript) {
    for (const auto& [role, text] : transcript_.messages) opening_.insert(Bare(text));
  }

  void Read() {
    for (size_t i = 0; i < transcript_.turns.size(); ++i) {
      TranscriptTurn& turn = transcript_.turns[i];
      if (!turn.context.is_object() || !turn.context.contains("messages")) continue;
      ReadTurn(i, std::exchange(turn.context, json()));
    }
    // A program whose model writes its calls as text has tools nowhere, and no asides.
    const bool any =
        std::any_of(conversations_.begin(), conversations_.end(), [](const auto& each) { return each.had_tools; });
    if (any) return;
    for (TranscriptTurn& turn : transcript_.turns) {
      if (!turn.relayed) continue;
      turn.relayed->aside = false;
      if (turn.relayed->begins == "aside") turn.relayed->begins = turn.relayed->conversation == 1 ? "first" : "other";
    }
  }

 private:
  struct Conversation {
    std::string system;
    bool tools = false, had_tools = false;
    std::vector<size_t> turns;  // their places
  };

  void ReadTurn(size_t place, const json& context) {
    TranscriptTurn& turn = transcript_.turns[place];
    RelayedRequest& request = turn.relayed.emplace();
    request.model = StoredText(context, "model");
    request.dropped = TextsOf(context, "dropped");
    request.denied = TextsOf(context, "denied");
    request.raw = context;
    const std::string text = StoredText(context, "messages");
    const json messages = ParseStored(text);
    std::vector<WirePart> parts;
    if (!messages.is_array()) parts.push_back({.role = "unreadable", .text = text});
    if (messages.is_array()) {
      for (const json& message : messages) {
        for (WirePart& part : WireParts(message)) parts.push_back(std::move(part));
      }
    }
    const std::string system = TakeSystem(context, &parts);
    const bool begins = Enter(context, system, &request);
    for (WirePart& part : parts) begins ? Begin(std::move(part), &request) : GoOn(std::move(part), &request);
    request.another = last_ != 0 && last_ != request.conversation;
    last_ = request.conversation;
    if (!turn.text.empty()) seen_.insert(Bare(turn.text));
    conversations_[request.conversation - 1].turns.push_back(place);
    newest_.push_back(place);
  }

  // What stands before the conversation, or is its first messages.
  static std::string TakeSystem(const json& context, std::vector<WirePart>* parts) {
    std::string system = WireText(ParseStored(StoredText(context, "system")));
    if (context.value("continues", json()) == true) return system;
    size_t count = 0;
    while (count < parts->size() && (*parts)[count].role == "system") {
      system += (system.empty() ? "" : "\n\n") + (*parts)[count++].text;
    }
    parts->erase(parts->begin(), parts->begin() + static_cast<ptrdiff_t>(count));
    return system;
  }

  // Programs that are started again count their conversations from 1 again. True: one begins.
  bool Enter(const json& context, const std::string& system, RelayedRequest* request) {
    const int number = NumberOf(context, "conversation");
    const auto known = numbers_.find(number);
    const bool goes_on = context.value("continues", json()) == true && known != numbers_.end();
    const bool restart = !goes_on && newest_number_ > 0 && number <= newest_number_;
    if (restart) numbers_.clear();
    if (!goes_on) {
      conversations_.emplace_back();
      numbers_[number] = static_cast<int>(conversations_.size());
      newest_number_ = number;
    }
    request->conversation = numbers_[number];
    Conversation& conversation = conversations_[request->conversation - 1];
    if (const std::string tools = StoredText(context, "tools"); !tools.empty()) {
      request->tools = WireTools(ParseStored(tools));
      request->tools_bytes = tools.size();
      conversation.tools = !request->tools.empty();
      conversation.had_tools |= conversation.tools;
    }
    request->aside = !conversation.tools;
    if (goes_on) return false;
    const auto earlier = std::span(conversations_).first(conversations_.size() - 1);
    const bool first = std::none_of(earlier.begin(), earlier.end(), [](const auto& each) { return each.had_tools; });
    const bool same = std::any_of(earlier.begin(), earlier.end(),
                                  [&](const auto& each) { return each.had_tools && each.system == system; });
    request->begins = restart ? "restart" : request->aside ? "aside" : first ? "first" : same ? "changed" : "other";
    conversation.system = system;
    request->system = system;
    return true;
  }

  // Whoever begins a conversation repeats what was said in another one.
  void Begin(WirePart part, RelayedRequest* request) {
    if (opening_.contains(Bare(part.text))) return;
    const bool result = part.kind == WirePart::Kind::kResult;
    const bool again = seen_.contains(Bare(part.text)) || (result && !part.id.empty() && ids_.contains(part.id));
    // A result of an unknown text may still be what the last turn waits for.
    if (result && !seen_.contains(Bare(part.text)) && Place(part, newest_)) return;
    if (again) {
      ++request->repeated;
    } else {
      Tell(std::move(part), request);
    }
  }

  void GoOn(WirePart part, RelayedRequest* request) {
    const std::vector<size_t>& turns = conversations_[request->conversation - 1].turns;
    if (part.kind == WirePart::Kind::kResult && Place(part, turns)) return;
    const bool answer = part.role == "assistant" && !turns.empty();
    if (answer && transcript_.turns[turns.back()].text.find(Bare(part.text)) != std::string::npos) return;
    Tell(std::move(part), request);
  }

  void Tell(WirePart part, RelayedRequest* request) {
    if (part.text.empty()) return;
    seen_.insert(Bare(part.text));
    request->told.emplace_back(std::move(part.role), std::move(part.text));
  }

  // To the first call without a result of the newest of those turns that has one with that id, or with that name.
  bool Place(const WirePart& part, const std::vector<size_t>& turns) {
    constexpr size_t kBack = 8;  // turns; more are of the past
    const size_t most = std::min(turns.size(), kBack);
    for (const bool by_id : {true, false}) {
      const std::string& wanted = by_id ? part.id : part.name;
      if (wanted.empty()) continue;
      for (size_t i = 0; i < most; ++i) {
        for (TranscriptCall& call : transcript_.turns[turns[turns.size() - 1 - i]].calls) {
          if (call.result || (by_id ? call.id : call.name) != wanted) continue;
          call.result = TranscriptResult{part.id, call.name, part.text, part.is_error, std::nullopt};
          seen_.insert(Bare(part.text));
          ids_.insert(call.id);
          ids_.insert(part.id);
          return true;
        }
      }
    }
    return false;
  }

  Transcript& transcript_;
  std::vector<Conversation> conversations_;
  std::map<int, int> numbers_;     // the relay's number of a conversation: its number here
  int newest_number_ = 0;          // the relay's
  int last_ = 0;                   // conversation of the turn before
  std::vector<size_t> newest_;     // turns of all conversations
  std::set<std::string> opening_;  // what the transcript begins with
  std::set<std::string> seen_;     // texts that were told, given or said
  std::set<std::string> ids_;      // of calls that have results
};

}  // namespace

void ReadRelayed(Transcript* transcript) {
  if (!transcript->episode.harness.empty()) RelayedReader(transcript).Read();
}

}  // namespace kb

#include "audit/transcript_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/utf8.h"
#include "generate/call_text.h"
#include "report/text.h"

namespace kb {
namespace {

constexpr size_t kEnds = 3;                                      // turns at either end that are shown first
constexpr size_t kMostMarks = 3;                                 // of a turn; the others are counted
constexpr size_t kMostDetail = 3000;                             // bytes of a turn, without its marks
constexpr size_t kMostMisses = 20;                               // in a row: there is no room for more of a kind
constexpr size_t kGapBytes = 120;                                // of a line about turns that are left out
constexpr size_t kWords = 700, kArguments = 600, kResult = 400;  // bytes of a text in detail
constexpr size_t kMostArgument = 1000;                           // bytes of an argument that is looked at
constexpr TranscriptTextOptions kCallText{.columns = 200};

// A clean text whose lines cannot pass for lines of the digest.
std::string Inside(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
  const std::string clean = CleanText(text.substr(begin, text.find_last_not_of(" \n") + 1 - begin));
  std::string inside;
  for (const char c : clean) inside += c == '\n' ? "\n " : std::string(1, c);
  return inside;
}

// The beginning and the end.
std::string Short(std::string_view text, size_t most) {
  if (text.size() <= most) return Inside(text);
  const std::string_view head = CutUtf8(text, most * 2 / 3);
  size_t tail = text.size() - most / 3;
  while (tail < text.size() && (static_cast<unsigned char>(text[tail]) & 0xC0) == 0x80) ++tail;
  return fmt::format("{} […{} bytes…] {}", Inside(head), tail - head.size(), Inside(text.substr(tail)));
}

// What of a call is shown needs no more of its texts; those of files are only counted.
std::string CallShort(TranscriptCall call) {
  call.result.reset();
  call.arguments = CutUtf8(call.arguments, kMostArgument);
  if (call.parsed.is_object()) {
    for (auto& [key, value] : call.parsed.items()) {
      if (value.is_string() && key != "content") value = Short(value.get_ref<const std::string&>(), kMostArgument);
    }
  }
  return CallText(call, kCallText);
}

std::string JudgeText(const TranscriptTurn& turn) {
  std::string text;
  for (const TurnVerdict& verdict : turn.verdicts) {
    if (verdict.tool == "bash") continue;  // it had a device, and no verdict
    text += fmt::format("judge, {}: {}{}\n", OneLine(verdict.tool, 20),
                        verdict.verdict.empty() ? "told" : OneLine(verdict.verdict, 40),
                        verdict.speedup ? " " + FormatSpeedup(verdict.speedup) : "");
    if (text.size() > 1000) return text + "judge: and more\n";
  }
  return text;
}

std::string FolderText(const TranscriptTurn& turn) {
  std::string text;
  for (const FileChange& file : turn.files) {
    text += fmt::format("{} {} {}", text.empty() ? "folder:" : ",", file.change, OneLine(file.path, 80));
    if (file.added && file.removed) text += fmt::format(" (+{} -{})", *file.added, *file.removed);
    if (text.size() > 600) {
      text += fmt::format(", and more: {} files in all", turn.files.size());
      break;
    }
  }
  return text.empty() ? text : text + "\n";
}

std::string MarkLines(std::span<const TranscriptMark* const> marks) {
  std::string text;
  for (size_t i = 0; i < std::min(marks.size(), kMostMarks); ++i) {
    const TranscriptMark& mark = *marks[i];
    text += fmt::format("! {}{}: {} in: {}\n", ToString(mark.kind),
                        mark.call == 0 ? "" : fmt::format(", call {} ({})", mark.call, mark.tool), mark.word,
                        OneLine(mark.evidence, 240));
  }
  if (marks.size() > kMostMarks) text += fmt::format("! and {} more\n", marks.size() - kMostMarks);
  return text;
}

std::string Heading(const TranscriptTurn& turn) {
  return fmt::format("[turn {}{}]", turn.turn.number, turn.turn.kind == "condense" ? ", it shortens its history" : "");
}

// In a line: the beginning of what was said, which tools were called, what the judge said.
std::string LineOf(const TranscriptTurn& turn) {
  std::string calls;
  for (const TranscriptCall& call : turn.calls) {
    const std::string text = CallShort(call);
    calls += fmt::format("{} {}", calls.empty() ? " calls:" : ";", OneLine(CutUtf8(text, 400), 100));
    if (calls.size() > 200) {
      calls += fmt::format("; {} calls in all", turn.calls.size());
      break;
    }
  }
  return fmt::format("{} {}{}\n{}", Heading(turn), OneLine(CutUtf8(turn.text, 400), 100), calls, JudgeText(turn));
}

std::string DetailOf(const TranscriptTurn& turn) {
  std::string text = Heading(turn) + "\n";
  if (!turn.reasoning.empty()) text += "reasoning: " + Short(turn.reasoning, kWords) + "\n";
  if (!turn.text.empty()) text += "says: " + Short(turn.text, kWords) + "\n";
  size_t shown = 0;
  for (; shown < turn.calls.size() && text.size() < kMostDetail - kArguments - kResult; ++shown) {
    const TranscriptCall& call = turn.calls[shown];
    text += fmt::format("call {}: {}\n", shown + 1, Short(CallShort(call), kArguments));
    if (call.result) {
      text +=
          fmt::format("result{}: {}\n", call.result->is_error ? ", an error" : "", Short(call.result->text, kResult));
    }
  }
  if (turn.calls.size() > shown) text += fmt::format("and {} more calls\n", turn.calls.size() - shown);
  if (!turn.follows.empty()) text += "told: " + Short(turn.follows, kResult / 2) + "\n";
  return text + JudgeText(turn) + FolderText(turn);
}

std::string HeadOf(const Transcript& transcript, std::span<const TranscriptMark> marks) {
  const TranscriptTotals totals = TotalsOf(transcript);
  std::string calls, found;
  for (const auto& [tool, count] : totals.calls) {
    if (calls.size() > 400) break;
    calls += fmt::format("{}{} {}", calls.empty() ? "" : ", ", count, OneLine(tool, 40));
  }
  std::map<MarkKind, int> kinds;
  for (const TranscriptMark& mark : marks) ++kinds[mark.kind];
  for (const auto& [kind, count] : kinds)
    found += fmt::format("{}{} {}", found.empty() ? "" : ", ", count, ToString(kind));
  const Episode& episode = transcript.episode;
  return fmt::format("{} turns; calls: {}; {} of them failed. Marks: {}. It {}.\n", totals.turns,
                     calls.empty() ? "none" : calls, totals.failed_calls, found.empty() ? "none" : found,
                     episode.ended_by.empty()
                         ? "goes on"
                         : fmt::format("ended by {}: {}", OneLine(episode.ended_by, 40), OneLine(episode.ending, 200)));
}

// 0 … count - 1, each prefix of which lies evenly: the indices by their bits in reverse.
std::vector<size_t> Spread(size_t count) {
  std::vector<size_t> order;
  size_t size = 1;
  while (size < count) size *= 2;
  for (size_t i = 0; i < size; ++i) {
    size_t reversed = 0;
    for (size_t bit = 1; bit < size; bit *= 2) reversed = reversed * 2 + ((i & bit) != 0);
    if (reversed < count) order.push_back(reversed);
  }
  return order;
}

class Digest {
 public:
  Digest(const Transcript& transcript, std::span<const TranscriptMark> marks, size_t most)
      : turns_(transcript.turns), most_(most), lines_(turns_.size()), details_(turns_.size()), shown_(turns_.size()) {
    std::map<int, std::vector<const TranscriptMark*>> by_turn;
    for (const TranscriptMark& mark : marks) by_turn[mark.turn].push_back(&mark);
    for (const TranscriptTurn& turn : turns_) marks_.push_back(MarksOfTurn(std::move(by_turn[turn.turn.number])));
    head_ = HeadOf(transcript, marks);
    used_ = head_.size() + kGapBytes;
  }

  std::string Text() {
    const auto end = [&](size_t i) { return i < kEnds || i + kEnds >= turns_.size(); };
    const auto seen = [&](size_t i) { return marks_[i].worst < MarkKind::kIntent; };
    const auto meant = [&](size_t i) { return marks_[i].rare; };
    const auto any = [](size_t) { return true; };
    Show(end, true);
    Show(end, false);
    Show(seen, false);
    Show(meant, false);
    Show([&](size_t i) { return !turns_[i].verdicts.empty(); }, false);
    Show([&](size_t i) { return !marks_[i].lines.empty(); }, false);
    Show(any, false);
    Show(seen, true);
    Show(meant, true);
    Show(any, true);
    return Write();
  }

 private:
  struct TurnMarks {
    std::string lines;
    MarkKind worst = MarkKind::kIntent;
    bool rare = false;  // an intent that is not every kernel's
  };

  static TurnMarks MarksOfTurn(std::vector<const TranscriptMark*> marks) {
    std::stable_sort(marks.begin(), marks.end(), [](const auto* a, const auto* b) { return a->kind < b->kind; });
    TurnMarks of;
    if (!marks.empty()) of.worst = marks.front()->kind;
    of.rare = std::any_of(marks.begin(), marks.end(), [](const auto* mark) { return mark->word != "cache"; });
    of.lines = MarkLines(marks);
    return of;
  }

  // Those of the turns for which there is room.
  template <typename Which>
  void Show(Which which, bool detail) {
    size_t misses = 0;
    for (const size_t i : Spread(turns_.size())) {
      if (!which(i) || (!detail && !shown_[i].empty())) continue;
      if (misses == kMostMisses) return;
      std::string& text = (detail ? details_ : lines_)[i];
      if (text.empty()) text = (detail ? DetailOf(turns_[i]) : LineOf(turns_[i])) + marks_[i].lines;
      const size_t gap = shown_[i].empty() ? kGapBytes : 0;
      if (used_ - shown_[i].size() + text.size() + gap > most_) {
        ++misses;
        continue;
      }
      misses = 0;
      used_ = used_ - shown_[i].size() + text.size() + gap;
      shown_[i] = text;
    }
  }

  std::string Write() const {
    std::string text = head_;
    for (size_t i = 0; i < turns_.size(); ++i) {
      if (!shown_[i].empty()) {
        text += shown_[i];
        continue;
      }
      size_t last = i, calls = turns_[i].calls.size();
      while (last + 1 < turns_.size() && shown_[last + 1].empty()) calls += turns_[++last].calls.size();
      text += fmt::format("[left out: turns {} to {}, with {} calls]\n", turns_[i].turn.number,
                          turns_[last].turn.number, calls);
      i = last;
    }
    return text;
  }

  const std::vector<TranscriptTurn>& turns_;
  const size_t most_;
  std::vector<TurnMarks> marks_;
  std::vector<std::string> lines_, details_, shown_;  // of each turn; empty: not made, not shown
  std::string head_;
  size_t used_ = 0;
};

}  // namespace

std::string DigestOf(const Transcript& transcript, std::span<const TranscriptMark> marks, size_t most) {
  return Digest(transcript, marks, most).Text();
}

}  // namespace kb

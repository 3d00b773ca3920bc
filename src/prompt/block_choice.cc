#include "prompt/block_choice.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string_view>

#include "prompt/code_parts.h"

namespace kb {
namespace {

constexpr size_t kMostParts = 64;        // of one file
constexpr size_t kMostParsed = 200'000;  // characters of one answer whose parts are looked at
constexpr size_t kLeastParsed = 400;     // as which a shorter block counts

// `word`: in all that matches.
bool Matches(const std::string& text, std::string_view word, const std::regex& pattern) {
  if (text.find(word) == std::string::npos) return false;
  // Line by line: std::regex recurses, and a line of a megabyte would take the stack with it.
  for (const std::string_view line : SplitLines(text)) {
    if (line.size() >= 4096 || line.find(word) == std::string_view::npos) continue;
    if (std::regex_search(line.begin(), line.end(), pattern)) return true;
  }
  return false;
}

// int kb_forward(...) with a body; a declaration alone ends with a semicolon.
bool DefinesForward(const std::string& text) {
  static const std::regex kName(R"(\bkb_forward\s*\()");
  if (!Matches(text, "kb_forward", kName)) return false;
  size_t close = 0;  // may be that of many
  for (size_t at = 0; (at = text.find("kb_forward", at)) != std::string::npos; at += 10) {
    const size_t open = text.find_first_not_of(" \t\n", at + 10);
    if (open == std::string::npos || text[open] != '(' || open < close) continue;
    close = text.find(')', open);
    if (close == std::string::npos) return false;
    const size_t next = text.find_first_not_of(" \t\n", close + 1);
    if (next != std::string::npos && (text[next] == '{' || text.compare(next, 8, "noexcept") == 0)) return true;
  }
  return false;
}

bool LeavesOut(const std::string& text) {
  static const std::regex kLeftOut(R"(^\s*(#|//)\s*(\.\.\.|…))");
  return Matches(text, "...", kLeftOut) || Matches(text, "…", kLeftOut);
}

// Whether it can be a whole file: fragments ("the rest as before") follow a full version in many answers.
bool StandsAlone(const std::string& text, const Target& target) {
  if (LeavesOut(text)) return false;
  if (target.backend == Backend::kNative) return text.find("kernelbench/kernel.h") != std::string::npos;
  static const std::regex kImport(R"(^(import|from)\s+torch\b)");
  return Matches(text, "torch", kImport);
}

std::string Trimmed(const std::string& text) { return text.substr(0, text.find_last_not_of(" \t\n") + 1) + "\n"; }

// The blocks as one file. Python wants imports of __future__ before everything else.
std::string Concatenated(const std::vector<std::string>& texts) {
  if (texts.size() == 1) return texts[0];
  std::string future, rest;
  for (const std::string& text : texts) {
    if (!rest.empty()) rest += "\n\n";
    std::string kept;
    for (const std::string_view line : SplitLines(text)) {
      std::string& place = line.starts_with("from __future__ import") ? future : kept;
      place += line;
      place += '\n';
    }
    rest += Trimmed(kept);
  }
  return future + rest;
}

class BlockChooser {
 public:
  BlockChooser(const std::vector<CodeBlock>& blocks, const Target& target, bool open)
      : blocks_(blocks), target_(target), open_(open), parts_(blocks.size()) {
    size_t left = blocks.size() > 1 ? kMostParsed : 0;  // one alone is taken as it is
    ParseBudget budget(left);
    for (size_t i = 0; i < blocks.size(); ++i) {
      texts_.push_back(WithoutFileName(blocks[i].text));
      if (!IsOurs(blocks[i]) || texts_[i].find_first_not_of(" \t\n") == std::string::npos) continue;
      if (texts_[i].size() > left) continue;
      left -= std::min(left, std::max(texts_[i].size(), kLeastParsed));
      parts_[i] = Native() ? PartsOfCpp(texts_[i], &budget) : PartsOfPython(texts_[i], &budget);
      if (!CanProvide(i)) continue;
      for (const std::string& name : parts_[i].defines) providers_[name].push_back(i);
    }
  }

  std::optional<BlockChoice> Choose() const {
    std::optional<size_t> best;
    int best_rank = -1;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (!(blocks_[i].closed || open_) || !DefinesEntryPoint(texts_[i], target_)) continue;
      const int rank = Rank(i);
      if (rank < best_rank) continue;
      best = i;
      best_rank = rank;
    }
    if (!best) return std::nullopt;
    return BlockChoice{Joined(Group(*best)), *best, IsSketch(*best)};
  }

 private:
  // A block and those that it needs, in the order in which they make up a file.
  struct Blocks {
    std::vector<size_t> order;
    bool complete = true;  // no name is left that nobody defines
  };

  bool Native() const { return target_.backend == Backend::kNative; }

  // In the language that is asked for, as far as its fence tells.
  bool IsOurs(const CodeBlock& block) const {
    return IsCpp(block.info) == Native() || (Native() && block.info.empty());
  }

  // Prose and shell commands define nothing, fragments leave out what they define, and an example of use runs it.
  bool CanProvide(size_t i) const {
    const bool last_and_open = !blocks_[i].closed && i + 1 == blocks_.size();
    const bool is_code = !parts_[i].broken || (Native() && IsCpp(blocks_[i].info));
    const std::string entry(EntryPoint(target_));
    const bool twice = Native() && parts_[i].defines.contains(entry);  // which Python allows
    return is_code && !last_and_open && !twice && !LeavesOut(texts_[i]) && !parts_[i].needs.contains(entry);
  }

  bool IsSketch(size_t i) const {
    const CodeParts& parts = parts_[i];
    const std::string entry(EntryPoint(target_));
    if (parts.sketched_classes.contains(entry) || parts.sketched_functions.contains(entry)) return true;
    return !Native() && std::any_of(parts.sketched_functions.begin(), parts.sketched_functions.end(),
                                    [&](const std::string& name) { return parts.uses.contains(name); });
  }

  int Rank(size_t i) const {
    int rank = IsSketch(i) ? 0 : 4;
    if (StandsAlone(texts_[i], target_)) return rank + 2;
    const Blocks group = Group(i);
    return rank + (group.complete && StandsAlone(Joined(group), target_) ? 1 : 0);
  }

  bool IsSketched(size_t i, const std::string& name) const {
    return parts_[i].sketched_functions.contains(name) || parts_[i].sketched_classes.contains(name);
  }

  // The nearest block before `at` that defines the name, else the nearest after it; a sketch only if there is no other.
  std::optional<size_t> ProviderOf(const std::string& name, size_t at) const {
    const auto found = providers_.find(name);
    if (found == providers_.end()) return std::nullopt;
    for (const bool sketch : {false, true}) {
      std::optional<size_t> before, after;
      for (const size_t i : found->second) {
        if (i == at || IsSketched(i, name) != sketch) continue;
        if (i < at) before = i;
        if (i > at && !after) after = i;
      }
      if (before || after) return before ? before : after;
    }
    return std::nullopt;
  }

  Blocks Group(size_t chosen) const {
    Blocks group;
    std::set<size_t> picked = {chosen};
    std::set<std::string> asked;
    std::vector<size_t> open = {chosen};
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      for (const std::string& name : parts_[at].needs) {
        if (parts_[chosen].defines.contains(name) || !asked.insert(name).second) continue;
        const auto provider = ProviderOf(name, at);
        if (!provider || picked.size() == kMostParts) {
          group.complete &= Native();  // headers bring names of their own
        } else if (picked.insert(*provider).second) {
          open.push_back(*provider);
        }
      }
    }
    picked.erase(chosen);
    group.order.assign(picked.begin(), picked.end());
    group.order.push_back(chosen);
    return group;
  }

  std::string Joined(const Blocks& group) const {
    std::vector<std::string> texts;
    for (const size_t i : group.order) texts.push_back(texts_[i]);
    return Concatenated(texts);
  }

  const std::vector<CodeBlock>& blocks_;
  Target target_;
  bool open_;
  std::vector<std::string> texts_;
  std::vector<CodeParts> parts_;
  std::map<std::string, std::vector<size_t>> providers_;  // by name, in order
};

}  // namespace

std::optional<BlockChoice> ChooseBlocks(const std::vector<CodeBlock>& blocks, const Target& target, bool open) {
  return BlockChooser(blocks, target, open).Choose();
}

bool DefinesEntryPoint(const std::string& text, const Target& target) {
  static const std::regex kClass(R"(^(class\s+ModelNew\b|ModelNew\s*=[^=]))");
  return target.backend == Backend::kNative ? DefinesForward(text) : Matches(text, "ModelNew", kClass);
}

std::string WithoutFileName(const std::string& text) {
  static const std::regex kName(R"(^[\w./-]+\.(py|cpp|cc|cu|cuh|h)\s*$)");
  const std::string first = text.substr(0, text.find('\n'));
  if (first.size() > 200 || first.find('.') == std::string::npos || !std::regex_match(first, kName)) return text;
  return text.substr(std::min(first.size() + 1, text.size()));
}

}  // namespace kb

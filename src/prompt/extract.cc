#include "prompt/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <vector>

#include "base/json_shape.h"
#include "prompt/block_choice.h"
#include "prompt/code_blocks.h"
#include "prompt/code_parts.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr int kDeepestJson = 3;  // {"files": [{"content": "..."}]}

// Line ends as \n, without a byte order mark.
std::string WithPlainLineEnds(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      plain += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      plain += '\n';
    }
  }
  return plain;
}

// The answer without its reasoning; nothing if it ends inside it.
std::optional<std::string> WithoutReasoning(std::string text) {
  for (const std::string_view tag : {"think", "thinking", "reasoning", "scratchpad"}) {
    const std::string open = fmt::format("<{}>", tag), close = fmt::format("</{}>", tag);
    std::string kept;
    size_t at = 0;
    bool mentioned = false;  // within a line
    for (size_t begin = 0; (begin = text.find(open, at)) != std::string::npos;) {
      kept.append(text, at, begin - at);
      if (!kept.empty() && kept.back() != '\n') {
        kept += open;
        at = begin + open.size();
        mentioned = true;
        continue;
      }
      const size_t end = text.find(close, begin);
      if (end == std::string::npos) return std::nullopt;
      at = end + close.size();
    }
    kept.append(text, at);
    // Servers that put the opening tag into the prompt send only the closing one.
    const size_t stray = mentioned ? std::string::npos : kept.find(close);
    if (stray != std::string::npos) kept.erase(0, stray + close.size());
    text = std::move(kept);
  }
  return text;
}

class Extractor {
 public:
  Extractor(const Target& target, bool cut_off) : target_(target), cut_off_(cut_off) {}

  Extraction Extract(std::string_view answer) {
    const std::string plain = WithPlainLineEnds(answer);
    auto text = WithoutReasoning(plain);
    if (!text) {  // never closed: either it went on to the limit, or the closing tag was forgotten
      const auto found = cut_off_ ? std::nullopt : FromFences(CodeBlocks(plain));
      if (found && found->ok()) return *found;
      return End(ExtractOutcome::kTruncated, "", "", "the answer ends inside its reasoning");
    }
    if (auto found = FromJson(*text)) return *found;
    const std::vector<CodeBlock> fenced = CodeBlocks(*text);
    if (auto found = FromFences(fenced)) return *found;
    if (auto found = FromPlainText(*text)) return *found;
    return Nothing(fenced, *text);
  }

 private:
  Extraction End(ExtractOutcome outcome, std::string source, std::string how, std::string reason) const {
    return {outcome, std::move(source), std::string(FileExtension(target_)), std::move(how), std::move(reason)};
  }

  // A string anywhere in an object that holds a candidate, itself perhaps between fences.
  std::optional<std::string> SourceIn(const json& value, int depth) const {
    if (value.is_string()) {
      const std::string text = WithPlainLineEnds(value.get<std::string>());
      if (const auto fenced = ChooseBlocks(CodeBlocks(text), target_, false)) return fenced->source;
      return DefinesEntryPoint(text, target_) ? std::optional(text) : std::nullopt;
    }
    if (!value.is_structured() || depth == kDeepestJson) return std::nullopt;
    std::optional<std::string> found;
    for (const json& each : value) {
      if (auto source = SourceIn(each, depth + 1)) found = std::move(source);
    }
    return found;
  }

  std::optional<Extraction> FromJson(const std::string& text) const {
    std::vector<std::string> places = {text};
    for (const CodeBlock& block : CodeBlocks(text)) {
      if (block.closed && (block.info.empty() || block.info.starts_with("json"))) places.push_back(block.text);
    }
    for (const std::string& place : places) {
      const size_t first = place.find_first_not_of(" \t\n");
      if (first == std::string::npos || place[first] != '{') continue;
      const json parsed = CheckShape(place) ? json::parse(place, nullptr, false) : json(json::value_t::discarded);
      if (auto source = parsed.is_object() ? SourceIn(parsed, 0) : std::nullopt) {
        if (!source->ends_with('\n')) *source += '\n';
        return End(ExtractOutcome::kFound, *source, "json", "");
      }
      // An object that was begun: a line of Python that begins with a brace has no key in double quotes after it, and
      // line ends are escaped in no other text.
      static const std::regex kBegun(R"re(^\{\s*"[\w ]+"\s*:\s*)re");
      const std::string beginning = place.substr(first, 200);
      if (parsed.is_discarded() && place.find(EntryPoint(target_)) != std::string::npos &&
          place.find("\\n") != std::string::npos && std::regex_search(beginning, kBegun)) {
        return End(ExtractOutcome::kTruncated, "", "json", "the answer is a JSON object that ends before its end");
      }
    }
    return std::nullopt;
  }

  std::optional<Extraction> FromFences(const std::vector<CodeBlock>& blocks) const {
    const bool cut = !blocks.empty() && !blocks.back().closed;
    const auto closed = ChooseBlocks(blocks, target_, false);
    // A sketch that the answer's end follows in the middle of code may be what that code was to fill in.
    if (closed && !(closed->sketch && cut)) return End(ExtractOutcome::kFound, closed->source, "fence", "");
    if (cut) {
      return End(ExtractOutcome::kTruncated, WithoutFileName(blocks.back().text), "fence",
                 "the answer ends inside its code: the last fence is never closed");
    }
    const auto any = ChooseBlocks(blocks, target_, true);  // closed by the next one's opening fence
    return any ? std::optional(End(ExtractOutcome::kFound, any->source, "fence", "")) : std::nullopt;
  }

  std::optional<Extraction> FromPlainText(const std::string& text) const {
    const std::vector<CodeBlock> blocks = UnfencedBlocks(text, target_.backend != Backend::kNative);
    const auto found = ChooseBlocks(blocks, target_, true);
    if (!found) return std::nullopt;
    const CodeBlock& block = blocks[found->block];
    if (!block.closed && (cut_off_ || (target_.backend != Backend::kNative && EndsInsidePythonString(block.text)))) {
      return End(ExtractOutcome::kTruncated, block.text, "unfenced", "the answer ends inside its code");
    }
    return End(ExtractOutcome::kFound, found->source, "unfenced", "");
  }

  Extraction Nothing(const std::vector<CodeBlock>& fenced, const std::string& text) const {
    const Target other{target_.backend == Backend::kNative ? Backend::kCuda : Backend::kNative, target_.gpu};
    std::string longest;
    bool other_kind = false;
    for (const CodeBlock& block : fenced) {
      if (block.text.size() > longest.size()) longest = block.text;
      other_kind = other_kind || DefinesEntryPoint(block.text, other);
    }
    for (const bool python : {true, false}) {
      for (const CodeBlock& block : UnfencedBlocks(text, python))
        other_kind = other_kind || DefinesEntryPoint(block.text, other);
    }
    if (longest.empty() && !other_kind) {
      return End(ExtractOutcome::kNoCode, "", "", fmt::format("the answer holds no code; {} was asked for", Wanted()));
    }
    return End(ExtractOutcome::kNoEntryPoint, longest, "",
               other_kind ? fmt::format("the code defines {}, but {} was asked for", EntryPoint(other), Wanted())
                          : fmt::format("no block of code defines {}", EntryPoint(target_)));
  }

  std::string Wanted() const {
    return target_.backend == Backend::kNative
               ? fmt::format("a {} file with kb_forward()", FileExtension(target_).substr(1))
               : "a Python file with a class ModelNew";
  }

  Target target_;
  bool cut_off_;
};

}  // namespace

std::string_view ToString(ExtractOutcome outcome) {
  constexpr std::string_view kNames[] = {"found", "no_code", "no_entry_point", "truncated"};
  return kNames[static_cast<size_t>(outcome)];
}

Extraction ExtractCode(std::string_view answer, const Target& target, bool cut_off) {
  return Extractor(target, cut_off).Extract(answer);
}

std::optional<std::string> CodeOfAnswer(const std::string& text, std::string_view extension) {
  if (!HoldsFences(WithPlainLineEnds(text))) return std::nullopt;
  const Target target{extension == ".py" ? Backend::kCuda : Backend::kNative, extension == ".cu"};
  ParseBudget budget(text.size());
  const CodeParts parts = extension == ".py" ? PartsOfPython(text, &budget) : PartsOfCpp(text, &budget);
  Extraction found = parts.broken ? ExtractCode(text, target) : Extraction();
  return found.ok() ? std::optional(std::move(found.source)) : std::nullopt;
}

}  // namespace kb

#include "judge/static/static_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "judge/static/native_rules.h"
#include "judge/static/python_rules.h"
#include "judge/static/syntax.h"

namespace kb {
namespace {

constexpr size_t kLongestExcerpt = 120;
constexpr int kMostOfARule = 100;      // lines that one rule may name
constexpr int kDeepestStrings = 3;     // exec("exec('...')")
constexpr size_t kMostEmbedded = 200;  // texts of one file
constexpr const char* kTooInvolved = "the files together are too involved to be analysed";
constexpr const char* kGivenUp = "it is too long or too involved to be analysed";

const char* LanguageName(Grammar grammar) {
  return grammar == Grammar::kPython ? "python" : grammar == Grammar::kCuda ? "cuda" : "cpp";
}

Grammar GrammarOf(SourceKind kind) {
  return kind == SourceKind::kPython ? Grammar::kPython : kind == SourceKind::kCpp ? Grammar::kCpp : Grammar::kCuda;
}

class Analysis {
 public:
  Analysis(const std::vector<StaticSource>& sources, const StaticOptions& options) : options_(options), budget_(0) {
    for (const StaticSource& source : sources) files_.push_back({source, LineIndex(source.text)});
  }

  std::vector<StaticFinding> Run() {
    std::vector<uint32_t> origin;  // empty: the file itself
    const int64_t end_ns = ProcessorTimeNs() + kMostAnalysisNs;
    for (at_ = 0; at_ < files_.size(); ++at_) {
      if (ProcessorTimeNs() > end_ns) {
        Add({"too_involved", 0, kTooInvolved}, 0, GrammarOf(file().kind), "");
        break;
      }
      budget_ = ParseBudget(file().text.size());
      embedded_ = 0;
      Analyse(file().text, GrammarOf(file().kind), origin, 0);
    }
    at_ = model_file_;
    if (auto lacking = CheckBackend(options_.backend, kernels_); lacking && !given_up_ && !files_.empty()) {
      Add(*lacking, model_byte_, GrammarOf(file().kind), "");
    }
    return Sorted();
  }

 private:
  struct File {
    const StaticSource& source;
    LineIndex lines;
  };

  const StaticSource& file() const { return files_[at_].source; }
  const LineIndex& lines() const { return files_[at_].lines; }

  void Analyse(const std::string& text, Grammar grammar, const std::vector<uint32_t>& origin, int depth) {
    const auto place = [&](size_t byte) { return origin.empty() ? byte : origin[std::min(byte, origin.size() - 1)]; };
    const std::string where = origin.empty() ? "" : fmt::format("string at line {}", lines().At(origin[0]).line);
    const SyntaxTree tree(text, grammar, &budget_);
    if (!tree.complete()) {
      given_up_ = true;
      return Add({"not_analysed", 0, kGivenUp}, place(0), grammar, where);
    }
    if (grammar != Grammar::kPython) {
      NativeResult native = CheckNative(tree);
      kernels_.Add(native.kernels);
      for (const RuleHit& hit : native.hits) Add(hit, place(hit.byte), grammar, where);
      return;
    }
    PythonResult python = CheckPython(tree);
    kernels_.Add(python.kernels);
    if (python.model_byte > 0 && origin.empty() && model_byte_ == 0) {
      model_byte_ = python.model_byte;
      model_file_ = at_;
    }
    for (const RuleHit& hit : python.hits) Add(hit, place(hit.byte), grammar, where);
    for (EmbeddedSource& each : python.sources) {
      if (depth == kDeepestStrings || ++embedded_ > kMostEmbedded) {
        Add({"not_analysed", 0, kGivenUp}, place(each.source.origin[0]), each.grammar, where);
        return;
      }
      for (uint32_t& byte : each.source.origin) byte = static_cast<uint32_t>(place(byte));
      Analyse(each.source.text, each.grammar, each.source.origin, depth + 1);
    }
  }

  void Add(const RuleHit& hit, size_t byte, Grammar grammar, const std::string& where) {
    const auto named = options_.severities.find(hit.rule);
    const auto severity = named == options_.severities.end() ? std::nullopt : SeverityFromName(named->second);
    if (!severity || *severity == Severity::kOff) return;
    // A problem in fp16 or bf16 asks for what these rules would call narrow.
    if (hit.rule == "precision_downgrade" && options_.precision != "fp32") return;
    const Place place = lines().At(byte);
    if (count_[hit.rule] == kMostOfARule || !seen_.insert({at_, hit.rule, place.line}).second) return;
    ++count_[hit.rule];
    findings_.push_back({file().file, hit.rule, *severity, place.line, place.column, hit.reason, Excerpt(place.line),
                         LanguageName(grammar), where});
  }

  std::string Excerpt(int line) const {
    std::string_view text = lines().Line(line);
    const size_t begin = text.find_first_not_of(" \t");
    text = begin == std::string_view::npos ? "" : text.substr(begin);
    text = text.substr(0, text.find_last_not_of(" \t\r") + 1);
    return std::string(text.substr(0, kLongestExcerpt));
  }

  std::vector<StaticFinding> Sorted() {
    std::stable_sort(findings_.begin(), findings_.end(), [](const StaticFinding& a, const StaticFinding& b) {
      return std::tie(a.file, a.line, a.column, a.rule) < std::tie(b.file, b.line, b.column, b.rule);
    });
    return std::move(findings_);
  }

  std::vector<File> files_;
  size_t at_ = 0, model_file_ = 0;  // the file that is analysed, and the one that defines ModelNew
  const StaticOptions& options_;
  ParseBudget budget_;  // of the file, so that none hides another
  KernelFacts kernels_;
  size_t model_byte_ = 0, embedded_ = 0;
  bool given_up_ = false;
  std::set<std::tuple<size_t, std::string, int>> seen_;
  std::map<std::string, int> count_;
  std::vector<StaticFinding> findings_;
};

}  // namespace

std::vector<StaticFinding> StaticCheck(const std::vector<StaticSource>& sources, const StaticOptions& options) {
  return Analysis(sources, options).Run();
}

const StaticFinding* FirstError(const std::vector<StaticFinding>& findings) {
  const auto at = std::find_if(findings.begin(), findings.end(),
                               [](const StaticFinding& each) { return each.severity == Severity::kError; });
  return at == findings.end() ? nullptr : &*at;
}

std::string StaticSentence(const StaticFinding& finding) {
  return fmt::format("static: {}, {}{}line {}: {}", finding.rule, finding.file, finding.file.empty() ? "" : ", ",
                     finding.line, finding.reason);
}

std::vector<std::string> StaticNotes(const std::vector<StaticFinding>& findings) {
  std::vector<std::string> notes;
  std::set<std::string> said;
  for (const StaticFinding& each : findings) {
    if (each.severity != Severity::kWarning || !said.insert(each.rule).second) continue;
    const auto more = std::count_if(findings.begin(), findings.end(),
                                    [&](const StaticFinding& other) { return other.rule == each.rule; }) -
                      1;
    notes.push_back(StaticSentence(each) + (more > 0 ? fmt::format(" (and on {} more lines)", more) : ""));
  }
  return notes;
}

nlohmann::json StaticFindingsJson(const std::vector<StaticFinding>& findings) {
  nlohmann::json all = nlohmann::json::array();
  for (const StaticFinding& each : findings) {
    all.push_back({{"rule", each.rule},
                   {"severity", SeverityName(each.severity)},
                   {"line", each.line},
                   {"column", each.column},
                   {"reason", each.reason},
                   {"excerpt", each.excerpt},
                   {"language", each.language},
                   {"where", each.where}});
    if (!each.file.empty()) all.back()["file"] = each.file;
  }
  return all;
}

}  // namespace kb

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
constexpr const char* kGivenUp = "it is too long or too involved to be analysed";

const char* LanguageName(Grammar grammar) {
  return grammar == Grammar::kPython ? "python" : grammar == Grammar::kCuda ? "cuda" : "cpp";
}

class Analysis {
 public:
  Analysis(const std::string& source, const StaticOptions& options)
      : file_(source), lines_(source), options_(options), budget_(source.size()) {}

  std::vector<StaticFinding> Run(Grammar grammar) {
    std::vector<uint32_t> origin;  // empty: the file itself
    Analyse(file_, grammar, origin, 0);
    if (auto lacking = CheckBackend(options_.backend, kernels_); lacking && !given_up_) {
      Add(*lacking, model_byte_, grammar, "");
    }
    return Sorted();
  }

 private:
  void Analyse(const std::string& text, Grammar grammar, const std::vector<uint32_t>& origin, int depth) {
    const auto place = [&](size_t byte) { return origin.empty() ? byte : origin[std::min(byte, origin.size() - 1)]; };
    const std::string where = origin.empty() ? "" : fmt::format("string at line {}", lines_.At(origin[0]).line);
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
    if (python.model_byte > 0 && origin.empty()) model_byte_ = python.model_byte;
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
    const Place place = lines_.At(byte);
    if (count_[hit.rule] == kMostOfARule || !seen_.insert({hit.rule, place.line}).second) return;
    ++count_[hit.rule];
    findings_.push_back(
        {hit.rule, *severity, place.line, place.column, hit.reason, Excerpt(place.line), LanguageName(grammar), where});
  }

  std::string Excerpt(int line) const {
    std::string_view text = lines_.Line(line);
    const size_t begin = text.find_first_not_of(" \t");
    text = begin == std::string_view::npos ? "" : text.substr(begin);
    text = text.substr(0, text.find_last_not_of(" \t\r") + 1);
    return std::string(text.substr(0, kLongestExcerpt));
  }

  std::vector<StaticFinding> Sorted() {
    std::stable_sort(findings_.begin(), findings_.end(), [](const StaticFinding& a, const StaticFinding& b) {
      return std::tie(a.line, a.column, a.rule) < std::tie(b.line, b.column, b.rule);
    });
    return std::move(findings_);
  }

  const std::string& file_;
  const LineIndex lines_;
  const StaticOptions& options_;
  ParseBudget budget_;
  KernelFacts kernels_;
  size_t model_byte_ = 0, embedded_ = 0;
  bool given_up_ = false;
  std::set<std::pair<std::string, int>> seen_;
  std::map<std::string, int> count_;
  std::vector<StaticFinding> findings_;
};

}  // namespace

std::vector<StaticFinding> StaticCheck(const std::string& source, SourceKind kind, const StaticOptions& options) {
  return Analysis(source, options)
      .Run(kind == SourceKind::kPython ? Grammar::kPython
           : kind == SourceKind::kCpp  ? Grammar::kCpp
                                       : Grammar::kCuda);
}

const StaticFinding* FirstError(const std::vector<StaticFinding>& findings) {
  const auto at = std::find_if(findings.begin(), findings.end(),
                               [](const StaticFinding& each) { return each.severity == Severity::kError; });
  return at == findings.end() ? nullptr : &*at;
}

std::vector<std::string> StaticNotes(const std::vector<StaticFinding>& findings) {
  std::vector<std::string> notes;
  std::set<std::string> said;
  for (const StaticFinding& each : findings) {
    if (each.severity != Severity::kWarning || !said.insert(each.rule).second) continue;
    const auto more = std::count_if(findings.begin(), findings.end(),
                                    [&](const StaticFinding& other) { return other.rule == each.rule; }) -
                      1;
    notes.push_back(fmt::format("static: {}, line {}: {}{}", each.rule, each.line, each.reason,
                                more > 0 ? fmt::format(" (and on {} more lines)", more) : ""));
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
  }
  return all;
}

}  // namespace kb

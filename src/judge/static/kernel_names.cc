#include "judge/static/kernel_names.h"

#include <algorithm>

#include "judge/static/native_rules.h"
#include "judge/static/python_rules.h"
#include "judge/static/syntax.h"

namespace kb {
namespace {

constexpr size_t kMostNames = 1000;
constexpr size_t kMostTexts = 200;  // texts of one file

void Add(const std::vector<std::string>& found, std::set<std::string>* names) {
  for (const std::string& name : found) {
    if (!name.empty() && names->size() < kMostNames) names->insert(name);
  }
}

void AddNative(const std::string& text, Grammar grammar, ParseBudget* budget, std::set<std::string>* names) {
  const SyntaxTree tree(text, grammar, budget);
  if (tree.complete()) Add(CheckNative(tree).kernel_names, names);
}

void AddPython(const std::string& text, ParseBudget* budget, std::set<std::string>* names) {
  const SyntaxTree tree(text, Grammar::kPython, budget);
  if (!tree.complete()) return;
  PythonResult python = CheckPython(tree);
  Add(python.kernel_names, names);
  python.sources.resize(std::min(python.sources.size(), kMostTexts));
  for (const EmbeddedSource& each : python.sources) {
    if (each.grammar != Grammar::kPython) AddNative(each.source.text, each.grammar, budget, names);
  }
}

}  // namespace

std::set<std::string> KernelNames(const std::vector<StaticSource>& sources) {
  std::set<std::string> names;
  const int64_t end_ns = ProcessorTimeNs() + kMostAnalysisNs;
  for (const auto& [text, kind, file] : sources) {
    if (ProcessorTimeNs() > end_ns) break;
    ParseBudget budget(text.size());
    if (kind == SourceKind::kPython) {
      AddPython(text, &budget, &names);
    } else {
      AddNative(text, kind == SourceKind::kCuda ? Grammar::kCuda : Grammar::kCpp, &budget, &names);
    }
  }
  return names;
}

}  // namespace kb

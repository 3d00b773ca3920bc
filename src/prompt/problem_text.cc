#include "prompt/problem_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "judge/problem/metadata.h"
#include "judge/static/syntax.h"

namespace kb {
namespace {

using nlohmann::ordered_json;

// What docs/reference/problems.md lists for the judge.
constexpr std::string_view kForTheJudge[] = {"SIZES",      "FAMILY",          "DISTRIBUTIONS",
                                             "PRECISIONS", "NEEDS_TORCH_RNG", "ERRORS_WANDER",
                                             "COLLAPSES",  "UNSCORED",        "FACTS_DIFFER"};

std::string PythonLiteral(const ordered_json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (!value.is_array()) return value.dump();
  std::vector<std::string> items;
  for (const ordered_json& item : value) items.push_back(PythonLiteral(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

struct Edit {
  size_t begin, end;
  std::string text;
};

// The assignment that a top-level statement is; -1 if it is another one.
int AssignmentOf(const SyntaxTree& tree, int statement) {
  if (!tree.Is(statement, "expression_statement")) return -1;
  const std::vector<int> parts = tree.NamedChildren(statement);
  if (parts.size() != 1 || !tree.Is(parts[0], "assignment")) return -1;
  return tree.Is(tree.Child(parts[0], "left"), "identifier") ? parts[0] : -1;
}

// From `begin` to the end of the line, line end included, if nothing but a comment follows.
size_t EndOfLine(const std::string& text, size_t end) {
  const size_t next = text.find_first_not_of(" \t", end);
  if (next == std::string::npos) return text.size();
  if (text[next] != '\n' && text[next] != '#') return end;
  return std::min(text.find('\n', next), text.size() - 1) + 1;
}

bool IsCommentAt(const std::string& text, size_t line) { return line < text.size() && text[line] == '#'; }

// A statement with its line end and the comments that touch it: what they say is said of it.
Edit RemovalOf(const std::string& text, const SyntaxNode& node) {
  size_t begin = node.begin, end = EndOfLine(text, node.end);
  while (begin >= 2) {
    const size_t above = text.rfind('\n', begin - 2) + 1;  // npos + 1 is the first line
    if (!IsCommentAt(text, above)) break;
    begin = above;
  }
  while (IsCommentAt(text, end)) end = EndOfLine(text, end);
  return {begin, end, ""};
}

bool UsesName(const SyntaxTree& tree, int node, std::string_view name) {
  const SyntaxNode& outer = tree[node];
  return std::any_of(tree.nodes().begin(), tree.nodes().end(), [&](const SyntaxNode& inner) {
    return inner.begin >= outer.begin && inner.end <= outer.end && inner.type == "identifier" &&
           std::string_view(tree.text()).substr(inner.begin, inner.end - inner.begin) == name;
  });
}

// Whether another constant is computed from this one when the file is loaded: it keeps its value then, since a size
// changes constants afterwards.
bool OthersDependOn(const SyntaxTree& tree, std::string_view name) {
  for (const int statement : tree.NamedChildren(0)) {
    const int assignment = AssignmentOf(tree, statement);
    if (assignment >= 0 && UsesName(tree, tree.Child(assignment, "right"), name)) return true;
  }
  return false;
}

std::string Apply(const std::string& text, const std::vector<Edit>& edits) {
  std::string out;
  size_t at = 0;
  for (const Edit& edit : edits) {
    const size_t begin = std::max(edit.begin, at);  // a comment between two may belong to both
    out += text.substr(at, begin - at) + edit.text;
    at = std::max(edit.end, begin);
  }
  out += text.substr(at);
  // What was left out may leave many empty lines behind; two are Python's custom.
  for (size_t gap; (gap = out.find("\n\n\n\n")) != std::string::npos;) out.erase(gap, 1);
  return out;
}

}  // namespace

Result<ProblemText> ShowProblem(const std::string& source, const std::string& name, const std::string& size) {
  const ordered_json constants = ReadConstants(source);
  const ordered_json sizes = constants.value("SIZES", ordered_json::object());
  ordered_json values = ordered_json::object();
  if (size != "standard") {
    if (!sizes.is_object() || !sizes.contains(size) || !sizes.at(size).is_object()) {
      return Fail(ErrorCode::kUsage, fmt::format("problem {} has no size {}; it has: {}", name, size,
                                                 fmt::join(ReadMetadata(source).sizes, ", ")));
    }
    values = sizes.at(size);
  }
  ParseBudget budget(source.size());
  const SyntaxTree tree(source, Grammar::kPython, &budget);
  std::vector<Edit> edits;
  std::vector<std::string> unshown;
  if (!tree.complete() || tree.size() == 0) {
    for (const auto& [constant, value] : values.items()) unshown.push_back(constant + " = " + PythonLiteral(value));
  }
  for (const int statement : tree.complete() && tree.size() > 0 ? tree.NamedChildren(0) : std::vector<int>()) {
    const SyntaxNode& node = tree[statement];
    if (tree.Is(statement, "function_definition") && tree.Text(tree.Child(statement, "name")) == "reference_fp64") {
      edits.push_back(RemovalOf(source, node));
      continue;
    }
    const int assignment = AssignmentOf(tree, statement);
    if (assignment < 0) continue;
    const std::string constant(tree.Text(tree.Child(assignment, "left")));
    if (std::find(std::begin(kForTheJudge), std::end(kForTheJudge), constant) != std::end(kForTheJudge)) {
      edits.push_back(RemovalOf(source, node));
    } else if (values.contains(constant)) {
      const std::string literal = PythonLiteral(values.at(constant));
      if (OthersDependOn(tree, constant)) {
        unshown.push_back(constant + " = " + literal);
        continue;
      }
      const SyntaxNode& right = tree[tree.Child(assignment, "right")];
      edits.push_back({right.begin, right.end, literal});
    }
  }
  ProblemText shown{Apply(source, edits), ""};
  if (!unshown.empty()) {
    shown.sizes =
        fmt::format("After the file has been loaded, and before get_inputs() is called, {} set: {}.",
                    unshown.size() == 1 ? "this constant is" : "these constants are", fmt::join(unshown, ", "));
  }
  return shown;
}

std::string TaskName(const std::filesystem::path& path) {
  std::string stem = path.stem().string();
  stem.erase(0, stem.find_first_not_of("0123456789_"));
  std::string name;
  for (const char c : stem) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace kb

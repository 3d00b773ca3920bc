// What names in a Python file stand for, as far as its text tells: imports and their aliases, plain assignments,
// getattr(torch, "mm"), __import__("torch"), sys.modules["torch"], torch.__dict__["mm"]; and what strings hold.
// Scopes are not told apart: a name is what any part of the file makes of it.
#ifndef JUDGE_STATIC_PYTHON_NAMES_H_
#define JUDGE_STATIC_PYTHON_NAMES_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "judge/static/syntax.h"

namespace kb {

// A text that string literals make up, and for each of its bytes the byte of the file it comes from.
struct LiteralText {
  std::string text;
  std::vector<uint32_t> origin;
  std::vector<int> literals;  // nodes that it was taken from
};

class PythonNames {
 public:
  // The tree must outlive this.
  explicit PythonNames(const SyntaxTree& tree);

  // "torch.nn.functional.relu" however it is written. ".relu": an attribute of something unknown. "torch.nn.Linear()":
  // what a call returned. A builtin is its bare name. Empty: nothing is known.
  std::string Resolve(int node) const;
  // The text of a literal, of literals put together, or of a variable that holds such; nothing for anything else.
  std::optional<std::string> StringValue(int node) const;
  // The same for whole sources: lists are joined by lines, what cannot be known is left out.
  LiteralText SourceText(int node) const;

  // Names that the file itself defines: functions, classes, parameters, variables.
  bool Defines(const std::string& name) const { return defined_.count(name) > 0; }
  // What `self.NAME = ...` holds, resolved; empty if nothing is known.
  std::string SelfAttribute(const std::string& name) const;
  // The positional argument `index`, or the one called `name`; -1 if there is none.
  int Argument(int call, size_t index, std::string_view name) const;

 private:
  void Collect();
  void CollectImport(int node);
  void CollectImportFrom(int node);
  void CollectAssignment(int left, int right);
  void CollectDefinitions(int node);
  void CollectLoop(int node);
  std::string ResolveCall(int node, int depth) const;
  std::string ResolveSubscript(int node, int depth) const;
  std::string ResolveIdentifier(int node) const;
  std::string Resolve(int node, int depth) const;
  LiteralText TextOf(int node, size_t most_nodes, size_t most_bytes) const;
  void AppendLiteral(int node, LiteralText* out) const;

  const SyntaxTree& tree_;
  std::unordered_map<std::string, std::string> aliases_;
  std::unordered_map<std::string, std::string> self_attributes_;
  std::unordered_map<std::string, std::vector<int>> values_;  // variables and self.X -> nodes assigned to them
  std::unordered_set<std::string> defined_;
  std::vector<std::string> stars_;  // modules of "from m import *"
};

}  // namespace kb

#endif  // JUDGE_STATIC_PYTHON_NAMES_H_

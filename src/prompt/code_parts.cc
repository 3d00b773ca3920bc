#include "prompt/code_parts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace kb {
namespace {

template <size_t kCount>
bool IsOneOf(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// ---- Python ---------------------------------------------------------------------------------------------------------

bool IsBuiltin(const std::string& name) {
  static const std::unordered_set<std::string> builtins = {"abs",
                                                           "aiter",
                                                           "all",
                                                           "anext",
                                                           "any",
                                                           "ascii",
                                                           "bin",
                                                           "bool",
                                                           "breakpoint",
                                                           "bytearray",
                                                           "bytes",
                                                           "callable",
                                                           "chr",
                                                           "classmethod",
                                                           "compile",
                                                           "complex",
                                                           "copyright",
                                                           "credits",
                                                           "delattr",
                                                           "dict",
                                                           "dir",
                                                           "divmod",
                                                           "enumerate",
                                                           "eval",
                                                           "exec",
                                                           "exit",
                                                           "filter",
                                                           "float",
                                                           "format",
                                                           "frozenset",
                                                           "getattr",
                                                           "globals",
                                                           "hasattr",
                                                           "hash",
                                                           "help",
                                                           "hex",
                                                           "id",
                                                           "input",
                                                           "int",
                                                           "isinstance",
                                                           "issubclass",
                                                           "iter",
                                                           "len",
                                                           "license",
                                                           "list",
                                                           "locals",
                                                           "map",
                                                           "max",
                                                           "memoryview",
                                                           "min",
                                                           "next",
                                                           "object",
                                                           "oct",
                                                           "open",
                                                           "ord",
                                                           "pow",
                                                           "print",
                                                           "property",
                                                           "quit",
                                                           "range",
                                                           "repr",
                                                           "reversed",
                                                           "round",
                                                           "set",
                                                           "setattr",
                                                           "slice",
                                                           "sorted",
                                                           "staticmethod",
                                                           "str",
                                                           "sum",
                                                           "super",
                                                           "tuple",
                                                           "type",
                                                           "vars",
                                                           "zip",
                                                           "Ellipsis",
                                                           "NotImplemented",
                                                           "KeyboardInterrupt",
                                                           "StopIteration",
                                                           "SystemExit",
                                                           "GeneratorExit",
                                                           "StopAsyncIteration",
                                                           "BaseException"};
  const std::string_view view = name;
  return builtins.contains(name) || view.starts_with("__") || view.ends_with("Error") || view.ends_with("Exception") ||
         view.ends_with("Warning");
}

// What an identifier in a tree is: its role tells.
enum class Role { kNothing, kUse, kBinding };

class PythonReader {
 public:
  explicit PythonReader(const SyntaxTree& tree) : tree_(tree), states_(static_cast<size_t>(tree.size())) {}

  CodeParts Read() {
    for (int node = 0; node < tree_.size(); ++node) Visit(node);
    for (const std::string& name : parts_.uses) {
      if (!bound_.contains(name) && !IsBuiltin(name)) parts_.needs.insert(name);
    }
    return std::move(parts_);
  }

 private:
  // What holds for a node because of those above it.
  struct State {
    bool inner = false;    // inside a function, a class or a comprehension
    bool pattern = false;  // a target of an assignment, a loop, `as`
    bool import = false;
  };

  // Parents come before their children, so each node's state is one step from its parent's.
  void Visit(int index) {
    const SyntaxNode& node = tree_[index];
    const std::string_view type = node.type;
    State& state = states_[static_cast<size_t>(index)];
    if (node.parent >= 0) {
      state = states_[static_cast<size_t>(node.parent)];
      Descend(node, tree_[node.parent], &state);
    }
    if (type == "ERROR") parts_.broken = true;
    if (type == "identifier") ReadIdentifier(index, state);
    if (type == "function_definition" || type == "class_definition") ReadDefinition(index, state);
  }

  static void Descend(const SyntaxNode& node, const SyntaxNode& parent, State* state) {
    constexpr std::array<std::string_view, 8> kScopes = {
        "function_definition",  "class_definition",    "lambda",
        "list_comprehension",   "set_comprehension",   "dictionary_comprehension",
        "generator_expression", "type_alias_statement"};
    constexpr std::array<std::string_view, 4> kParameters = {"parameters", "lambda_parameters", "type_parameter",
                                                             "case_pattern"};
    // Of these the target's own parts are targets too.
    constexpr std::array<std::string_view, 7> kNested = {"pattern_list",
                                                         "tuple_pattern",
                                                         "list_pattern",
                                                         "list_splat_pattern",
                                                         "dictionary_splat_pattern",
                                                         "as_pattern_target",
                                                         "parenthesized_expression"};
    if (IsOneOf(parent.type, kScopes) && node.field != "name") state->inner = true;
    const std::string_view type = parent.type;
    if (IsOneOf(type, kParameters)) {
      state->pattern = true;
    } else if (type == "default_parameter" || type == "typed_default_parameter" || type == "typed_parameter") {
      state->pattern = node.field != "value" && node.field != "type";
    } else if (node.field == "left" && (type == "assignment" || type == "augmented_assignment" ||
                                        type == "for_statement" || type == "for_in_clause")) {
      state->pattern = true;
    } else if ((type == "named_expression" && node.field == "name") ||
               (type == "as_pattern" && node.field == "alias")) {
      state->pattern = true;
    } else if (!(state->pattern && (IsOneOf(type, kNested) || type == "dotted_name" || type == "tuple"))) {
      state->pattern = false;
    }
    if (type == "import_statement" || type == "import_from_statement" || type == "future_import_statement")
      state->import = true;
  }

  void ReadIdentifier(int index, const State& state) {
    const SyntaxNode& node = tree_[index];
    const std::string name(tree_.Text(index));
    const Role role = RoleOf(index, state);
    // A function may say `global` before it sets a name, and `x += 1` uses what it binds: both are uses too.
    if (role == Role::kUse || tree_.Is(node.parent, "augmented_assignment")) parts_.uses.insert(name);
    if (role != Role::kBinding) return;
    bound_.insert(name);
    if (!state.inner) parts_.defines.insert(name);
  }

  Role RoleOf(int index, const State& state) const {
    const SyntaxNode& node = tree_[index];
    const SyntaxNode& parent = tree_[node.parent];
    if (state.import) return RoleInImport(index);
    if (parent.type == "attribute" && node.field == "attribute") return Role::kNothing;
    if (parent.type == "keyword_argument" && node.field == "name") return Role::kNothing;
    if ((parent.type == "function_definition" || parent.type == "class_definition") && node.field == "name") {
      return Role::kBinding;
    }
    return state.pattern ? Role::kBinding : Role::kUse;
  }

  // `import a.b` binds a, `import a.b as c` and `from a import b as c` bind c.
  Role RoleInImport(int index) const {
    const SyntaxNode& node = tree_[index];
    const SyntaxNode& parent = tree_[node.parent];
    if (node.field == "alias") return Role::kBinding;
    const bool first = parent.first_child == index;
    const bool whole = parent.type == "dotted_name" && parent.field == "name" && first;
    const bool aliased = parent.parent >= 0 && tree_.Is(parent.parent, "aliased_import");
    return whole && !aliased ? Role::kBinding : Role::kNothing;
  }

  void ReadDefinition(int index, const State& state) {
    if (state.inner) return;
    const bool is_class = tree_.Is(index, "class_definition");
    const std::string name(tree_.Text(tree_.Child(index, "name")));
    std::set<std::string>& sketches = is_class ? parts_.sketched_classes : parts_.sketched_functions;
    if (is_class ? IsSketchOfClass(index) : IsSketchOfFunction(index) && !OnlyFails(index)) {
      sketches.insert(name);
    } else {
      sketches.erase(name);  // the last definition counts
    }
  }

  bool SaysNothing(int statement) const {
    if (tree_.Is(statement, "pass_statement") || tree_.Is(statement, "raise_statement")) return true;
    if (!tree_.Is(statement, "expression_statement") && !tree_.Is(statement, "return_statement")) return false;
    const std::vector<int> values = tree_.NamedChildren(statement);
    if (values.size() != 1) return false;
    return tree_.Is(values[0], "ellipsis") ||
           (tree_.Is(statement, "expression_statement") && tree_.Is(values[0], "string"));
  }

  std::vector<int> Body(int definition) const {
    const int body = tree_.Child(definition, "body");
    return body < 0 ? std::vector<int>() : tree_.NamedChildren(body);
  }

  bool IsSketchOfFunction(int function) const {
    const std::vector<int> body = Body(function);
    return std::all_of(body.begin(), body.end(), [&](int statement) { return SaysNothing(statement); });
  }

  // A helper that raises an error of its own does its work.
  bool OnlyFails(int function) const {
    const std::vector<int> body = Body(function);
    return std::any_of(body.begin(), body.end(), [&](int statement) {
      return tree_.Is(statement, "raise_statement") &&
             tree_.Text(statement).find("NotImplementedError") == std::string_view::npos;
    });
  }

  bool IsSketchOfClass(int definition) const {
    bool all = true;
    for (int statement : Body(definition)) {
      if (tree_.Is(statement, "decorated_definition")) statement = tree_.Child(statement, "definition");
      const bool method = tree_.Is(statement, "function_definition");
      const bool sketch = method ? IsSketchOfFunction(statement) : SaysNothing(statement);
      if (method && tree_.Text(tree_.Child(statement, "name")) == "forward") return sketch;
      all = all && sketch;
    }
    return all;
  }

  const SyntaxTree& tree_;
  std::vector<State> states_;
  std::set<std::string> bound_;  // anywhere: scopes are not told apart
  CodeParts parts_;
};

// ---- C++ and CUDA ---------------------------------------------------------------------------------------------------

constexpr char kHeader[] = "<kernelbench/kernel.h>";

class CppReader {
 public:
  explicit CppReader(const SyntaxTree& tree) : tree_(tree), states_(static_cast<size_t>(tree.size())) {}

  CodeParts Read() {
    for (int node = 0; node < tree_.size(); ++node) Visit(node);
    parts_.uses.insert(kHeader);
    for (const std::string& name : parts_.uses) {
      if (!bound_.contains(name)) parts_.needs.insert(name);
    }
    return std::move(parts_);
  }

 private:
  struct State {
    bool inner = false;      // inside a body or a list of parameters
    bool prototype = false;  // a declaration that is no definition: somebody else's function
  };

  void Visit(int index) {
    const SyntaxNode& node = tree_[index];
    State& state = states_[static_cast<size_t>(index)];
    if (node.parent >= 0) state = states_[static_cast<size_t>(node.parent)];
    if (node.type == "ERROR") parts_.broken = true;
    if (node.type == "compound_statement" || node.type == "parameter_list" || node.type == "field_declaration_list") {
      state.inner = true;
    }
    if (node.type == "function_definition") state.prototype = false;
    if (node.type == "function_declarator" && tree_.Is(node.parent, "declaration")) state.prototype = true;
    if (node.type == "preproc_include") {
      const std::string path(tree_.Text(tree_.Child(index, "path")));
      Bind(path.starts_with('"') ? "<" + path.substr(1, path.size() - 2) + ">" : path, false);
    }
    if (node.type == "identifier" || node.type == "type_identifier" || node.type == "namespace_identifier") {
      ReadName(index, state);
    }
    if (node.type == "function_definition" && !state.inner && IsSketch(index))
      parts_.sketched_functions.insert(NameOf(index));
  }

  void Bind(const std::string& name, bool inner) {
    bound_.insert(name);
    if (!inner) parts_.defines.insert(name);
  }

  void ReadName(int index, const State& state) {
    const std::string name(tree_.Text(index));
    parts_.uses.insert(name);
    if (IsBinding(index) && !state.prototype) Bind(name, state.inner);
  }

  bool IsBinding(int index) const {
    constexpr std::array<std::string_view, 11> kNamed = {
        "struct_specifier",     "class_specifier",    "union_specifier",           "enum_specifier",
        "alias_declaration",    "enumerator",         "namespace_definition",      "preproc_def",
        "preproc_function_def", "concept_definition", "nested_namespace_specifier"};
    constexpr std::array<std::string_view, 6> kDeclarators = {
        "reference_declarator",       "structured_binding_declarator",       "variadic_declarator",
        "type_parameter_declaration", "variadic_type_parameter_declaration", "preproc_params"};
    const SyntaxNode& node = tree_[index];
    const std::string_view parent = tree_[node.parent].type;
    if (node.field == "declarator" || IsOneOf(parent, kDeclarators)) return true;
    // `struct kb_call` alone only mentions it.
    const bool specifier = parent.ends_with("_specifier") && parent != "nested_namespace_specifier";
    return node.field == "name" && IsOneOf(parent, kNamed) && (!specifier || tree_.Child(node.parent, "body") >= 0);
  }

  // The name that a function's declarator ends at.
  std::string NameOf(int function) const {
    int at = tree_.Child(function, "declarator");
    while (at >= 0 && !tree_.Is(at, "identifier")) at = tree_.Child(at, "declarator");
    return std::string(tree_.Text(at));
  }

  bool IsSketch(int function) const {
    const int body = tree_.Child(function, "body");
    if (body < 0) return false;
    const std::vector<int> statements = tree_.NamedChildren(body);
    return std::all_of(statements.begin(), statements.end(), [&](int statement) {
      if (tree_.Is(statement, "throw_statement")) return true;
      const std::vector<int> values = tree_.NamedChildren(statement);
      return tree_.Is(statement, "return_statement") && values.size() == 1 &&
             (tree_.Is(values[0], "number_literal") || tree_.Is(values[0], "identifier"));
    });
  }

  const SyntaxTree& tree_;
  std::vector<State> states_;
  std::set<std::string> bound_;
  CodeParts parts_;
};

}  // namespace

CodeParts PartsOfPython(const std::string& text, ParseBudget* budget) {
  const SyntaxTree tree(text, Grammar::kPython, budget);
  return tree.complete() ? PythonReader(tree).Read() : CodeParts();
}

CodeParts PartsOfCpp(const std::string& text, ParseBudget* budget) {
  const SyntaxTree tree(text, Grammar::kCuda, budget);
  return tree.complete() ? CppReader(tree).Read() : CodeParts();
}

}  // namespace kb

#include "judge/static/python_names.h"

#include <algorithm>

namespace kb {
namespace {

// Longer names stand for nothing that a rule knows, and recursion must end.
constexpr int kDeepest = 32;

// Builtins that a rule asks for, or that a star import would otherwise seem to bring.
bool IsBuiltin(const std::string& name) {
  static const std::unordered_set<std::string> builtins = {
      "print", "len",  "range",        "int",        "float",     "str",        "bool", "list",   "dict",    "tuple",
      "set",   "type", "super",        "getattr",    "setattr",   "delattr",    "open", "exec",   "eval",    "compile",
      "vars",  "exit", "quit",         "globals",    "locals",    "isinstance", "id",   "object", "input",   "dir",
      "hash",  "zip",  "map",          "enumerate",  "property",  "abs",        "min",  "max",    "sum",     "sorted",
      "any",   "all",  "__builtins__", "__import__", "Exception", "iter",       "next", "repr",   "reversed"};
  return builtins.count(name) > 0;
}

std::string Joined(const std::string& base, std::string_view attribute) {
  const bool known = base.size() < 300;
  return (known ? base : std::string()) + "." + std::string(attribute);
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

PythonNames::PythonNames(const SyntaxTree& tree) : tree_(tree) { Collect(); }

void PythonNames::Collect() {
  for (int node = 0; node < tree_.size(); ++node) {
    const std::string_view type = tree_[node].type;
    if (!tree_[node].named) continue;
    if (type == "import_statement") {
      CollectImport(node);
    } else if (type == "import_from_statement") {
      CollectImportFrom(node);
    } else if (type == "assignment" || type == "augmented_assignment") {
      CollectAssignment(tree_.Child(node, "left"), tree_.Child(node, "right"));
    } else if (type == "named_expression") {
      CollectAssignment(tree_.Child(node, "name"), tree_.Child(node, "value"));
    } else if (type == "for_statement" || type == "for_in_clause") {
      CollectLoop(node);
    } else if (type == "as_pattern") {
      const std::vector<int> parts = tree_.NamedChildren(node);
      if (parts.size() == 2) CollectAssignment(tree_.NamedChildren(parts[1]).empty() ? -1 : parts[1] + 1, parts[0]);
    } else {
      CollectDefinitions(node);
    }
  }
}

void PythonNames::CollectImport(int node) {
  for (const int child : tree_.NamedChildren(node)) {
    if (tree_.Is(child, "aliased_import")) {
      aliases_[std::string(tree_.Text(tree_.Child(child, "alias")))] = tree_.Text(tree_.Child(child, "name"));
    } else {
      const std::string_view module = tree_.Text(child);
      const std::string root(module.substr(0, module.find('.')));
      aliases_[root] = root;
    }
  }
}

void PythonNames::CollectImportFrom(int node) {
  const std::string module(tree_.Text(tree_.Child(node, "module_name")));
  for (int child = tree_[node].first_child; child >= 0; child = tree_[child].next) {
    if (tree_.Is(child, "wildcard_import")) stars_.push_back(module);
    if (tree_[child].field != "name") continue;
    if (tree_.Is(child, "aliased_import")) {
      aliases_[std::string(tree_.Text(tree_.Child(child, "alias")))] =
          Joined(module, tree_.Text(tree_.Child(child, "name")));
    } else {
      aliases_[std::string(tree_.Text(child))] = Joined(module, tree_.Text(child));
    }
  }
}

void PythonNames::CollectAssignment(int left, int right) {
  if (left < 0) return;
  if (tree_.Is(left, "pattern_list") || tree_.Is(left, "tuple_pattern")) {
    const std::vector<int> targets = tree_.NamedChildren(left), values = tree_.NamedChildren(right);
    const bool pairs =
        targets.size() == values.size() && (tree_.Is(right, "expression_list") || tree_.Is(right, "tuple"));
    for (size_t i = 0; i < targets.size(); ++i) {
      if (tree_.Is(targets[i], "identifier")) CollectAssignment(targets[i], pairs ? values[i] : -1);
    }
    return;
  }
  const std::string held = Resolve(right);
  if (tree_.Is(left, "identifier")) {
    const std::string name(tree_.Text(left));
    if (right >= 0) values_[name].push_back(right);
    if (held.empty() || held[0] == '.') {
      defined_.insert(name);
    } else {
      aliases_[name] = held;
    }
  } else if (tree_.Is(left, "attribute") && tree_.Text(tree_.Child(left, "object")) == "self") {
    const std::string name(tree_.Text(tree_.Child(left, "attribute")));
    values_["self." + name].push_back(right);
    if (!held.empty() && held[0] != '.') self_attributes_[name] = held;
  }
}

// for layer in self.layers: the variable is one of the modules that a container of modules holds.
void PythonNames::CollectLoop(int node) {
  const int left = tree_.Child(node, "left");
  const std::string over = Resolve(tree_.Child(node, "right"));
  if (!tree_.Is(left, "identifier")) return;
  if (over == "torch.nn.ModuleList()" || over == "torch.nn.Sequential()") {
    aliases_[std::string(tree_.Text(left))] = "torch.nn.Sequential()";
  } else {
    defined_.insert(std::string(tree_.Text(left)));
  }
}

void PythonNames::CollectDefinitions(int node) {
  const std::string_view type = tree_[node].type;
  if (type == "function_definition" || type == "class_definition") {
    defined_.insert(std::string(tree_.Text(tree_.Child(node, "name"))));
  } else if (type == "parameters" || type == "lambda_parameters") {
    for (const int each : tree_.NamedChildren(node)) {
      const int name = tree_.Is(each, "identifier")        ? each
                       : tree_.Is(each, "typed_parameter") ? tree_[each].first_child
                                                           : tree_.Child(each, "name");
      if (name >= 0) defined_.insert(std::string(tree_.Text(name)));
    }
  }
}

std::string PythonNames::SelfAttribute(const std::string& name) const {
  const auto at = self_attributes_.find(name);
  return at == self_attributes_.end() ? std::string() : at->second;
}

int PythonNames::Argument(int call, size_t index, std::string_view name) const {
  size_t position = 0;
  for (const int argument : tree_.NamedChildren(tree_.Child(call, "arguments"))) {
    if (tree_.Is(argument, "keyword_argument")) {
      if (tree_.Text(tree_.Child(argument, "name")) == name) return tree_.Child(argument, "value");
    } else if (position++ == index) {
      return argument;
    }
  }
  return -1;
}

std::string PythonNames::Resolve(int node) const { return Resolve(node, 0); }

std::string PythonNames::Resolve(int node, int depth) const {
  if (node < 0 || depth > kDeepest) return "";
  const std::string_view type = tree_[node].type;
  if (type == "identifier") return ResolveIdentifier(node);
  if (type == "dotted_name") return std::string(tree_.Text(node));
  if (type == "call") return ResolveCall(node, depth);
  if (type == "subscript") return ResolveSubscript(node, depth);
  if (type == "named_expression") return Resolve(tree_.Child(node, "value"), depth + 1);
  if (type == "parenthesized_expression") {
    const std::vector<int> inner = tree_.NamedChildren(node);
    return inner.size() == 1 ? Resolve(inner[0], depth + 1) : "";
  }
  if (type != "attribute") return "";
  const int object = tree_.Child(node, "object");
  const std::string_view attribute = tree_.Text(tree_.Child(node, "attribute"));
  if (tree_.Is(object, "identifier") && tree_.Text(object) == "self") {
    const auto held = self_attributes_.find(std::string(attribute));
    if (held != self_attributes_.end()) return held->second;
  }
  const std::string base = Resolve(object, depth + 1);
  if (base == "builtins" || base == "__builtins__") return std::string(attribute);
  if (attribute == "__class__" && EndsWith(base, "()")) return base.substr(0, base.size() - 2);
  return Joined(base, attribute);
}

std::string PythonNames::ResolveIdentifier(int node) const {
  const std::string name(tree_.Text(node));
  const auto alias = aliases_.find(name);
  if (alias != aliases_.end()) {
    return alias->second.rfind("builtins.", 0) == 0 ? alias->second.substr(9) : alias->second;
  }
  if (defined_.count(name) > 0) return "";
  if (IsBuiltin(name)) return name;
  return stars_.size() == 1 ? Joined(stars_[0], name) : "";
}

std::string PythonNames::ResolveCall(int node, int depth) const {
  const std::string function = Resolve(tree_.Child(node, "function"), depth + 1);
  if (function == "getattr") {
    const auto attribute = StringValue(Argument(node, 1, ""));
    const std::string base = Resolve(Argument(node, 0, ""), depth + 1);
    return attribute ? Joined(base, *attribute) : "";
  }
  if (function == "__import__" || function == "importlib.import_module") {
    return StringValue(Argument(node, 0, "name")).value_or("");
  }
  if (function == "vars") {
    const std::string base = Resolve(Argument(node, 0, ""), depth + 1);
    return base.empty() ? "" : base + ".__dict__";
  }
  if (function == "type") {
    const std::string instance = Resolve(Argument(node, 0, ""), depth + 1);
    return EndsWith(instance, "()") ? instance.substr(0, instance.size() - 2) : "";
  }
  if (function.empty() || function[0] == '.') return "";
  return function + "()";
}

std::string PythonNames::ResolveSubscript(int node, int depth) const {
  const std::string base = Resolve(tree_.Child(node, "value"), depth + 1);
  if (base == "torch.nn.ModuleList()" || base == "torch.nn.Sequential()") return "torch.nn.Sequential()";
  const auto key = StringValue(tree_.Child(node, "subscript"));
  if (!key) return "";
  if (base == "sys.modules") return *key;
  constexpr std::string_view kDict = ".__dict__";
  if (EndsWith(base, kDict)) return Joined(base.substr(0, base.size() - kDict.size()), *key);
  return base == "__builtins__" ? *key : "";
}

}  // namespace kb

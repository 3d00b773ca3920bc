#include "judge/static/native_rules.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "judge/static/tables.h"

namespace kb {
namespace {

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool Has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }
bool IsWordByte(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

constexpr size_t kLongestName = 200;

// "::std :: thread<int>" -> "std::thread".
std::string Plain(std::string_view text) {
  std::string plain;
  for (const char c : text.substr(0, kLongestName)) {
    if (c == '<' || c == '(') break;
    if (IsWordByte(c) || c == ':') plain += c;
  }
  return StartsWith(plain, "::") ? plain.substr(2) : plain;
}

std::string Say(const NameRule& rule, std::string_view name) {
  std::string reason = rule.reason;
  const size_t at = reason.find("{}");
  return at == std::string::npos ? reason : reason.replace(at, 2, name);
}

class Checker {
 public:
  explicit Checker(const SyntaxTree& tree) : tree_(tree) {}

  NativeResult Run() {
    for (int node = 0; node < tree_.size(); ++node) Scope(node);
    for (int node = 0; node < tree_.size(); ++node) Visit(node);
    return std::move(result_);
  }

 private:
  // Functions of the file's own, namespaces that are opened, and other names for namespaces.
  void Scope(int node) {
    const std::string_view type = tree_[node].type;
    if (type == "function_definition") {
      const int name = FunctionName(node);
      if (name >= 0) own_.insert(Plain(tree_.Text(name)));
    } else if (type == "using_declaration" && Has(tree_.Text(node).substr(0, 40), "namespace")) {
      const std::vector<int> names = tree_.NamedChildren(node);
      if (!names.empty()) opened_.push_back(Plain(tree_.Text(names[0])) + "::");
    } else if (type == "using_declaration" || type == "alias_declaration") {
      const int value = type == "alias_declaration" ? tree_.Child(node, "type") : LastChild(node);
      const std::string name = Plain(tree_.Text(value));
      const size_t word = name.rfind("::");
      const std::string shorter = type == "alias_declaration" ? Plain(tree_.Text(tree_.Child(node, "name")))
                                  : word == std::string::npos ? std::string()
                                                              : name.substr(word + 2);
      if (!shorter.empty()) other_names_[shorter] = name;
    } else if (type == "namespace_alias_definition") {
      other_names_[Plain(tree_.Text(tree_.Child(node, "name")))] = Plain(tree_.Text(LastChild(node)));
    }
  }

  int LastChild(int node) const {
    const std::vector<int> children = tree_.NamedChildren(node);
    return children.empty() ? -1 : children.back();
  }

  // The name in a definition's declarator, under pointers and references; -1 if there is none.
  int FunctionName(int definition) const {
    int at = tree_.Child(definition, "declarator");
    for (int depth = 0; at >= 0 && depth < 8; ++depth) {
      if (tree_.Is(at, "identifier") || tree_.Is(at, "qualified_identifier")) return at;
      const int inner = tree_.Child(at, "declarator");
      at = inner >= 0 ? inner : LastChild(at);
    }
    return -1;
  }

  void Visit(int node) {
    const std::string_view type = tree_[node].type;
    if (type == "qualified_identifier" || type == "identifier" || type == "type_identifier" ||
        type == "namespace_identifier") {
      Name(node);
    } else if (type == "call_expression") {
      Call(node);
    } else if (type == "function_definition") {
      Definition(node);
    } else if (type == "string_literal" || type == "raw_string_literal") {
      if (const NameRule* rule = NativeString(tree_.Text(node))) Hit(node, *rule, "this string");
    } else if (type == "preproc_arg") {
      Macro(node);
    } else if (type == "preproc_include") {
      Include(tree_.Text(node));
    } else if (type == "kernel_call_syntax") {
      result_.kernels.cuda_launch = true;
    } else if (type == "__global__") {
      result_.kernels.cuda_kernel = true;
      Kernel(node);
    } else if (type == "for_statement" || type == "while_statement" || type == "for_range_loop" ||
               type == "do_statement") {
      result_.kernels.native_loop = true;
    }
  }

  // The function that a __global__ belongs to, with the namespaces around it.
  void Kernel(int node) {
    int function = tree_[node].parent;
    while (function >= 0 && !tree_.Is(function, "function_definition") && !tree_.Is(function, "declaration")) {
      function = tree_[function].parent;
    }
    const int at = function < 0 ? -1 : FunctionName(function);
    if (at < 0) return;
    std::string name = Plain(tree_.Text(at));
    for (int outer = tree_[function].parent; outer >= 0; outer = tree_[outer].parent) {
      const int space = tree_.Is(outer, "namespace_definition") ? tree_.Child(outer, "name") : -1;
      if (space >= 0) name = Plain(tree_.Text(space)) + "::" + name;
      if (name.size() > kLongestName) return;
    }
    result_.kernel_names.push_back(std::move(name));
  }

  void Hit(int node, const NameRule& rule, std::string_view name) {
    result_.hits.push_back({rule.rule, tree_[node].begin, Say(rule, name)});
  }

  std::string Canonical(std::string name) const {
    const size_t colon = name.find("::");
    const auto other = other_names_.find(name.substr(0, colon));
    if (other == other_names_.end()) return name;
    return other->second + (colon == std::string::npos ? "" : name.substr(colon));
  }

  void Name(int node) {
    const int parent = tree_[node].parent;
    // A qualified name is looked up as a whole, another name for a namespace where it is used.
    if (tree_.Is(parent, "qualified_identifier") || tree_.Is(parent, "namespace_alias_definition")) return;
    if (tree_.Is(parent, "nested_namespace_specifier")) return;
    const std::string name = Canonical(Plain(tree_.Text(node)));
    Facts(name);
    if (tree_.Is(node, "type_identifier")) {
      if (const NameRule* rule = NativeType(name)) return Hit(node, *rule, name);
    }
    if (own_.count(name) > 0) return;
    if (const NameRule* rule = NativeMention(name)) return Hit(node, *rule, name);
    const bool used = tree_.Is(parent, "call_expression") || tree_.Is(node, "type_identifier");
    for (const std::string& opened : opened_) {
      const NameRule* rule = used && !Has(name, "::") ? NativeMention(opened + name) : nullptr;
      if (rule != nullptr) return Hit(node, *rule, opened + name);
    }
  }

  void Facts(const std::string& name) {
    KernelFacts& kernels = result_.kernels;
    kernels.kittens |= StartsWith(name, "kittens");
    kernels.cute |= StartsWith(name, "cute::") || StartsWith(name, "cutlass::");
    kernels.hip |= StartsWith(name, "hip");
    kernels.cuda_launch |= name == "cudaLaunchKernel" || name == "cudaLaunchKernelEx" || name == "cuLaunchKernel" ||
                           name == "cudaLaunchCooperativeKernel" || name == "hipLaunchKernelGGL";
    kernels.native_loop |= StartsWith(name, "_mm") || name == "at::parallel_for";
    kernels.cuda_kernel |= name == "__global__";
  }

  void Include(std::string_view text) {
    result_.kernels.kittens |= Has(text, "kittens");
    result_.kernels.cute |= Has(text, "<cute/") || Has(text, "cutlass/");
    result_.kernels.hip |= Has(text, "hip/");
  }

  void Call(int node) {
    const int function = tree_.Child(node, "function");
    if (tree_.Is(function, "identifier") || tree_.Is(function, "qualified_identifier")) {
      const std::string name = Plain(tree_.Text(function));
      const NameRule* rule = own_.count(name) > 0 ? nullptr : NativeCall(name);
      if (rule != nullptr) Hit(function, *rule, name);
    } else if (tree_.Is(function, "field_expression")) {
      const std::string name = Plain(tree_.Text(tree_.Child(function, "field")));
      if (const NameRule* rule = NativeMethod(name)) Hit(node, *rule, name);
    }
  }

  // Functions under a library's name at the outermost level: the linker may take them for the library's.
  void Definition(int node) {
    const int parent = tree_[node].parent;
    const bool outermost = tree_.Is(parent, "translation_unit") || tree_.Is(parent, "linkage_specification") ||
                           (tree_.Is(parent, "declaration_list") && parent >= 0 &&
                            tree_.Is(tree_[parent].parent, "linkage_specification"));
    const int name = FunctionName(node);
    if (!outermost || name < 0) return;
    for (const int child : tree_.NamedChildren(node)) {
      if (tree_.Is(child, "storage_class_specifier") && tree_.Text(child) == "static") return;
    }
    if (const NameRule* rule = NativeDefinition(tree_.Text(name))) Hit(name, *rule, tree_.Text(name));
  }

  // The text of a macro has no tree: its words are looked up as names.
  void Macro(int node) {
    const std::string_view text = tree_.Text(node);
    const uint32_t begin = tree_[node].begin;
    for (size_t i = 0; i < text.size();) {
      size_t end = i;
      while (end < text.size() && (IsWordByte(text[end]) || (text[end] == ':' && end > i))) ++end;
      if (end > i) {
        const std::string name = Canonical(Plain(text.substr(i, end - i)));
        Facts(name);
        if (const NameRule* rule = NativeMention(name)) {
          result_.hits.push_back({rule->rule, begin + i, Say(*rule, name)});
        }
      } else if (text[i] == '"') {
        end = std::min(text.find('"', i + 1), text.size() - 1) + 1;
      } else if (text.substr(i, 2) == "//") {
        end = text.find('\n', i);
      } else if (text.substr(i, 2) == "/*") {
        end = text.find("*/", i);
      }
      if (end == std::string_view::npos) return;
      i = std::max(end, i + 1);
    }
    result_.kernels.cuda_launch |= Has(text, "<<<");
  }

  const SyntaxTree& tree_;
  NativeResult result_;
  std::unordered_set<std::string> own_;
  std::vector<std::string> opened_;
  std::unordered_map<std::string, std::string> other_names_;
};

}  // namespace

NativeResult CheckNative(const SyntaxTree& tree) { return Checker(tree).Run(); }

}  // namespace kb

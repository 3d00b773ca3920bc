#include "judge/devices/cuda/cuda_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "judge/devices/cuda/cuda_tables.h"
#include "judge/static/syntax.h"

namespace kb {
namespace {

constexpr const char* kUngrammatical = "text that does not follow the grammar";
constexpr int kDeepest = 16;  // namespaces and template heads within each other

// The execution or memory spaces that a declaration names.
struct Spaces {
  bool global = false, device = false, host = false, memory = false;
  bool DeviceOnly() const { return (device && !host) || memory; }
  bool Both() const { return device && host && !memory; }
};

class Finder {
 public:
  explicit Finder(const std::string& source)
      : source_(source), words_(CudaWords(source)), lines_(source), budget_(source.size()), tree_(Masked()) {}

  CudaItems Run() {
    if (!found_.refusal.empty()) return std::move(found_);
    if (!tree_.complete()) {
      Refuse(0, "the text is too long or too hard to read");
      return std::move(found_);
    }
    CheckAttributes();
    Scope(0, "", 0);
    FindUses();
    CheckErrors();
    return std::move(found_);
  }

 private:
  // Attributes may also say what __global__ and the like say.
  void CheckAttributes() {
    for (size_t i = 0; i + 1 < words_.size(); ++i) {
      if (!words_[i].Is("__attribute__") || !words_[i + 1].Is("(")) continue;
      const size_t end = Closing(words_, i + 1);
      for (size_t k = i + 1; k < end; ++k) {
        if (!words_[k].IsName() || IsKnownAttribute(words_[k].text)) continue;
        Refuse(words_[k].begin, fmt::format("the attribute {}", words_[k].text));
      }
    }
  }

  // The text as the grammar can read it: what it does not know, and stands where nothing need stand, is blank.
  SyntaxTree Masked() {
    std::string masked = source_;
    const auto blank = [&](TextRange range) {
      for (size_t i = range.begin; i < range.end; ++i) masked[i] = masked[i] == '\n' ? '\n' : ' ';
    };
    for (size_t i = 0; i < words_.size(); ++i) {
      const CudaWord& word = words_[i];
      if (!word.IsName()) continue;
      TextRange range{word.begin, word.begin + word.text.size()};
      const bool attribute = IsKernelAttribute(word.text);
      if (attribute || word.Is("__align__")) {
        if (i + 1 >= words_.size() || !words_[i + 1].Is("(")) continue;
        const size_t close = Closing(words_, i + 1) - 1;
        if (close >= words_.size()) continue;
        range.end = words_[close].begin + 1;
        if (attribute) found_.host_edits.push_back({range, ""});
      } else if ((!word.Is("KB_EXPORT") && !word.Is("__grid_constant__")) || (i > 0 && words_[i - 1].Is("define"))) {
        continue;
      }
      blank(range);
      if (word.Is("KB_EXPORT")) masked.replace(word.begin, 6, "extern");  // so that it belongs to the declaration
    }
    return SyntaxTree(std::move(masked), Grammar::kCuda, &budget_);
  }

  void Refuse(size_t byte, const std::string& reason) {
    if (found_.refusal.empty()) found_.refusal = fmt::format("line {}: {}", lines_.At(byte).line, reason);
  }
  void RefuseNode(int node, const std::string& reason) { Refuse(tree_[node].begin, reason); }
  bool refused() const { return !found_.refusal.empty(); }

  TextRange RangeOf(int node) const { return {tree_[node].begin, tree_[node].end}; }
  std::string TextOf(int node) const { return node < 0 ? "" : source_.substr(tree_[node].begin, Length(node)); }
  size_t Length(int node) const { return tree_[node].end - tree_[node].begin; }
  std::vector<CudaWord> WordsIn(size_t begin, size_t end) const {
    return CudaWords(std::string_view(source_).substr(begin, end - begin));
  }
  // One past the last node below `node`.
  int After(int node) const {
    for (; node >= 0; node = tree_[node].parent) {
      if (tree_[node].next >= 0) return tree_[node].next;
    }
    return tree_.size();
  }

  void Add(int outer, CudaPart part, const std::string& name, bool in_host = false, bool in_device = false) {
    found_.items.push_back({RangeOf(outer), part, name, in_host, in_device});
  }

  void Scope(int node, const std::string& scope, int depth) {
    if (depth > kDeepest) return RefuseNode(node, "declarations lie too deep");
    for (int child = tree_[node].first_child; child >= 0 && !refused(); child = tree_[child].next) {
      if (tree_[child].named) Item(child, child, scope, depth);
    }
  }

  // `outer`: the node to leave out if `node` is left out; a template head or extern "C" belongs to it.
  void Item(int node, int outer, const std::string& scope, int depth) {
    const std::string_view type = tree_[node].type;
    if (depth > kDeepest) return RefuseNode(node, "declarations lie too deep");
    if (type == "comment") return;
    if (type == "expression_statement" && TextOf(node) == ";") return;
    if (type == "preproc_include") return Include(node);
    if (type == "preproc_def" || type == "preproc_function_def") return Macro(node);
    if (type == "namespace_definition") return Namespace(node, scope, depth);
    if (type == "linkage_specification") {
      const int body = tree_.Child(node, "body");
      return tree_.Is(body, "declaration_list") ? Scope(body, scope, depth + 1) : Item(body, node, scope, depth + 1);
    }
    if (type == "template_declaration") return Template(node, outer, scope, depth);
    if (type == "function_definition") return Function(node, outer, scope);
    if (type == "declaration") return Declaration(node, outer);
    if (type == "struct_specifier" || type == "class_specifier" || type == "union_specifier") {
      return Class(node, outer, TextOf(tree_.Child(node, "name")));
    }
    if (type == "type_definition") return Class(node, outer, TextOf(tree_.Child(node, "declarator")));
    if (type == "alias_declaration" || type == "concept_definition") {
      return Add(outer, CudaPart::kBoth, TextOf(tree_.Child(node, "name")), true, true);
    }
    if (type == "enum_specifier" || type == "static_assert_declaration") return Add(outer, CudaPart::kBoth, "");
    if (type == "using_declaration" || type == "namespace_alias_definition") return Using(node);
    RefuseNode(node, type == "ERROR" ? kUngrammatical : fmt::format("a {} outside functions", type));
  }

  void Include(int node) {
    std::string path = TextOf(tree_.Child(node, "path"));
    if (path.size() < 3 || path.front() != '<') return RefuseNode(node, "it includes a file of its own");
    path = path.substr(1, path.size() - 2);
    if (!IncludeUse(path)) return RefuseNode(node, fmt::format("it includes <{}>", path));
    found_.includes.push_back({RangeOf(node), path});
  }

  void Macro(int node) {
    const std::string name = TextOf(tree_.Child(node, "name"));
    const int value = tree_.Child(node, "value");
    if (IsKeyword(name) || name.starts_with("_") || name.starts_with("KB_") || name.starts_with("kb_")) {
      return RefuseNode(node, "it gives another meaning to " + name);
    }
    Add(node, CudaPart::kBoth, name, true, true);
    if (value < 0) return;
    const auto words = WordsIn(tree_[value].begin, tree_[value].end);
    const bool object = tree_.Is(node, "preproc_def");
    if (!Balanced(words)) return RefuseNode(node, "a macro with brackets that do not close");
    for (size_t i = 0; i < words.size(); ++i) {
      const bool launch = i + 2 < words.size() && words[i].Is("<") && words[i + 1].Is("<") && words[i + 2].Is("<");
      const bool structure =
          words[i].IsName() && (IsSpace(words[i].text) || words[i].Is("__attribute__") ||
                                IsKernelAttribute(words[i].text) || (object && IsKeyword(words[i].text)));
      if (launch || structure || (words[i].Is("#") && (object || (i + 1 < words.size() && words[i + 1].Is("#")))) ||
          (object && (words[i].Is(";") || words[i].Is("{")))) {
        return RefuseNode(node, "a macro that may make declarations or launches");
      }
    }
  }

  void Namespace(int node, const std::string& scope, int depth) {
    const std::string name = TextOf(tree_.Child(node, "name"));
    const int body = tree_.Child(node, "body");
    if (body < 0 || !WordsIn(tree_[node].begin, tree_[body].begin).front().Is("namespace")) {
      return RefuseNode(node, "an inline namespace");
    }
    Scope(body, name.empty() ? scope : scope + name + "::", depth + 1);
  }

  void Template(int node, int outer, const std::string& scope, int depth) {
    const int parameters = tree_.Child(node, "parameters");
    for (const int child : tree_.NamedChildren(node)) {
      const std::string_view type = tree_[child].type;
      if (child == parameters || type == "requires_clause") continue;
      template_parameters_ = parameters;
      Item(child, outer, scope, depth + 1);
      template_parameters_ = -1;
      return;
    }
    RefuseNode(node, "a template of an unknown kind");
  }

  void Using(int node) {
    const auto words = WordsIn(tree_[node].begin, tree_[node].end);
    const bool directive = words.size() > 1 && words[1].Is("namespace");
    const bool device = std::any_of(words.begin(), words.end(),
                                    [](const CudaWord& word) { return word.Is("nvcuda") || word.Is("wmma"); });
    const bool alias = tree_.Is(node, "namespace_alias_definition");
    if (device && (directive || alias)) {
      return Add(node, CudaPart::kDevice, alias ? std::string(words[1].text) : "");
    }
    const bool standard = std::any_of(words.begin(), words.end(), [](const CudaWord& word) { return word.Is("std"); });
    if (directive || alias || standard) return RefuseNode(node, "names of another namespace are made its own");
    Add(node, CudaPart::kBoth, std::string(words[words.size() - 2].text), true, true);
  }

  // What stands before a declarator.
  Spaces SpacesIn(int node, size_t end) {
    Spaces spaces;
    for (const CudaWord& word : WordsIn(tree_[node].begin, end)) {
      spaces.global |= word.Is("__global__");
      spaces.device |= word.Is("__device__");
      spaces.host |= word.Is("__host__");
      spaces.memory |= word.Is("__constant__") || word.Is("__shared__") || word.Is("__managed__");
      if (word.Is("{") || word.Is("__tile_global__")) RefuseNode(node, "a declaration of an unknown form");
    }
    return spaces;
  }

  // The declarator under initialisers, pointers, references and arrays.
  int Innermost(int declarator) const {
    for (int depth = 0; declarator >= 0 && depth < kDeepest; ++depth) {
      const std::string_view type = tree_[declarator].type;
      if (type != "init_declarator" && type != "pointer_declarator" && type != "reference_declarator" &&
          type != "array_declarator") {
        return declarator;
      }
      int inner = tree_.Child(declarator, "declarator");
      if (inner < 0 && type == "reference_declarator") {
        const auto children = tree_.NamedChildren(declarator);
        inner = children.empty() ? -1 : children.back();
      }
      declarator = inner;
    }
    return declarator;
  }

  // Whether the braces of this body are those that the grammar took.
  bool Closed(int body) const {
    const auto words = WordsIn(tree_[body].begin, tree_[body].end);
    return words.size() > 1 && words[0].Is("{") && words.back().Is("}") && Closing(words, 0) == words.size();
  }

  void Function(int node, int outer, const std::string& scope) {
    const int declarator = Innermost(tree_.Child(node, "declarator"));
    const int body = tree_.Child(node, "body");
    if (!tree_.Is(declarator, "function_declarator") || !tree_.Is(body, "compound_statement") || !Closed(body)) {
      return RefuseNode(node, "a function of an unknown form");
    }
    const int name_node = tree_.Child(declarator, "declarator");
    const Spaces spaces = SpacesIn(node, tree_[declarator].begin);
    if (spaces.global) return Kernel(node, declarator, body, scope);
    const bool member = tree_.Is(name_node, "qualified_identifier");
    const bool operates = tree_.Is(name_node, "operator_name");
    if (!member && !operates && !tree_.Is(name_node, "identifier")) {
      return RefuseNode(node, "a function with a name of an unknown form");
    }
    const std::string name = member || operates ? "" : TextOf(name_node);
    if (spaces.DeviceOnly()) {
      found_.device_bodies.push_back(RangeOf(body));
      if (operates) {
        found_.host_edits.push_back({RangeOf(body), ";"});
      } else {
        Add(outer, CudaPart::kDevice, name);
      }
    } else if (spaces.Both()) {
      const bool optional = !name.empty() && !name.starts_with("kb_");
      Add(outer, CudaPart::kBoth, name, optional, optional);
    } else if (operates) {
      RefuseNode(node, "an operator of the host alone");
    } else {
      for (const CudaWord& word : WordsIn(tree_[body].begin, tree_[body].end)) {
        if (word.IsName() && IsSpace(word.text)) RefuseNode(node, "a function of the host that holds device code");
      }
      Add(outer, CudaPart::kHost, name);
    }
  }

  void Declaration(int node, int outer) {
    int declarators = 0, functions = 0;
    std::vector<std::string> names;
    bool constant = false, pointer = false;
    size_t first = tree_[node].end;
    for (int child = tree_[node].first_child; child >= 0; child = tree_[child].next) {
      const std::string text = TextOf(child);
      if (tree_.Is(child, "type_qualifier")) constant |= text == "const" || text == "constexpr";
      if (tree_[child].field != "declarator") continue;
      ++declarators;
      first = std::min<size_t>(first, tree_[child].begin);
      int inner = Innermost(child);
      const int of_initializer = tree_.Is(child, "init_declarator") ? tree_.Child(child, "declarator") : child;
      pointer |= tree_.Is(of_initializer, "pointer_declarator") || tree_.Is(of_initializer, "reference_declarator");
      functions += tree_.Is(inner, "function_declarator");
      if (tree_.Is(inner, "function_declarator")) inner = tree_.Child(inner, "declarator");
      if (!tree_.Is(inner, "identifier")) return RefuseNode(node, "a declaration of an unknown form");
      names.push_back(TextOf(inner));
    }
    if (declarators == 0) return Add(outer, CudaPart::kBoth, "");  // struct S;
    if (functions > 0 && declarators > 1) return RefuseNode(node, "functions and variables in one declaration");
    const Spaces spaces = SpacesIn(node, first);
    if (spaces.global) return RefuseNode(node, "a kernel that is declared first and defined later");
    CudaPart part = CudaPart::kHost;
    if (spaces.DeviceOnly()) {
      part = CudaPart::kDevice;
    } else if (spaces.Both() || (functions == 0 && constant && !pointer)) {
      part = CudaPart::kBoth;
    }
    const bool optional = functions == 0 && declarators == 1;
    for (const std::string& name : names) Add(outer, part, name, false, part == CudaPart::kBoth && optional);
  }

  // Members of the host alone are left out of the device half, those of the device have no body in the host half.
  void Class(int node, int outer, const std::string& name) {
    const int end = After(node);
    for (int at = node + 1; at < end && !refused();) {
      const std::string_view type = tree_[at].type;
      if (type == "compound_statement") {
        at = After(at);  // a body
        continue;
      }
      if (type == "virtual" || type == "access_specifier_virtual") return RefuseNode(at, "a virtual function");
      if (type == "function_definition" || type == "field_declaration" || type == "declaration") Member(at);
      ++at;
    }
    const auto words = CudaWords(name);  // more than one: a specialisation, which is used without being named
    const bool optional = words.size() == 1 && words[0].IsName();
    Add(outer, CudaPart::kBoth, optional ? name : "", optional, optional);
  }

  void Member(int node) {
    const int declarator = Innermost(tree_.Child(node, "declarator"));
    if (!tree_.Is(declarator, "function_declarator")) return;  // data
    const int name_node = tree_.Child(declarator, "declarator");
    const int body = tree_.Child(node, "body");
    const Spaces spaces = SpacesIn(node, tree_[declarator].begin);
    if (spaces.global || spaces.memory) return RefuseNode(node, "a member of an unknown kind");
    const std::string text = TextOf(node);
    if (text.starts_with("virtual")) return RefuseNode(node, "a virtual function");
    if (body < 0 && tree_.Is(node, "function_definition")) return;  // = default, = delete
    if (body >= 0 && (!tree_.Is(body, "compound_statement") || !Closed(body))) {
      return RefuseNode(node, "a member function of an unknown form");
    }
    if (spaces.Both()) return;
    if (spaces.DeviceOnly()) {
      if (body < 0) return;
      size_t begin = tree_[body].begin;
      for (const int child : tree_.NamedChildren(node)) {
        if (tree_.Is(child, "field_initializer_list")) begin = tree_[child].begin;
      }
      found_.device_bodies.push_back({begin, tree_[body].end});
      found_.host_edits.push_back({{begin, tree_[body].end}, ";"});
      return;
    }
    if (!tree_.Is(name_node, "field_identifier")) return RefuseNode(node, "a special member of the host alone");
    const int parent = tree_[node].parent;
    const int outer = tree_.Is(parent, "template_declaration") ? parent : node;
    found_.device_edits.push_back(RangeOf(outer));
    found_.items.push_back({{}, CudaPart::kHost, TextOf(name_node), false, false});
  }

  // A function of the same form that launches the kernel of this name: what nvcc makes of it for the host.
  void Kernel(int node, int declarator, int body, const std::string& scope) {
    const int name_node = tree_.Child(declarator, "declarator");
    if (!tree_.Is(name_node, "identifier")) return RefuseNode(node, "a kernel with a name of an unknown form");
    const std::string name = TextOf(name_node);
    std::string arguments, own_parameters;
    for (const int child : tree_.NamedChildren(tree_.Child(declarator, "parameters"))) {
      const int parameter = Innermost(tree_.Child(child, "declarator"));
      const bool known = tree_.Is(child, "parameter_declaration") || tree_.Is(child, "optional_parameter_declaration");
      if (known && parameter < 0 && TextOf(child) == "void") continue;
      const std::string argument = TextOf(parameter);
      if (!known || !tree_.Is(parameter, "identifier") || argument == name) {
        return RefuseNode(child, "a kernel's parameter of an unknown form");
      }
      arguments += fmt::format("{}::kb_nvrtc::Address({})", arguments.empty() ? "" : ", ", argument);
    }
    if (template_parameters_ >= 0) {
      for (const int child : tree_.NamedChildren(template_parameters_)) {
        const std::string parameter = TemplateParameter(child);
        if (parameter.empty()) return RefuseNode(child, "a kernel's template parameter of an unknown form");
        own_parameters += (own_parameters.empty() ? "<" : ", ") + parameter;
      }
      own_parameters += own_parameters.empty() ? "<>" : ">";
    }
    const auto same = [&](const CudaKernel& other) { return other.name == name; };
    if (std::any_of(found_.kernels.begin(), found_.kernels.end(), same)) {
      return RefuseNode(node, "two kernels of one name");
    }
    found_.kernels.push_back({scope, name, tree_[name_node].begin, template_parameters_ >= 0});
    found_.device_bodies.push_back(RangeOf(body));
    const std::string instance = name + own_parameters;
    std::string text = "{ ";
    if (!own_parameters.empty()) text += fmt::format("(void)sizeof(::kb_nvrtc::Registered<&{}>); ", instance);
    text += arguments.empty() ? "void* kb_arguments[1] = {nullptr}; "
                              : fmt::format("void* kb_arguments[] = {{{}}}; ", arguments);
    text += fmt::format("::kb_nvrtc::Launch(reinterpret_cast<const void*>(&{}), kb_arguments); }}", instance);
    found_.host_edits.push_back({RangeOf(body), text});
  }

  std::string TemplateParameter(int node) const {
    const std::string_view type = tree_[node].type;
    if (type == "parameter_declaration" || type == "optional_parameter_declaration") {
      const int inner = Innermost(tree_.Child(node, "declarator"));
      return tree_.Is(inner, "identifier") ? TextOf(inner) : "";
    }
    if (type == "type_parameter_declaration") {
      const auto children = tree_.NamedChildren(node);
      return children.empty() ? "" : TextOf(children.back());
    }
    return type == "optional_type_parameter_declaration" ? TextOf(tree_.Child(node, "name")) : "";
  }

  bool InDeviceBody(size_t byte) const {
    return std::any_of(found_.device_bodies.begin(), found_.device_bodies.end(),
                       [&](const TextRange& body) { return body.Holds(byte); });
  }

  // K<<<g, b, s, t>>>(x) is what nvcc makes of it: ((__cudaPushCallConfiguration(g, b, s, t)) ? (void)0 : K(x)).
  void FindUses() {
    for (int node = 0; node < tree_.size() && !refused(); ++node) {
      if (tree_.Is(node, "template_function")) {
        const int name = tree_.Child(node, "name");
        found_.uses.push_back({tree_[name].begin, source_.substr(tree_[name].end, tree_[node].end - tree_[name].end)});
      }
      if (!tree_.Is(node, "kernel_call_syntax")) continue;
      const int call = tree_[node].parent;
      const int function = tree_.Child(call, "function"), arguments = tree_.Child(call, "arguments");
      if (!tree_.Is(call, "call_expression") || function < 0 || arguments < 0 || InDeviceBody(tree_[node].begin)) {
        return RefuseNode(node, "a launch of an unknown form");
      }
      const std::string callee = TextOf(function);
      // nvcc refuses to launch what is no kernel; here it would be called.
      const auto qualified = callee.substr(0, callee.find('<'));
      const auto name = qualified.substr(qualified.rfind(':') + 1);
      if (std::any_of(found_.items.begin(), found_.items.end(),
                      [&](const CudaItem& item) { return item.name == name; })) {
        return RefuseNode(node, "a launch of what is no kernel");
      }
      if (callee.find_first_of("\n/\"'\\") != std::string::npos || Length(node) < 7) {
        return RefuseNode(node, "a launch of an unknown form");
      }
      const TextRange whole = RangeOf(node);
      found_.launches.push_back({RangeOf(function), "((__cudaPushCallConfiguration"});
      found_.launches.push_back({{whole.begin, whole.begin + 3}, "("});
      found_.launches.push_back({{whole.end - 3, whole.end}, ")) ? (void)0 : " + callee});
      found_.launches.push_back({{tree_[arguments].end, tree_[arguments].end}, ")"});
    }
  }

  // Text that does not follow the grammar is accepted in the bodies of device functions, whose ends are certain.
  void CheckErrors() {
    for (int node = 0; node < tree_.size() && !refused(); ++node) {
      const bool missing = tree_[node].begin == tree_[node].end && node > 0;
      const bool condition = tree_[node].type.starts_with("preproc_if") || tree_[node].type == "preproc_elif";
      if ((missing || tree_.Is(node, "ERROR")) && !InDeviceBody(tree_[node].begin)) {
        RefuseNode(node, kUngrammatical);
      } else if (condition) {
        CheckCondition(node);
      } else if (tree_.Is(node, "preproc_call") && !IsKnownPragma(TextOf(node))) {
        RefuseNode(node, "a directive of the preprocessor");
      }
    }
  }

  void CheckCondition(int node) {
    if (!tree_[node].named) return;
    const int condition = std::max(tree_.Child(node, "condition"), tree_.Child(node, "name"));
    const auto words = condition < 0 ? std::vector<CudaWord>() : WordsIn(tree_[condition].begin, tree_[condition].end);
    const bool known = std::all_of(words.begin(), words.end(), [](const CudaWord& word) {
      return !word.IsName() || word.Is("defined") || word.Is("__CUDA_ARCH__");
    });
    if (!InDeviceBody(tree_[node].begin) || words.empty() || !known) {
      RefuseNode(node, "text that depends on a condition of the preprocessor");
    }
  }

  const std::string& source_;
  const std::vector<CudaWord> words_;
  const LineIndex lines_;
  ParseBudget budget_;
  CudaItems found_;
  const SyntaxTree tree_;
  int template_parameters_ = -1;  // of the template whose declaration is being looked at
};

}  // namespace

CudaItems FindCudaItems(const std::string& source) {
  if (source.size() > kMostSplitBytes) {
    CudaItems refused;
    refused.refusal = "it is long";
    return refused;
  }
  return Finder(source).Run();
}

}  // namespace kb

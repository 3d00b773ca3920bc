#include "judge/static/python_rules.h"

#include <algorithm>
#include <unordered_set>

#include "judge/static/tables.h"

namespace kb {
namespace {

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// "torch.empty().mm" -> ".mm": a method of a value. Other names stay.
std::string Method(const std::string& name) {
  const size_t call = name.rfind("().");
  return call == std::string::npos ? name : name.substr(call + 2);
}

std::string Say(const NameRule& rule, std::string_view name) {
  std::string reason = rule.reason;
  const size_t at = reason.find("{}");
  return at == std::string::npos ? reason : reason.replace(at, 2, name.substr(name.find_first_not_of('.')));
}

// How a function comes by its own frame; a call of it is that frame.
bool GivesFrame(std::string_view name) { return name == "inspect.currentframe" || name == "sys._getframe"; }
bool IsFrame(std::string_view name) { return EndsWith(name, "()") && GivesFrame(name.substr(0, name.size() - 2)); }

bool IsTimer(const NameRule* rule) { return rule != nullptr && std::string_view(rule->rule) == "timing_event_patch"; }

// What replacing `name` means. What an instance of a known class is given, its class may be given too: that counts
// where it is a timer's.
const NameRule* Patched(const std::string& name) {
  if (const NameRule* rule = PythonPatched(Method(name))) return rule;
  const size_t call = name.rfind("().");
  if (call == std::string::npos) return nullptr;
  const NameRule* rule = PythonPatched(name.substr(0, call) + name.substr(call + 2));
  return IsTimer(rule) ? rule : nullptr;
}

bool IsKernelDecorator(const std::string& name) {
  return StartsWith(name, "triton.") || StartsWith(name, "tilelang") || StartsWith(name, "cutlass.cute.") ||
         StartsWith(name, "numba.") || EndsWith(name, ".prim_func");
}

class Checker {
 public:
  explicit Checker(const SyntaxTree& tree) : tree_(tree), names_(tree), in_kernel_(tree.nodes().size()) {}

  PythonResult Run() {
    for (int node = 0; node < tree_.size(); ++node) {
      const int parent = tree_[node].parent;
      in_kernel_[static_cast<size_t>(node)] = parent >= 0 && in_kernel_[static_cast<size_t>(parent)];
      if (tree_[node].named) Visit(node);
    }
    for (const int node : loose_strings_) LooseString(node);
    result_.kernels.triton_launch =
        launches_ || std::any_of(triton_kernels_.begin(), triton_kernels_.end(),
                                 [&](const std::string& name) { return subscripted_.count(name) > 0; });
    return std::move(result_);
  }

 private:
  void Hit(const char* rule, int node, std::string reason) {
    result_.hits.push_back({rule, tree_[node].begin, std::move(reason)});
  }
  bool InKernel(int node) const { return in_kernel_[static_cast<size_t>(node)]; }
  int Parent(int node) const { return tree_[node].parent; }

  void Visit(int node) {
    const std::string_view type = tree_[node].type;
    if (type == "identifier" || type == "attribute") {
      Mention(node);
    } else if (type == "subscript") {
      Subscript(node);
    } else if (type == "call") {
      Call(node);
    } else if (type == "assignment" || type == "augmented_assignment") {
      Targets(tree_.Child(node, "left"));
      if (tree_.Is(node, "augmented_assignment") && tree_.Text(tree_.Child(node, "operator")) == "@=") Product(node);
    } else if (type == "for_statement") {
      Targets(tree_.Child(node, "left"));
    } else if (type == "delete_statement" || type == "as_pattern_target") {
      for (const int target : tree_.NamedChildren(node)) Targets(target);
    } else if (type == "binary_operator") {
      if (tree_.Text(tree_.Child(node, "operator")) == "@") Product(node);
    } else if (type == "try_statement") {
      Try(node);
    } else if (type == "pass_statement") {
      Pass(node);
    } else if (type == "class_definition") {
      Class(node);
    } else if (type == "function_definition") {
      Function(node);
    } else if (type == "decorated_definition") {
      Decorated(node);
    } else if (type == "string" || type == "concatenated_string") {
      String(node);
    }
  }

  void Product(int node) {
    if (!InKernel(node)) Hit("torch_computation_ops", node, "@ multiplies matrices in PyTorch");
  }

  // False for names that are being bound, parts of a longer name, and names of arguments.
  bool IsWholeName(int node) const {
    const SyntaxNode& here = tree_[node];
    const std::string_view parent = here.parent < 0 ? std::string_view() : tree_[here.parent].type;
    if (parent == "attribute") return false;  // its object: the longer name is looked up; or the attribute's own word
    if (parent == "keyword_argument" || parent == "default_parameter" || parent == "typed_default_parameter") {
      return here.field == "value";
    }
    if (parent == "assignment" || parent == "augmented_assignment" || parent == "for_statement") {
      return here.field != "left";
    }
    return parent != "parameters" && parent != "lambda_parameters" && parent != "dotted_name" &&
           parent != "function_definition" && parent != "class_definition" && parent != "aliased_import" &&
           parent != "global_statement" && parent != "nonlocal_statement" && parent != "typed_parameter" &&
           parent != "as_pattern_target" && parent != "delete_statement";
  }

  void Mention(int node) {
    if (tree_.Is(node, "attribute")) {
      const std::string_view word = tree_.Text(tree_.Child(node, "attribute"));
      const NameRule* rule = PythonAttribute(word);
      if (rule != nullptr) Hit(rule->rule, node, Say(*rule, word));
      if (rule == nullptr && !TellsPlaceOfFrame(word)) Frame(tree_.Child(node, "object"));
    } else if (IsWholeName(node) && !AsksPlace(node) && !tree_.Is(Parent(node), "comparison_operator")) {
      Frame(node);
    }
    // Where the text is broken an assignment is left as its parts.
    if (tree_.Is(Parent(node), "ERROR") && tree_.Is(tree_[node].next, "=")) Targets(node);
    if (IsWholeName(node)) Look(node, names_.Resolve(node));
  }

  // `name` is what the whole expression `node` stands for.
  void Look(int node, const std::string& name) {
    if (name.empty()) return;
    const bool called = tree_[node].field == "function" && tree_.Is(Parent(node), "call");
    if (name.find("()") != std::string::npos) Module(node, name, called);
    if (EndsWith(name, "()")) return;
    const std::string method = Method(name);
    const NameRule* rule = nullptr;
    if (method[0] != '.') {
      rule = PythonMention(method);
    } else if (called) {
      rule = PythonMethod(std::string_view(method).substr(1));
    }
    if (rule == nullptr || (called && GivesFrame(method) && AsksOwnPlace(Parent(node)))) return;
    const std::string_view about = rule->rule;
    if (about == "precision_downgrade" && tree_.Is(Parent(node), "comparison_operator")) return;
    if (about == "torch_computation_ops" && InKernel(node)) return;
    Hit(rule->rule, node, Say(*rule, method));
  }

  // Whether `call` gives the frame that calls, and that is only asked where it is, or kept in a variable (Frame()).
  bool AsksOwnPlace(int call) const {
    const int depth = names_.Argument(call, 0, "depth");
    if (depth >= 0 && tree_.Text(depth) != "0") return false;
    const bool kept = tree_.Is(Parent(call), "assignment") && tree_.Is(tree_.Child(Parent(call), "left"), "identifier");
    return kept || AsksPlace(call);
  }

  bool AsksPlace(int frame) const {
    const int use = Parent(frame);
    if (tree_.Is(use, "attribute")) return TellsPlaceOfFrame(tree_.Text(tree_.Child(use, "attribute")));
    return tree_.Is(use, "argument_list") &&
           names_.Resolve(tree_.Child(Parent(use), "function")) == "inspect.getframeinfo";
  }

  // A frame that is asked for more, or handed on: there it may be walked where nobody sees it.
  void Frame(int node) {
    const std::string name = names_.Resolve(node);
    if (!IsFrame(name)) return;
    if (const NameRule* rule = PythonMention(name.substr(0, name.size() - 2))) Hit(rule->rule, node, Say(*rule, name));
  }

  // A torch.nn module that is held and called. Its weights may be used: self.fc.weight.
  void Module(int node, const std::string& name, bool called) {
    const size_t call = name.rfind("()");
    const std::string type = name.substr(0, call);
    const std::string_view rest = std::string_view(name).substr(call + 2);
    if (!IsTorchModule(type)) return;
    bool computes = called && (rest.empty() || rest == ".forward" || rest == ".__call__" || rest == "._conv_forward");
    if (!called && rest.empty() && tree_.Is(Parent(node), "argument_list")) {
      const std::string taker = names_.Resolve(tree_.Child(Parent(Parent(node)), "function"));
      computes = taker.empty() || (taker[0] == '.' && taker != ".append" && taker != ".add_module" &&
                                   taker != ".extend" && taker != ".register_module");
    }
    if (computes) Hit("pytorch_wrap", node, type + " does the computation");
  }

  void Subscript(int node) {
    const int value = tree_.Child(node, "value");
    if (tree_.Is(value, "identifier")) subscripted_.insert(std::string(tree_.Text(value)));
    if (tree_[node].field == "function" && tree_.Is(value, "attribute")) launches_ = true;  // self.kernel[grid](...)
    if (IsWholeName(node)) Look(node, names_.Resolve(node));
  }

  // ---- What is replaced ---------------------------------------------------------------------------------------------

  void Targets(int target) {
    if (target < 0) return;
    if (tree_.Is(target, "pattern_list") || tree_.Is(target, "tuple_pattern") || tree_.Is(target, "expression_list")) {
      for (const int each : tree_.NamedChildren(target)) Replaced(each, names_.Resolve(each));
    } else {
      Replaced(target, names_.Resolve(target));
    }
    if (tree_.Is(target, "subscript") && names_.Resolve(target).empty()) {
      const std::string of = names_.Resolve(tree_.Child(target, "value"));
      if (of == "os.environ" || of == "os.environb") Replaced(target, of);
    }
  }

  void Replaced(int target, const std::string& name) {
    if (name.empty() || tree_.Is(target, "identifier")) return;
    const std::string method = Method(name);
    if (name.size() >= 2 && EndsWith(name, "()")) return;
    const bool own = tree_.Text(tree_.Child(target, "object")) == "self" && !StartsWith(method, ".__");
    if (own && !names_.SelfAttribute(std::string(tree_.Text(tree_.Child(target, "attribute")))).empty()) return;
    if (own && method[0] == '.') return;
    if (const NameRule* rule = Patched(name)) Hit(rule->rule, target, Say(*rule, method));
  }

  void Setattr(int call, int object, int attribute) {
    const std::string base = names_.Resolve(object);
    if (base.empty() || EndsWith(base, "()")) {
      const auto name = names_.StringValue(attribute);
      const NameRule* rule = name && tree_.Text(object) != "self" ? Patched(base + "." + *name) : nullptr;
      if (rule != nullptr) Hit(rule->rule, call, Say(*rule, *name));
      return;
    }
    const std::string name = base + "." + names_.StringValue(attribute).value_or("*");
    if (const NameRule* rule = PythonPatched(name)) Hit(rule->rule, call, Say(*rule, name));
  }

  // ---- Calls --------------------------------------------------------------------------------------------------------

  void Call(int node) {
    const int function = tree_.Child(node, "function");
    const std::string name = names_.Resolve(function);
    if (tree_.Is(function, "call")) Look(function, names_.Resolve(function));  // nn.Linear(3, 4)(x), getattr(...)(x)
    if (name == "getattr" && tree_[node].field != "function" && IsWholeName(node)) Look(node, names_.Resolve(node));
    if (name == "setattr" || name == "delattr" || EndsWith(name, ".setattr")) {
      Setattr(node, names_.Argument(node, 0, ""), names_.Argument(node, 1, ""));
    } else if (name == "type.__setattr__" || name == "object.__setattr__") {
      Setattr(node, names_.Argument(node, 0, ""), names_.Argument(node, 1, ""));
    } else if (EndsWith(name, ".__setattr__")) {
      Setattr(node, tree_.Child(function, "object"), names_.Argument(node, 0, ""));
    } else if (EndsWith(name, ".__dict__.update") || EndsWith(name, ".__dict__.__setitem__")) {
      const std::string base = name.substr(0, name.rfind(".__dict__"));
      if (const NameRule* rule = PythonPatched(base + ".*")) Hit(rule->rule, node, Say(*rule, base));
    } else if (EndsWith(name, "mock.patch")) {
      const auto what = names_.StringValue(names_.Argument(node, 0, "target"));
      if (const NameRule* rule = what ? PythonPatched(*what) : nullptr) Hit(rule->rule, node, Say(*rule, *what));
    } else if (name == "exec" || name == "eval" || name == "compile") {
      Embed(names_.Argument(node, 0, "source"), Grammar::kPython);
    }
    Builds(node, name);
  }

  // Calls that are given source text.
  void Builds(int node, const std::string& name) {
    if (EndsWith(name, "load_inline")) {
      const bool cpp = Embed(names_.Argument(node, 1, "cpp_sources"), Grammar::kCpp);
      const bool cuda = Embed(names_.Argument(node, 2, "cuda_sources"), Grammar::kCuda);
      if (!cpp && !cuda) result_.kernels.unseen_source = true;
    } else if (name == "torch.utils.cpp_extension.load" || name == "torch.ops.load_library") {
      result_.kernels.unseen_source = true;
    } else if (EndsWith(name, "RawKernel") || EndsWith(name, "RawModule") || EndsWith(name, "SourceModule") ||
               EndsWith(name, "_compile_kernel")) {
      if (!Embed(names_.Argument(node, 0, "code"), Grammar::kCuda)) result_.kernels.unseen_source = true;
      result_.kernels.cuda_launch = true;
    }
  }

  bool Embed(int node, Grammar grammar) {
    if (node < 0) return false;
    LiteralText source = names_.SourceText(node);
    if (source.text.find_first_not_of(" \t\r\n") == std::string::npos) return false;
    for (const int literal : source.literals) embedded_.insert(literal);
    result_.sources.push_back({std::move(source), grammar});
    return true;
  }

  // ---- Strings that no call was seen to take ------------------------------------------------------------------------

  void String(int node) {
    const int parent = Parent(node);
    const bool documents = tree_.Is(parent, "expression_statement");
    if (!documents && !tree_.Is(parent, "concatenated_string")) loose_strings_.push_back(node);
  }

  void LooseString(int node) {
    const int first = tree_.Is(node, "concatenated_string") ? tree_.NamedChildren(node)[0] : node;
    if (embedded_.count(first) > 0) return;
    const std::string_view text = tree_.Text(node);
    const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
    const bool cuda = has("__global__") || has("__device__");
    if (cuda || has("#include") || has("torch::Tensor") || has("at::Tensor")) {
      Embed(node, cuda ? Grammar::kCuda : Grammar::kCpp);
    }
  }

  // ---- Statements ---------------------------------------------------------------------------------------------------

  bool OnlyImports(int block) const {
    const std::vector<int> statements = tree_.NamedChildren(block);
    return !statements.empty() && std::all_of(statements.begin(), statements.end(), [&](int each) {
      return tree_.Is(each, "import_statement") || tree_.Is(each, "import_from_statement");
    });
  }

  bool Reraises(int clause) const {
    const std::vector<int> parts = tree_.NamedChildren(clause);
    const std::vector<int> statements = parts.empty() ? std::vector<int>() : tree_.NamedChildren(parts.back());
    return !statements.empty() && tree_.Is(statements.back(), "raise_statement");
  }

  void Try(int node) {
    if (OnlyImports(tree_.Child(node, "body"))) return;
    for (const int clause : tree_.NamedChildren(node)) {
      const bool handler = tree_.Is(clause, "except_clause") || tree_.Is(clause, "except_group_clause");
      if (handler && !Reraises(clause)) return Hit("code_bypass", node, "try with a fallback for when it fails");
    }
  }

  void Pass(int node) {
    const int owner = Parent(node) < 0 ? -1 : Parent(Parent(node));
    if (InKernel(node) || owner < 0) return;
    if (tree_.Is(owner, "class_definition") && tree_.Text(tree_.Child(owner, "name")) != "ModelNew") return;
    if (tree_.Is(owner, "except_clause") && OnlyImports(tree_.Child(Parent(owner), "body"))) return;
    Hit("code_bypass", node, "pass where something should be computed");
  }

  void Class(int node) {
    if (tree_.Text(tree_.Child(node, "name")) == "ModelNew") result_.model_byte = tree_[node].begin;
    for (const int base : tree_.NamedChildren(tree_.Child(node, "superclasses"))) {
      const std::string name = names_.Resolve(base);
      if (name == "torch.Tensor" || name == "torch.nn.Parameter" || name == "torch.nn.parameter.Parameter") {
        Hit("lazy_eval", node, "a subclass of " + name + " may compute only when looked at");
      } else if (IsTorchModule(name)) {
        Hit("pytorch_wrap", node, "it inherits the computation of " + name);
      }
    }
  }

  void Function(int node) {
    const std::string_view name = tree_.Text(tree_.Child(node, "name"));
    if (name == "__torch_function__" || name == "__torch_dispatch__") {
      Hit("lazy_eval", node, std::string(name) + " intercepts operators");
    }
  }

  void Decorated(int node) {
    const int definition = tree_.Child(node, "definition");
    for (const int child : tree_.NamedChildren(node)) {
      if (!tree_.Is(child, "decorator") || tree_.NamedChildren(child).empty()) continue;
      int what = tree_.NamedChildren(child)[0];
      if (tree_.Is(what, "call")) what = tree_.Child(what, "function");
      const std::string name = names_.Resolve(what);
      if (!IsKernelDecorator(name)) continue;
      in_kernel_[static_cast<size_t>(node)] = true;
      result_.kernel_names.emplace_back(tree_.Text(tree_.Child(definition, "name")));
      KernelFacts& kernels = result_.kernels;
      if (name == "triton.jit" || name == "triton.runtime.jit") {
        // A kernel that stores nothing computes nothing.
        kernels.triton_kernel = kernels.triton_kernel || Stores(definition);
        triton_kernels_.insert(std::string(tree_.Text(tree_.Child(definition, "name"))));
      }
      kernels.tilelang_kernel |= StartsWith(name, "tilelang") || EndsWith(name, ".prim_func");
      kernels.cute |= StartsWith(name, "cutlass.cute.");
      kernels.other_kernel |= StartsWith(name, "numba.");
    }
  }

  bool Stores(int definition) const {
    const std::string_view text = tree_.Text(definition);
    return text.find("store") != std::string_view::npos || text.find("atomic_") != std::string_view::npos;
  }

  const SyntaxTree& tree_;
  PythonNames names_;
  std::vector<char> in_kernel_;
  PythonResult result_;
  std::unordered_set<int> embedded_;
  std::vector<int> loose_strings_;
  std::unordered_set<std::string> triton_kernels_, subscripted_;
  bool launches_ = false;
};

}  // namespace

PythonResult CheckPython(const SyntaxTree& tree) { return Checker(tree).Run(); }

}  // namespace kb

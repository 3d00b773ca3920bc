#include "judge/problem/metadata.h"

#include <charconv>
#include <optional>

#include "judge/static/syntax.h"

namespace kb {
namespace {

using Value = nlohmann::ordered_json;

constexpr int kDeepest = 16;  // of nested literals; deeper ones are nobody's metadata

// The characters of one string literal. Escapes that metadata has no use for stay as they are written.
std::string StringText(const SyntaxTree& tree, int node) {
  std::string text;
  for (const int part : tree.NamedChildren(node)) {
    if (!tree.Is(part, "string_content")) continue;
    const std::string_view written = tree.Text(part);
    for (size_t i = 0; i < written.size(); ++i) {
      if (written[i] != '\\' || i + 1 == written.size()) {
        text += written[i];
        continue;
      }
      const char escaped = written[++i];
      if (escaped == 'n') {
        text += '\n';
      } else if (escaped == '\\' || escaped == '"' || escaped == '\'') {
        text += escaped;
      } else if (escaped != '\n') {
        text += {'\\', escaped};
      }
    }
  }
  return text;
}

std::optional<Value> Number(std::string_view written) {
  std::string digits;
  for (const char c : written) {
    if (c != '_') digits += c;
  }
  const char* end = digits.data() + digits.size();
  int64_t whole = 0;
  if (std::from_chars(digits.data(), end, whole).ptr == end) return whole;
  double real = 0;
  if (std::from_chars(digits.data(), end, real).ptr == end) return real;
  return std::nullopt;
}

std::optional<Value> Literal(const SyntaxTree& tree, int node, int depth);

std::optional<Value> Items(const SyntaxTree& tree, int node, int depth) {
  Value list = Value::array();
  for (const int item : tree.NamedChildren(node)) {
    const auto value = Literal(tree, item, depth + 1);
    if (!value) return std::nullopt;
    list.push_back(*value);
  }
  return list;
}

std::optional<Value> Dictionary(const SyntaxTree& tree, int node, int depth) {
  Value dictionary = Value::object();
  for (const int pair : tree.NamedChildren(node)) {
    if (!tree.Is(pair, "pair")) return std::nullopt;
    const auto key = Literal(tree, tree.Child(pair, "key"), depth + 1);
    const auto value = Literal(tree, tree.Child(pair, "value"), depth + 1);
    if (!key || !key->is_string() || !value) return std::nullopt;
    dictionary[key->get<std::string>()] = *value;
  }
  return dictionary;
}

std::optional<Value> Literal(const SyntaxTree& tree, int node, int depth) {
  if (node < 0 || depth > kDeepest) return std::nullopt;
  const std::string_view type = tree[node].type;
  if (type == "string") return StringText(tree, node);
  if (type == "concatenated_string") {
    std::string text;
    for (const int part : tree.NamedChildren(node)) text += StringText(tree, part);
    return text;
  }
  if (type == "integer" || type == "float") return Number(tree.Text(node));
  if (type == "true" || type == "false") return type == "true";
  if (type == "none") return Value();
  if (type == "tuple" || type == "list") return Items(tree, node, depth);
  if (type == "dictionary") return Dictionary(tree, node, depth);
  const std::vector<int> inner = tree.NamedChildren(node);
  if (type == "parenthesized_expression" && inner.size() == 1) return Literal(tree, inner[0], depth + 1);
  if (type == "unary_operator" && inner.size() == 1 && tree.Text(node).starts_with('-')) {
    const auto value = Literal(tree, inner[0], depth + 1);
    if (value && value->is_number_integer()) return -value->get<int64_t>();
    if (value && value->is_number()) return -value->get<double>();
  }
  return std::nullopt;
}

std::vector<std::string> Strings(const Value& constants, const char* name, std::vector<std::string> otherwise) {
  const auto found = constants.find(name);
  if (found == constants.end() || !found->is_array()) return otherwise;
  std::vector<std::string> strings;
  for (const Value& item : *found) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

std::string Text(const Value& constants, const char* name) {
  const auto found = constants.find(name);
  return found != constants.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

nlohmann::ordered_json ReadConstants(const std::string& source) {
  Value constants = Value::object();
  ParseBudget budget(source.size());
  const SyntaxTree tree(source, Grammar::kPython, &budget);
  if (!tree.complete() || tree.size() == 0) return constants;
  for (const int statement : tree.NamedChildren(0)) {
    if (!tree.Is(statement, "expression_statement")) continue;
    for (const int assignment : tree.NamedChildren(statement)) {
      const int name = tree.Child(assignment, "left");
      if (!tree.Is(assignment, "assignment") || !tree.Is(name, "identifier")) continue;
      if (const auto value = Literal(tree, tree.Child(assignment, "right"), 0)) {
        constants[std::string(tree.Text(name))] = *value;
      }
    }
  }
  return constants;
}

ProblemMetadata ReadMetadata(const std::string& source) {
  const Value constants = ReadConstants(source);
  ProblemMetadata metadata;
  metadata.family = Text(constants, "FAMILY");
  metadata.sizes = {"standard"};
  if (const auto sizes = constants.find("SIZES"); sizes != constants.end() && sizes->is_object()) {
    for (const auto& [name, overrides] : sizes->items()) metadata.sizes.push_back(name);
  }
  metadata.distributions = Strings(constants, "DISTRIBUTIONS", {});
  metadata.precisions = Strings(constants, "PRECISIONS", metadata.precisions);
  metadata.needs_torch_rng = constants.value("NEEDS_TORCH_RNG", Value(false)) == true;
  metadata.collapses = Text(constants, "COLLAPSES");
  metadata.unscored = Text(constants, "UNSCORED");
  if (const auto differ = constants.find("FACTS_DIFFER"); differ != constants.end() && differ->is_object()) {
    metadata.facts_differ = *differ;
  }
  return metadata;
}

}  // namespace kb

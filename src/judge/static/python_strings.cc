// PythonNames::SourceText(): the text that string literals make up. Sums of strings can nest as deep as a file is long,
// so the work is a list of nodes that are still to be read, not recursion.
#include <algorithm>
#include <unordered_set>

#include "judge/static/python_names.h"

namespace kb {
namespace {

constexpr size_t kMostNodes = 100'000;
// Of a name or a path: longer strings are no value that a rule asks for, and it may ask often.
constexpr size_t kMostNodesOfValue = 100, kMostBytesOfValue = 1000;

void Add(char c, size_t from, LiteralText* out) {
  out->text += c;
  out->origin.push_back(static_cast<uint32_t>(from));
}

// The byte that an escape sequence at `at` (the backslash) stands for, and how long it is. What no C++ keyword or name
// is written with comes out as '?'.
std::pair<char, size_t> Escape(std::string_view text, size_t at) {
  const char kind = text[at + 1];
  constexpr std::string_view kSimple = "n\nt\tr\r\\\\''\"\"a\ab\bf\fv\v";
  for (size_t i = 0; i < kSimple.size(); i += 2) {
    if (kSimple[i] == kind) return {kSimple[i + 1], 2};
  }
  const auto number = [&](size_t begin, size_t most, int base) -> std::pair<char, size_t> {
    int value = 0;
    size_t i = begin;
    for (; i < text.size() && i < begin + most; ++i) {
      const int digit = isdigit(static_cast<unsigned char>(text[i]))    ? text[i] - '0'
                        : isxdigit(static_cast<unsigned char>(text[i])) ? (text[i] | 32) - 'a' + 10
                                                                        : 99;
      if (digit >= base) break;
      value = std::min(value * base + digit, 0x110000);
    }
    return {value < 128 ? static_cast<char>(value) : '?', i - at};
  };
  if (kind == 'x') return number(at + 2, 2, 16);
  if (kind == 'u') return number(at + 2, 4, 16);
  if (kind == 'U') return number(at + 2, 8, 16);
  if (kind >= '0' && kind <= '7') return number(at + 1, 3, 8);
  return {'\\', 1};
}

// A part of a literal between its quotes.
void AddContent(std::string_view file, size_t begin, size_t end, bool raw, bool format, LiteralText* out) {
  const std::string_view text = file.substr(0, end);
  for (size_t i = begin; i < end;) {
    if (!raw && text[i] == '\\' && i + 1 < end) {
      if (text[i + 1] == '\n') {
        i += 2;
        continue;
      }
      const auto [c, length] = Escape(text, i);
      Add(c, i, out);
      i += length;
    } else {
      Add(text[i], i, out);
      const bool doubled = format && (text[i] == '{' || text[i] == '}') && i + 1 < end && text[i + 1] == text[i];
      i += doubled ? 2 : 1;
    }
  }
}

}  // namespace

// `node` is of type string.
void PythonNames::AppendLiteral(int node, LiteralText* out) const {
  bool raw = false, format = false;
  size_t at = tree_[node].begin, end = tree_[node].end;
  out->literals.push_back(node);
  for (int child = tree_[node].first_child; child >= 0; child = tree_[child].next) {
    const SyntaxNode& part = tree_[child];
    if (part.type == "string_start") {
      const std::string_view prefix = tree_.Text(child);
      raw = prefix.find_first_of("rR") != std::string_view::npos;
      format = prefix.find_first_of("fF") != std::string_view::npos;
      at = part.end;
    } else if (part.type == "string_end") {
      end = part.begin;
    } else if (part.type == "interpolation") {
      AddContent(tree_.text(), at, part.begin, raw, format, out);
      Add('1', part.begin, out);  // in the place of a number, most often
      at = part.end;
    }
  }
  if (at < end) AddContent(tree_.text(), at, end, raw, format, out);
}

LiteralText PythonNames::SourceText(int node) const { return TextOf(node, kMostNodes, kMaxAnalysedBytes); }

std::optional<std::string> PythonNames::StringValue(int node) const {
  if (node < 0) return std::nullopt;
  const std::string_view type = tree_[node].type;
  const bool literal = type == "string" || type == "concatenated_string";
  const bool composed = type == "binary_operator" || type == "identifier" || type == "parenthesized_expression";
  if (!literal && !composed) return std::nullopt;
  LiteralText value = TextOf(node, kMostNodesOfValue, kMostBytesOfValue);
  if (value.literals.empty()) return std::nullopt;
  return std::move(value.text);
}

LiteralText PythonNames::TextOf(int node, size_t most_nodes, size_t most_bytes) const {
  LiteralText out;
  std::unordered_set<std::string> seen;  // variables
  constexpr int kNewline = -1;
  std::vector<int> todo = {node};
  const auto later = [&](std::vector<int> nodes, bool lines) {
    for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
      if (*at >= 0) todo.push_back(*at);
      if (lines) todo.push_back(kNewline);
    }
  };
  const auto variable = [&](const std::string& name) {
    const auto values = values_.find(name);
    if (values != values_.end() && values->second.size() <= most_nodes && seen.insert(name).second)
      later(values->second, values->second.size() > 1);
  };
  for (size_t steps = 0; !todo.empty() && steps < most_nodes && out.text.size() < most_bytes; ++steps) {
    const int now = todo.back();
    todo.pop_back();
    if (now == kNewline) {
      if (!out.text.empty()) Add('\n', out.origin.back(), &out);
      continue;
    }
    const std::string_view type = tree_[now].type;
    if (type == "string") {
      if (tree_[now].end - tree_[now].begin <= most_bytes) AppendLiteral(now, &out);
    } else if (type == "concatenated_string" || type == "parenthesized_expression" ||
               type == "conditional_expression") {
      later(tree_.NamedChildren(now), false);
    } else if (type == "list" || type == "tuple" || type == "argument_list") {
      later(tree_.NamedChildren(now), true);
    } else if (type == "binary_operator") {
      const bool sum = tree_.Text(tree_.Child(now, "operator")) == "+";
      later({tree_.Child(now, "left"), sum ? tree_.Child(now, "right") : -1}, false);
    } else if (type == "identifier") {
      variable(std::string(tree_.Text(now)));
    } else if (type == "attribute" && tree_.Text(tree_.Child(now, "object")) == "self") {
      variable(std::string(tree_.Text(now)));
    } else if (type == "call") {
      // "...".format(n), "...".replace("N", "4"), textwrap.dedent("..."), "\n".join([...])
      const int function = tree_.Child(now, "function"), object = tree_.Child(function, "object");
      const std::string_view method = tree_.Text(tree_.Child(function, "attribute"));
      const bool of_object = method == "format" || method == "replace" || method == "strip" || method == "substitute";
      later({of_object ? object : tree_.Child(now, "arguments")}, false);
    }
  }
  return out;
}

}  // namespace kb

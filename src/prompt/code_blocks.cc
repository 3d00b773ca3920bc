#include "prompt/code_blocks.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>

namespace kb {
namespace {

constexpr std::string_view kBlank = " \t";
constexpr int kDeepestMarkdown = 3;        // a block of Markdown in a block of Markdown
constexpr int64_t kMostFences = 10'000;    // of one answer; one with more holds no code
constexpr size_t kMostFollowed = 1 << 26;  // bytes of one answer in which strings are looked for

std::string_view TrimBlank(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Follows Python's strings and comments, no more than is needed to know whether a triple-quoted string is open.
class PythonStrings {
 public:
  void Feed(std::string_view line) {
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (open_ != 0) {
        if (c == '\\') {
          ++i;
        } else if (c == open_ && IsTriple(line, i)) {
          open_ = 0;
          i += 2;
        }
      } else if (c == '#') {
        return;
      } else if ((c == '"' || c == '\'') && IsTriple(line, i)) {
        open_ = c;
        i += 2;
      } else if (c == '"' || c == '\'') {
        for (++i; i < line.size() && line[i] != c; ++i) i += line[i] == '\\';
      }
    }
  }
  bool open() const { return open_ != 0; }

 private:
  static bool IsTriple(std::string_view line, size_t at) {
    return at + 2 < line.size() && line[at + 1] == line[at] && line[at + 2] == line[at];
  }
  char open_ = 0;  // the quote of the open triple-quoted string
};

struct Fence {
  char mark = 0;
  size_t length = 0, indent = 0;
  std::string info;
};

std::optional<Fence> FenceOf(std::string_view line) {
  const size_t indent = std::min(line.find_first_not_of(kBlank), line.size());
  std::string_view rest = line.substr(indent);
  if (rest.empty() || (rest[0] != '`' && rest[0] != '~')) return std::nullopt;
  const size_t length = std::min(rest.find_first_not_of(rest[0]), rest.size());
  if (length < 3) return std::nullopt;
  const std::string_view info = TrimBlank(rest.substr(length));
  if (rest[0] == '`' && info.find('`') != std::string_view::npos) return std::nullopt;  // `code` within a line
  Fence fence{rest[0], length, indent, std::string(info)};
  std::transform(fence.info.begin(), fence.info.end(), fence.info.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return fence;
}

// The language that an opening fence names.
std::string_view FirstWord(std::string_view info) {
  return info.substr(0, std::min(info.find_first_of(" :{,"), info.size()));
}

bool IsMarkdown(std::string_view info) {
  constexpr std::string_view kNames[] = {"markdown", "md", "mdown", "mkd", "mdx", "gfm"};
  return std::find(std::begin(kNames), std::end(kNames), FirstWord(info)) != std::end(kNames);
}

// A sentence that follows a closing fence on its line, rather than a language with a file or attributes.
bool IsSentence(std::string_view info) { return std::count(info.begin(), info.end(), ' ') > 2; }

class BlockReader {
 public:
  explicit BlockReader(std::string_view text) : lines_(SplitLines(text)) {}

  std::vector<CodeBlock> Read() {
    const auto fences =
        std::count_if(lines_.begin(), lines_.end(), [](std::string_view line) { return FenceOf(line); });
    if (fences > kMostFences) return {};
    for (size_t at = 0; at < lines_.size();) {
      const auto fence = FenceOf(lines_[at]);
      if (!fence) {
        ++at;
        continue;
      }
      at = ReadBlock(*fence, at + 1);
    }
    return std::move(blocks_);
  }

 private:
  // Adds the block whose first line is `begin`; returns where to go on.
  size_t ReadBlock(const Fence& fence, size_t begin) {
    const size_t last = lines_.size();
    PythonStrings strings;
    std::optional<size_t> inside_string;  // the first fence that a string kept from closing the block
    for (size_t at = begin; at < last; ++at) {
      const auto found = FenceOf(lines_[at]);
      if (found && found->mark == fence.mark && found->length >= fence.length) {
        const bool closes = found->info.empty() || IsSentence(found->info);
        if (strings.open() && closes) {
          if (!inside_string) inside_string = at;
        } else if (closes) {
          return Add(fence, begin, at, true), at + 1;
        } else if (!strings.open()) {
          return Add(fence, begin, at, false), at;
        }
      }
      if (IsCpp(fence.info) || IsMarkdown(fence.info)) continue;
      if (inside_string && followed_ > kMostFollowed) break;
      strings.Feed(lines_[at]);
      followed_ += lines_[at].size();
    }
    // No fence outside of strings: rather a quote that was misread than a string with half of the answer in it.
    if (inside_string) return Add(fence, begin, *inside_string, true), *inside_string + 1;
    Add(fence, begin, last, false);
    CodeBlock& block = blocks_.back();
    const std::string mark(fence.length, fence.mark);
    const size_t end = block.text.find_last_not_of(" \t\n");
    if (end != std::string::npos && block.text.substr(0, end + 1).ends_with(mark)) {  // "return y```"
      block.text.resize(end + 1 - mark.size());
      block.text += '\n';
      block.closed = true;
    }
    return last;
  }

  void Add(const Fence& fence, size_t begin, size_t end, bool closed) {
    CodeBlock block{"", fence.info, closed};
    for (size_t at = begin; at < end; ++at) {
      const size_t indent = std::min(lines_[at].find_first_not_of(kBlank), lines_[at].size());
      block.text += lines_[at].substr(std::min(indent, fence.indent));
      block.text += '\n';
    }
    blocks_.push_back(std::move(block));
  }

  std::vector<std::string_view> lines_;
  std::vector<CodeBlock> blocks_;
  size_t followed_ = 0;
};

bool StartsWithAny(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return line.starts_with(word); });
}

// Whether a line that is not indented is a statement of Python.
bool LooksLikePython(std::string_view line) {
  if (line.starts_with("#")) return !line.starts_with("##");  // a heading of Markdown
  if (StartsWithAny(line, {"import ", "def ", "class ", "@", "\"\"\"", "'''", "r\"\"\"", ")", "]", "}",
                           "else:", "try:", "except", "finally:", "async def "})) {
    return !line.starts_with("import ") || line.find('.') != line.size() - 1;
  }
  if (line.starts_with("from ")) return line.find(" import ") != std::string_view::npos;
  if (StartsWithAny(line, {"if ", "for ", "while ", "with "})) return line.ends_with(':');
  const size_t name =
      std::min(line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), line.size());
  if (name == 0 || name == line.size() || std::isdigit(static_cast<unsigned char>(line[0]))) return false;
  const std::string_view rest = line.substr(name);
  if (rest[0] == '(' || rest[0] == '[') return line.find_first_of(")]") != std::string_view::npos || rest.size() == 1;
  if (rest[0] == '.') return rest.size() > 1 && (std::isalpha(static_cast<unsigned char>(rest[1])) || rest[1] == '_');
  const std::string_view sign = TrimBlank(rest);
  return sign.starts_with('=') || (sign.starts_with(':') && sign.find('=') != std::string_view::npos);
}

bool LooksLikeCpp(std::string_view line) {
  if (StartsWithAny(line, {"#include",   "#define",    "#pragma",    "#if",     "#else",    "#endif",    "#undef",
                           "//",         "/*",         " *",         "}",       "{",        "namespace", "template",
                           "static ",    "extern ",    "constexpr ", "using ",  "typedef ", "struct ",   "inline ",
                           "__global__", "__device__", "KB_EXPORT",  "public:", "private:"})) {
    return true;
  }
  const char last = line.empty() ? ' ' : line.back();
  return last == ';' || last == '{' || last == '}' || (last == ',' && line.find('(') != std::string_view::npos);
}

}  // namespace

std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool EndsInsidePythonString(std::string_view text) {
  PythonStrings strings;
  for (const std::string_view line : SplitLines(text)) strings.Feed(line);
  return strings.open();
}

bool IsCpp(std::string_view info) {
  constexpr std::string_view kNames[] = {"c", "cc", "cpp", "c++", "cxx", "cuda", "cu", "cuda-cpp", "cuda-c++", "hip"};
  return std::find(std::begin(kNames), std::end(kNames), FirstWord(info)) != std::end(kNames);
}

bool HoldsFences(std::string_view text) {
  PythonStrings strings;
  for (const std::string_view line : SplitLines(text)) {
    if (!strings.open() && FenceOf(line)) return true;
    strings.Feed(line);
  }
  return false;
}

std::vector<CodeBlock> CodeBlocks(std::string_view text) {
  std::vector<CodeBlock> blocks = BlockReader(text).Read();
  for (int depth = 0; depth < kDeepestMarkdown; ++depth) {
    std::vector<CodeBlock> inside;
    for (CodeBlock& block : blocks) {
      const bool text_inside = IsMarkdown(block.info) || (!IsCpp(block.info) && HoldsFences(block.text));
      std::vector<CodeBlock> inner = text_inside ? BlockReader(block.text).Read() : std::vector<CodeBlock>();
      if (inner.empty()) inner.push_back(std::move(block));
      std::move(inner.begin(), inner.end(), std::back_inserter(inside));
    }
    blocks = std::move(inside);
  }
  return blocks;
}

std::vector<CodeBlock> UnfencedBlocks(std::string_view text, bool python) {
  std::vector<CodeBlock> blocks;
  PythonStrings strings;
  std::string current;
  const auto finish = [&](bool closed) {
    current.erase(std::min(current.find_last_not_of(" \t\n") + 1, current.size()));
    if (!current.empty()) blocks.push_back({current + "\n", "", closed});
    current.clear();
    strings = PythonStrings();
  };
  for (const std::string_view line : SplitLines(text)) {
    const bool indented = line.find_first_not_of(kBlank) != 0;
    const bool goes_on = !current.empty() && (strings.open() || indented);
    if (goes_on || (!indented && (python ? LooksLikePython(line) : LooksLikeCpp(line)))) {
      current += line;
      current += '\n';
      if (python) strings.Feed(line);
    } else if (!current.empty()) {
      finish(true);
    }
  }
  finish(false);
  return blocks;
}

}  // namespace kb

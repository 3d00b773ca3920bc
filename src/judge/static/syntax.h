// A source text as a flat tree of syntax nodes. Candidates are hostile: nothing here recurses, and parsing has a
// budget.
#ifndef JUDGE_STATIC_SYNTAX_H_
#define JUDGE_STATIC_SYNTAX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

enum class Grammar { kPython, kCpp, kCuda };

// Ten times what the longest honest candidates have; what error recovery costs can grow with the square of it.
inline constexpr size_t kMaxAnalysedBytes = size_t{256} << 10;

// Processor time that a candidate's files may take together: five times what one may.
inline constexpr int64_t kMostAnalysisNs = 10'000'000'000;
// Of this thread.
int64_t ProcessorTimeNs();

// What parsing may cost, for all texts of one file together. Steps and bytes read depend on the text alone, so
// most texts that are given up are given up on every machine; processor time is the last resort, where a step gets
// slow.
class ParseBudget {
 public:
  explicit ParseBudget(size_t bytes);
  void Spend(int64_t steps, int64_t bytes_read);
  bool spent() const;

 private:
  int64_t steps_left_, bytes_left_;
  int64_t deadline_ns_;  // of this thread's processor time
};

struct SyntaxNode {
  std::string_view type;   // the grammar's name: "call", "identifier", "@"
  std::string_view field;  // its role in the parent: "function", "left"; empty if it has none
  uint32_t begin = 0, end = 0;
  int parent = -1, first_child = -1, next = -1;  // indices of nodes; -1: none
  bool named = false;                            // false for punctuation and keywords
};

class SyntaxTree {
 public:
  // Text that does not follow the grammar still gives nodes for the parts that do.
  SyntaxTree(std::string text, Grammar grammar, ParseBudget* budget);

  // False: the text is too long or the budget is spent; there are no nodes.
  bool complete() const { return complete_; }
  const std::string& text() const { return text_; }
  // In the order of the text, parents before children; 0 is the root.
  const std::vector<SyntaxNode>& nodes() const { return nodes_; }
  const SyntaxNode& operator[](int index) const { return nodes_[static_cast<size_t>(index)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  std::string_view Text(int index) const;
  // The child with this role; -1 if there is none, also for index -1.
  int Child(int index, std::string_view field) const;
  std::vector<int> NamedChildren(int index) const;  // without comments
  bool Is(int index, std::string_view type) const { return index >= 0 && (*this)[index].type == type; }

 private:
  void Flatten(const void* tree);

  std::string text_;
  bool complete_ = false;
  std::vector<SyntaxNode> nodes_;
};

// Counted from 1, columns in bytes.
struct Place {
  int line = 1, column = 1;
};
// Finds lines and columns of bytes of one text.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);
  Place At(size_t byte) const;
  std::string_view Line(int line) const;

 private:
  std::string_view text_;
  std::vector<size_t> starts_;
};

}  // namespace kb

#endif  // JUDGE_STATIC_SYNTAX_H_

// What differs between two texts, line by line.
#ifndef GENERATE_LINE_DIFF_H_
#define GENERATE_LINE_DIFF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

struct DiffLine {
  char mark = ' ';  // '-': of the first text alone; '+': of the second
  std::string_view text;
};

struct LineDiff {
  int64_t added = 0, removed = 0;
  std::vector<DiffLine> lines;  // of both texts, whose lines they point into
};

// The fewest lines that turn one into the other (Myers, "An O(ND) Difference Algorithm"). Texts that have more than a
// thousand lines between them that differ count as different between their common beginning and end.
LineDiff DiffLines(std::string_view before, std::string_view after);

// Its changes with so many lines around each, "…" for what is left out.
std::string DiffText(const LineDiff& diff, size_t around);

// What follows the last newline is one, too.
int64_t CountLines(std::string_view text);

}  // namespace kb

#endif  // GENERATE_LINE_DIFF_H_

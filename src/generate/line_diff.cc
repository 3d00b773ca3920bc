#include "generate/line_diff.h"

#include <algorithm>
#include <optional>
#include <span>

#include "prompt/code_blocks.h"

namespace kb {
namespace {

constexpr int kMostEdits = 1000;

using Lines = std::span<const std::string_view>;

// reached[d][k + d]: how far in `a` the furthest path with d edits on the diagonal k (place in a - place in b) comes.
using Reached = std::vector<std::vector<int>>;

bool GoesDown(const std::vector<int>& furthest, int d, int k) {
  // Of the paths with d - 1 edits: on the diagonal above, or on the one below.
  return k == -d || (k != d && furthest[k - 1 + d - 1] < furthest[k + 1 + d - 1]);
}

std::optional<Reached> Search(Lines a, Lines b) {
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  Reached reached;
  for (int d = 0; d <= std::min(n + m, kMostEdits); ++d) {
    std::vector<int> row(2 * d + 1);
    for (int k = -d; k <= d; k += 2) {
      int x = 0;
      if (d > 0) {
        const std::vector<int>& before = reached.back();
        // A row holds the diagonals from -(d - 1) to d - 1.
        x = GoesDown(before, d, k) ? before[k + 1 + d - 1] : before[k - 1 + d - 1] + 1;
      }
      while (x < n && x - k < m && x - k >= 0 && a[x] == b[x - k]) ++x;
      row[k + d] = x;
      if (x == n && x - k == m) {
        reached.push_back(std::move(row));
        return reached;
      }
    }
    reached.push_back(std::move(row));
  }
  return std::nullopt;
}

// From the end of both texts back to their beginning.
std::vector<DiffLine> Backtrack(const Reached& reached, Lines a, Lines b) {
  std::vector<DiffLine> lines;
  int x = static_cast<int>(a.size()), y = static_cast<int>(b.size());
  for (int d = static_cast<int>(reached.size()) - 1; d > 0; --d) {
    const int k = x - y;
    const bool down = GoesDown(reached[d - 1], d, k);
    const int from = reached[d - 1][(down ? k + 1 : k - 1) + d - 1];
    const int start = down ? from : from + 1;
    while (x > start) {
      lines.push_back({' ', a[--x]});
      --y;
    }
    if (down) {
      lines.push_back({'+', b[--y]});
    } else {
      lines.push_back({'-', a[--x]});
    }
  }
  while (x > 0) lines.push_back({' ', a[--x]});
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace

int64_t CountLines(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n') + (!text.empty() && text.back() != '\n' ? 1 : 0);
}

LineDiff DiffLines(std::string_view before, std::string_view after) {
  const std::vector<std::string_view> all_a = SplitLines(before), all_b = SplitLines(after);
  const size_t shorter = std::min(all_a.size(), all_b.size());
  size_t head = 0, tail = 0;
  while (head < shorter && all_a[head] == all_b[head]) ++head;
  while (tail < shorter - head && all_a[all_a.size() - 1 - tail] == all_b[all_b.size() - 1 - tail]) ++tail;
  const Lines a = Lines(all_a).subspan(head, all_a.size() - head - tail);
  const Lines b = Lines(all_b).subspan(head, all_b.size() - head - tail);

  LineDiff diff;
  for (size_t i = 0; i < head; ++i) diff.lines.push_back({' ', all_a[i]});
  if (const auto reached = Search(a, b)) {
    for (const DiffLine& line : Backtrack(*reached, a, b)) diff.lines.push_back(line);
  } else {
    for (const std::string_view line : a) diff.lines.push_back({'-', line});
    for (const std::string_view line : b) diff.lines.push_back({'+', line});
  }
  for (size_t i = all_a.size() - tail; i < all_a.size(); ++i) diff.lines.push_back({' ', all_a[i]});
  for (const DiffLine& line : diff.lines) {
    diff.added += line.mark == '+';
    diff.removed += line.mark == '-';
  }
  return diff;
}

std::string DiffText(const LineDiff& diff, size_t around) {
  const auto& lines = diff.lines;
  std::vector<bool> shown(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].mark == ' ') continue;
    const size_t first = i - std::min(i, around), last = std::min(lines.size() - 1, i + around);
    for (size_t j = first; j <= last; ++j) shown[j] = true;
  }
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (shown[i]) {
      text += lines[i].mark;
      text.append(" ").append(lines[i].text).append("\n");
    } else if (i == 0 || shown[i - 1]) {
      text += "…\n";
    }
  }
  return text;
}

}  // namespace kb

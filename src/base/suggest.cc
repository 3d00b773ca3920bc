#include "base/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace kb {
namespace {

constexpr size_t kMost = 3, kLongest = 100;

// Levenshtein's distance, where two letters that changed places count as one edit.
size_t Edits(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string Folded(std::string_view name) {
  std::string folded;
  for (const unsigned char c : name) {
    if (std::isalnum(c)) folded += static_cast<char>(std::tolower(c));
  }
  return folded;
}

std::vector<std::string> Suggest(std::string_view name, const std::vector<std::string>& known) {
  const std::string wanted = Folded(name.substr(0, kLongest));
  if (wanted.empty()) return {};
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& each : known) {
    const std::string folded = Folded(each);
    const bool holds = wanted.size() > 2 && folded.find(wanted) != std::string::npos;
    const size_t edits = Edits(wanted, folded);
    if (holds || edits <= std::max<size_t>(1, wanted.size() / 3)) near.emplace_back(edits, each);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> best;
  for (const auto& [edits, each] : near) {
    if (best.size() < kMost && std::find(best.begin(), best.end(), each) == best.end()) best.push_back(each);
  }
  return best;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string> best = Suggest(name, known);
  std::string said;
  for (size_t i = 0; i < best.size(); ++i)
    said += fmt::format("{}\"{}\"", i == 0 ? " (did you mean " : i + 1 < best.size() ? ", " : " or ", best[i]);
  return said.empty() ? "" : said + "?)";
}

}  // namespace kb

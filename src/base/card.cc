#include "base/card.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace kb {
namespace {

using Words = std::vector<std::string>;

Words WordsOf(const std::string& text) {
  Words words;
  bool inside = false;
  for (const unsigned char c : text) {
    const bool was_inside = inside;
    inside = std::isalnum(c) != 0;
    if (!inside) continue;
    if (!was_inside) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(c));
  }
  return words;
}

bool Has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The card with a further word of `name` that `other` has not; empty: there is none.
std::string Narrowed(const std::string& card, const std::string& name, const std::string& other) {
  const Words there = WordsOf(other);
  for (const std::string& word : WordsOf(name)) {
    if (!Has(there, word)) return card + "-" + word;
  }
  return "";
}

}  // namespace

std::string CardOf(const std::string& job_device) {
  const size_t colon = job_device.find(':');
  return colon == std::string::npos ? "" : job_device.substr(colon + 1);
}

std::string CardName(const std::string& text) { return fmt::format("{}", fmt::join(WordsOf(text), "-")); }

bool IsCard(const std::string& name, const std::string& card) {
  const Words there = WordsOf(name), wanted = WordsOf(card);
  return !wanted.empty() &&
         std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) { return Has(there, word); });
}

bool MayBeOn(const std::string& job_device, const std::string& device, const std::string& name) {
  const std::string card = CardOf(job_device);
  return KindOf(job_device) == device && (card.empty() || IsCard(name, card));
}

Result<std::vector<int>> FindCard(const std::string& card, const std::vector<std::string>& names) {
  std::vector<int> numbers;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!IsCard(names[i], card)) continue;
    numbers.push_back(static_cast<int>(i));
    const std::string& first = names[static_cast<size_t>(numbers.front())];
    if (names[i] == first) continue;
    const std::string narrowed = Narrowed(card, names[i], first), other = Narrowed(card, first, names[i]);
    const std::string& example = other.empty() ? narrowed : other;
    return Fail(ErrorCode::kUsage, fmt::format("{} may be either of two GPUs of this machine, {} and {}: name one by "
                                               "more of its words, such as {}, or show one of them with "
                                               "CUDA_VISIBLE_DEVICES",
                                               card, first, names[i], example));
  }
  return numbers;
}

}  // namespace kb

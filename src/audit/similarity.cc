#include "audit/similarity.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <unordered_set>

#include "judge/candidate/folder.h"

namespace kb {
namespace {

// Words that say what a program does; every other name is one token.
const std::unordered_set<std::string_view>& Words() {
  static const std::unordered_set<std::string_view> words = {
      "for",      "if",       "else",     "while",      "return",     "def",        "class",        "import",
      "from",     "const",    "float",    "int",        "void",       "auto",       "static",       "struct",
      "template", "typename", "unsigned", "__global__", "__shared__", "__device__", "__restrict__", "threadIdx",
      "blockIdx", "blockDim", "gridDim",  "include",    "pragma",     "omp",        "simd",         "sizeof",
      "double",   "bool",     "in",       "is",         "not",        "and",        "or",           "with",
      "self",     "torch",    "half",     "size_t",     "int64_t",    "uint32_t",   "float4",       "__syncthreads"};
  return words;
}

bool IsName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Tokens {
 public:
  Tokens(std::string_view text, bool python) : text_(text), python_(python) {}

  std::vector<uint64_t> All() {
    while (at_ < text_.size()) Next();
    return std::move(tokens_);
  }

 private:
  bool Sees(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  void SkipPast(std::string_view what, size_t from) {
    const size_t end = text_.find(what, std::min(from, text_.size()));
    at_ = end == text_.npos ? text_.size() : end + what.size();
  }
  void Add(std::string_view token) { tokens_.push_back(std::hash<std::string_view>()(token)); }

  void Next() {
    const char c = text_[at_];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else if (python_ ? c == '#' : Sees("//")) {
      SkipPast("\n", at_);
    } else if (!python_ && Sees("/*")) {
      SkipPast("*/", at_ + 2);
    } else if (python_ && (Sees("\"\"\"") || Sees("'''"))) {
      LongString();
    } else if (c == '"' || c == '\'') {
      String(c);
    } else if (IsName(c)) {
      Name();
    } else {
      Add(text_.substr(at_++, 1));
    }
  }

  // A kernel's source, as often as not.
  void LongString() {
    const std::string_view quotes = text_.substr(at_, 3);
    const size_t begin = at_ + 3;
    SkipPast(quotes, begin);
    const size_t end = at_ == text_.size() ? at_ : at_ - 3;
    for (const uint64_t token : Tokens(text_.substr(begin, end - begin), false).All()) tokens_.push_back(token);
  }

  void String(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
    Add("S");
  }

  void Name() {
    const size_t begin = at_;
    const bool number = std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
    while (at_ < text_.size() && (IsName(text_[at_]) || (number && text_[at_] == '.'))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    Add(number ? "N" : Words().contains(name) ? name : "V");
  }

  const std::string_view text_;
  const bool python_;
  size_t at_ = 0;
  std::vector<uint64_t> tokens_;
};

void AddShingles(std::string_view source, std::string_view extension, Shingles* shingles) {
  const std::vector<uint64_t> tokens = Tokens(source, extension == ".py").All();
  for (size_t i = 0; i + kShingle <= tokens.size(); ++i) {
    uint64_t hash = 0;
    for (size_t k = 0; k < kShingle; ++k) hash = (hash ^ tokens[i + k]) * 0x9E3779B97F4A7C15u + (hash >> 29);
    shingles->push_back(hash);
  }
}

bool IsCode(std::string_view extension) {
  constexpr std::array<std::string_view, 8> kCode = {".py", ".cpp", ".cc", ".cu", ".h", ".hpp", ".cuh", ".inc"};
  return std::find(kCode.begin(), kCode.end(), extension) != kCode.end();
}

}  // namespace

Shingles ShinglesOf(std::string_view source, std::string_view extension) {
  Shingles shingles;
  const auto files = IsPacked(source) ? Unpack(source) : Result<FolderFiles>(FolderFiles());
  if (files && !files->empty()) {
    for (const auto& [path, text] : *files) {
      const std::string ending = std::filesystem::path(path).extension();
      if (IsCode(ending)) AddShingles(text, ending, &shingles);
    }
  } else {
    AddShingles(source, extension, &shingles);
  }
  std::sort(shingles.begin(), shingles.end());
  shingles.erase(std::unique(shingles.begin(), shingles.end()), shingles.end());
  return shingles;
}

Shingles WithoutBase(const Shingles& shingles, const Shingles& base) {
  Shingles left;
  std::set_difference(shingles.begin(), shingles.end(), base.begin(), base.end(), std::back_inserter(left));
  return left;
}

double Jaccard(const Shingles& a, const Shingles& b) {
  Shingles both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  const size_t all = a.size() + b.size() - both.size();
  return all == 0 ? 0 : static_cast<double>(both.size()) / static_cast<double>(all);
}

}  // namespace kb

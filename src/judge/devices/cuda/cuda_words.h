// The words of CUDA C++ text, outside comments and literals: what a name could be, whatever a grammar makes of the
// text.
#ifndef JUDGE_DEVICES_CUDA_CUDA_WORDS_H_
#define JUDGE_DEVICES_CUDA_CUDA_WORDS_H_

#include <cstddef>
#include <string_view>
#include <vector>

namespace kb {

struct CudaWord {
  enum class Kind { kName, kNumber, kLiteral, kSign };  // a sign is one character
  Kind kind = Kind::kSign;
  std::string_view text;  // of the scanned text
  size_t begin = 0;       // bytes from its start
  bool Is(std::string_view what) const { return text == what; }
  bool IsName() const { return kind == Kind::kName; }
};

// In their order; comments leave nothing. A literal or comment that does not end takes the rest of the text.
std::vector<CudaWord> CudaWords(std::string_view text);

// One past the sign that closes what the sign at `open`, an index into `words`, opens; `words.size()` if nothing does.
// Counts (), [] and {} together.
size_t Closing(const std::vector<CudaWord>& words, size_t open);

// Whether every bracket of one of the three kinds is closed by its own.
bool Balanced(const std::vector<CudaWord>& words);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_CUDA_WORDS_H_

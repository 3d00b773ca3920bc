// The encoding that a Python file says it is in (PEP 263). Python reads a file that it imports so, whatever others
// read.
#ifndef JUDGE_CANDIDATE_PYTHON_ENCODING_H_
#define JUDGE_CANDIDATE_PYTHON_ENCODING_H_

#include <string>
#include <string_view>

namespace kb {

// The encoding that `text` names in its first two lines; empty if it names none, or UTF-8 or ASCII.
std::string OtherEncoding(std::string_view text);

}  // namespace kb

#endif  // JUDGE_CANDIDATE_PYTHON_ENCODING_H_

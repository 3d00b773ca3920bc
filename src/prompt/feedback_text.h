// What compilers and tracebacks say, cut to what helps.
#ifndef PROMPT_FEEDBACK_TEXT_H_
#define PROMPT_FEEDBACK_TEXT_H_

#include <string>
#include <string_view>

namespace kb {

// A compiler's errors with the lines that belong to each, in order, as many as fit into `most` bytes, and how many are
// left out; without warnings and the chains of includes. A text without errors keeps its beginning and its end.
std::string FirstErrors(std::string_view compiler_output, size_t most);

// Python's traceback from the candidate's first frame on, its end if that is longer than `most` bytes.
std::string CandidateTraceback(std::string_view traceback, size_t most);

// In a fence that the text itself cannot close.
std::string Fenced(std::string_view text, std::string_view language = "");

}  // namespace kb

#endif  // PROMPT_FEEDBACK_TEXT_H_

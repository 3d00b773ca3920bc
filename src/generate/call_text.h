// A tool call as lines of text.
#ifndef GENERATE_CALL_TEXT_H_
#define GENERATE_CALL_TEXT_H_

#include <string>

#include "generate/transcript.h"
#include "generate/transcript_text.h"

namespace kb {

inline constexpr size_t kInnerIndent = 4;  // of what belongs to a heading

// What was called with what. Of a write the path and how long it is, of an edit what it changes, of a shell its
// command; tools of other agents are known by the names of their arguments.
std::string CallText(const TranscriptCall& call, const TranscriptTextOptions& options);

}  // namespace kb

#endif  // GENERATE_CALL_TEXT_H_

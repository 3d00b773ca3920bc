// A transcript as text for an engineer to read from end to end. What models and tools wrote is made harmless
// (report/text.h).
#ifndef GENERATE_TRANSCRIPT_TEXT_H_
#define GENERATE_TRANSCRIPT_TEXT_H_

#include <string>
#include <string_view>

#include "generate/transcript.h"

namespace kb {

struct TranscriptTextOptions {
  size_t columns = 100;  // 40 at least; longer lines are broken
  bool full = false;     // nothing is left out
};

std::string TranscriptHead(const Transcript& transcript, const TranscriptTextOptions& options);
// `begun`: when the episode was, UTC.
std::string TurnText(const TranscriptTurn& turn, const std::string& begun, const TranscriptTextOptions& options);
std::string TranscriptEnd(const Transcript& transcript, const TranscriptTextOptions& options);

}  // namespace kb

#endif  // GENERATE_TRANSCRIPT_TEXT_H_

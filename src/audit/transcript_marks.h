// Places in a transcript that an auditor should read. They are found in the text of calls and answers, so whoever tries
// can hide from them; what a mark names has been seen, what no mark names may be there all the same.
#ifndef AUDIT_TRANSCRIPT_MARKS_H_
#define AUDIT_TRANSCRIPT_MARKS_H_

#include <string>
#include <vector>

#include "generate/transcript.h"

namespace kb {

enum class MarkKind {
  kDenied,   // the system, the box or the relay refused something
  kOutside,  // a path outside the task
  kNetwork,  // an attempt to use the network
  kIntent,   // the model speaks of how it is judged
};
std::string_view ToString(MarkKind kind);

struct TranscriptMark {
  MarkKind kind = MarkKind::kIntent;
  int turn = 0;               // its number
  int call = 0;               // among the turn's calls, from 1; 0: the model's own words
  std::string tool;           // of that call
  std::string word;           // what was looked for and found: "/root/x", "curl", "tolerance"
  std::string evidence;       // the text around it: clean, one line, bounded
  std::string Where() const;  // "turn 12, call 1 (bash)"
};

// By turn. Of each call at most one of a kind, and of each turn's words at most one for each word. What the relay
// denied is all there.
std::vector<TranscriptMark> MarksOf(const Transcript& transcript);

}  // namespace kb

#endif  // AUDIT_TRANSCRIPT_MARKS_H_

// What a model that audits a candidate reads of the transcript: a text of bounded size, in which what matters stays
// however long the transcript is, and which says what it leaves out.
#ifndef AUDIT_TRANSCRIPT_DIGEST_H_
#define AUDIT_TRANSCRIPT_DIGEST_H_

#include <span>
#include <string>

#include "audit/transcript_marks.h"
#include "generate/transcript.h"

namespace kb {

// Some 20,000 tokens: it fits beside a candidate into the windows of all models that audit, and is read for cents.
inline constexpr size_t kMostDigestBytes = 60'000;

// First come the first and last turns whole, then each turn with a mark (MarksOf()), then what the judge said, then
// the others in a line each; turns are given in detail as long as there is room. Of as many alike as do not fit those
// are taken that lie evenly. Clean text (report/text.h).
std::string DigestOf(const Transcript& transcript, std::span<const TranscriptMark> marks,
                     size_t most = kMostDigestBytes);

}  // namespace kb

#endif  // AUDIT_TRANSCRIPT_DIGEST_H_

// Episodes of programs that drive the model by themselves. Of each request the store has what it adds to its
// conversation, so what a call gave comes with the next request.
#ifndef GENERATE_RELAYED_H_
#define GENERATE_RELAYED_H_

#include "generate/transcript.h"

namespace kb {

// Fills `relayed` of the turns from their contexts, and gives results to the calls that they are of. Nothing happens to
// an episode of our own loop.
void ReadRelayed(Transcript* transcript);

}  // namespace kb

#endif  // GENERATE_RELAYED_H_

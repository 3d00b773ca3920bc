// All that runs below a keeper (judge/sandbox/keeper_main.cc), stopped and continued at once.
#ifndef AGENTS_PROCESS_TREE_H_
#define AGENTS_PROCESS_TREE_H_

#include <sys/types.h>

namespace kb {

// Stops every process below the keepers, which can still end them. True once all are seen to be stopped: nothing below
// runs, but what the kernel has begun for one of them. False if there is nobody yet, or somebody still runs.
bool StopBelowKeepers(pid_t keeper);
void ContinueBelowKeepers(pid_t keeper);

}  // namespace kb

#endif  // AGENTS_PROCESS_TREE_H_

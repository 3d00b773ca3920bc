// The kernel's landlock, as far as this machine has it.
#ifndef RUNNER_LANDLOCK_H_
#define RUNNER_LANDLOCK_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace kb::runner {

// From now on this process and its children write nothing but what is in or below `writable`, open no TCP connection
// (ABI 4), reach no abstract socket and signal no process outside (ABI 6), and trace none. If `readable` is not empty,
// they also read and execute only below those paths. Does nothing on a kernel without landlock; what an older one lacks
// is left out. `signals`: they may signal processes outside. Requires no_new_privs.
Status RestrictByLandlock(const std::vector<std::string>& readable, const std::vector<std::string>& writable,
                          bool signals);

}  // namespace kb::runner

#endif  // RUNNER_LANDLOCK_H_

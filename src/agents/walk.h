// What lies below an open folder that may change meanwhile.
#ifndef AGENTS_WALK_H_
#define AGENTS_WALK_H_

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <string>

#include "base/fd.h"

namespace kb {

inline constexpr size_t kDeepest = 64;  // folders in each other

struct WalkEntry {
  std::string path;         // below the folder, as it is
  const std::string& name;  // the last part
  int directory;            // that holds it
  const struct stat& info;  // of itself, not of what a link leads to
};

// Whether all has been seen, and if not, why.
struct Walked {
  bool too_many = false, too_deep = false, unreadable = false;
};

// Calls `visit` with each entry, sorted, folders before what they hold. At most `most` entries are looked at, and all
// folders count.
Walked Walk(Fd directory, size_t most, const std::function<void(const WalkEntry&)>& visit);

}  // namespace kb

#endif  // AGENTS_WALK_H_

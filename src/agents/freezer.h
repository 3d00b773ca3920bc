// Holds the boxes of a process still while something is measured. All of them, for what is measured may have no cores
// of its own.
#ifndef AGENTS_FREEZER_H_
#define AGENTS_FREEZER_H_

#include <mutex>
#include <vector>

#include "agents/box.h"

namespace kb {

// May be used by several threads.
class Freezer {
 public:
  // As long as a measurement goes on; several may at once.
  class Hold {
   public:
    explicit Hold(Freezer* freezer);  // null: nothing is held
    Hold(const Hold&) = delete;       // one release of what is held
    Hold& operator=(const Hold&) = delete;
    ~Hold();

   private:
    Freezer* const freezer_;
  };

  // A box that is added while something is held is frozen at once. Remove() comes before its end, and thaws it.
  void Add(Box* box);
  void Remove(Box* box);

 private:
  std::mutex mutex_;
  std::vector<Box*> boxes_;
  int holds_ = 0;
};

}  // namespace kb

#endif  // AGENTS_FREEZER_H_

// Holds boxes of a process still while something is measured: that of the agent whose candidate it is, and all others
// that may share a core with it. Nobody knows where it is measured before a verdict has told; until then all boxes
// rest.
#ifndef AGENTS_FREEZER_H_
#define AGENTS_FREEZER_H_

#include <list>
#include <mutex>
#include <set>
#include <vector>

#include "agents/box.h"

namespace kb {

// May be used by several threads.
class Freezer {
 public:
  // As long as a measurement goes on; several may at once.
  class Hold {
   public:
    // `agent`: whose candidate it is, as Place has it; null: no agent's. Without a freezer nothing is held.
    explicit Hold(Freezer* freezer, const void* agent = nullptr);
    Hold(const Hold&) = delete;  // one release of what is held
    Hold& operator=(const Hold&) = delete;
    ~Hold();

   private:
    Freezer* const freezer_;
    std::list<const void*>::iterator held_;
  };

  // As long as a box has a device to itself. It runs, whatever is held: nothing is measured on that device, or on the
  // cores of its judge, where the box is then.
  class Awake {
   public:
    Awake(Freezer* freezer, Box* box) : freezer_(freezer), box_(box) { Set(true); }
    Awake(const Awake&) = delete;  // one end
    Awake& operator=(const Awake&) = delete;
    ~Awake() { Set(false); }

   private:
    void Set(bool awake) const;
    Freezer* const freezer_;  // null: nothing is ever held
    Box* const box_;
  };

  // Where a box runs.
  struct Place {
    const void* agent = nullptr;
    std::vector<int> cores;  // on these alone; empty: on any
  };
  // A box that is added while something is held may be frozen at once. Remove() comes before its end, and thaws it.
  void Add(Box* box, Place place);
  void Add(Box* box) { Add(box, Place()); }
  void Remove(Box* box);
  // Something was measured on these cores; none: on any.
  void Measured(const std::vector<int>& cores);

 private:
  struct Entry {
    Box* box;
    Place place;
    bool frozen = false, awake = false;
  };
  bool Rests(const Entry& entry) const;
  void Update();

  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::list<const void*> holds_;  // their agents
  std::set<int> cores_;           // on which something was measured
  bool anywhere_ = false;         // or on any
};

}  // namespace kb

#endif  // AGENTS_FREEZER_H_

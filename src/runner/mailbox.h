// The untrusted end of the doorbell.
#ifndef RUNNER_MAILBOX_H_
#define RUNNER_MAILBOX_H_

#include <string>

#include "base/result.h"
#include "wire/doorbell.h"
#include "wire/report.h"

namespace kb::runner {

struct Command {
  CallKind kind;
  uint64_t argument;
};

class Mailbox {
 public:
  // `doorbell` stays mapped as long as the mailbox lives. The judge may have rung before we are here: 0 is no ring.
  // `spins`: a GPU's judge wakes the runner before it rings, and then every microsecond counts.
  Mailbox(Doorbell* doorbell, bool spins) : doorbell_(doorbell), spins_(spins) {}

  Command Wait();                    // until the judge rings: asleep, or spinning first
  void Write(const Report& report);  // takes effect with the next Answer(); stays until written anew
  void Answer();                     // rings back
  // After the answer to a call on a GPU: what its events and the host's clock say, in ns.
  void AddTimes(uint64_t elapsed_ns, uint64_t launched_ns);

 private:
  Doorbell* doorbell_;
  bool spins_;
  uint64_t seen_ = 0;
};

}  // namespace kb::runner

#endif  // RUNNER_MAILBOX_H_

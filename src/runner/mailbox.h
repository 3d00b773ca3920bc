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
  explicit Mailbox(Doorbell* doorbell) : doorbell_(doorbell) {}

  Command Wait();                    // sleeps until the judge rings
  void Write(const Report& report);  // takes effect with the next Answer(); stays until written anew
  void Answer();                     // rings back

 private:
  Doorbell* doorbell_;
  uint64_t seen_ = 0;
};

}  // namespace kb::runner

#endif  // RUNNER_MAILBOX_H_

// Rows that one process at a time works on: jobs and requests. It puts its name (OwnerName()) into `owner`.
#ifndef STORE_LEASE_H_
#define STORE_LEASE_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>

namespace kb {

struct Lease {
  const char* table;
  const char* held;  // the state of a row that somebody works on; "queued" before, "failed" if it came to nothing
  const char* also;  // what is set beside a state
  const char* over;  // when a row is nobody's although its owner may live; ?2 is now
};
inline constexpr Lease kJobLease{"jobs", "running", ", changed = (SELECT changes FROM runs WHERE id = run_id)",
                                 "lease_until <> 0 AND lease_until < ?2"},
    kRequestLease{"requests", "asked", "", "?2 < 0"};

// Before a change of a job's state, in its transaction, so that the changes of a run have one order.
void CountChange(SQLite::Database& database, int64_t run_id);

// Ends what `owner` holds, queued `again` or failed. False if another process has it.
bool GiveUp(SQLite::Database& database, const Lease& lease, int64_t id, const std::string& owner,
            const std::string& error, bool again);

// Queues what processes of a run hold that are gone, or whose time is over at `now` (seconds since 1970), and says how
// many rows that were. Within a transaction.
int64_t QueueStranded(SQLite::Database& database, const Lease& lease, const std::string& run, int64_t now);

}  // namespace kb

#endif  // STORE_LEASE_H_

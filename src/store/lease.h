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
};
inline constexpr Lease kJobLease{"jobs", "running"}, kRequestLease{"requests", "asked"};

// Ends what `owner` holds, queued `again` or failed. Does nothing if another process has it.
void GiveUp(SQLite::Database& database, const Lease& lease, int64_t id, const std::string& owner,
            const std::string& error, bool again);

// Queues what processes of a run hold that are gone, and says how many rows that were. Within a transaction.
int64_t QueueStranded(SQLite::Database& database, const Lease& lease, const std::string& run);

}  // namespace kb

#endif  // STORE_LEASE_H_

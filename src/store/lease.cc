#include "store/lease.h"

#include <fmt/format.h>

#include <vector>

#include "store/job.h"
#include "store/store_impl.h"

namespace kb {

void GiveUp(SQLite::Database& database, const Lease& lease, int64_t id, const std::string& owner,
            const std::string& error, bool again) {
  SQLite::Statement give_up(
      database, fmt::format("UPDATE {} SET state = ?3, owner = '', error = ?4 WHERE id = ?1 AND state = '{}' AND "
                            "owner = ?2",
                            lease.table, lease.held));
  give_up.bind(1, id);
  give_up.bind(2, owner);
  give_up.bind(3, again ? "queued" : "failed");
  give_up.bind(4, ToUtf8(error));
  give_up.exec();
}

int64_t QueueStranded(SQLite::Database& database, const Lease& lease, const std::string& run) {
  SQLite::Statement owners(
      database, fmt::format("SELECT DISTINCT owner FROM {} WHERE state = '{}' AND run_id = (SELECT id FROM runs WHERE "
                            "name = ?1)",
                            lease.table, lease.held));
  owners.bind(1, run);
  std::vector<std::string> gone;
  while (owners.executeStep()) {
    if (const std::string owner = owners.getColumn(0); !OwnerLives(owner)) gone.push_back(owner);
  }
  int64_t queued = 0;
  for (const std::string& owner : gone) {
    SQLite::Statement release(
        database,
        fmt::format("UPDATE {} SET state = 'queued', owner = '' WHERE state = '{}' AND owner = ?2 AND run_id = "
                    "(SELECT id FROM runs WHERE name = ?1)",
                    lease.table, lease.held));
    release.bind(1, run);
    release.bind(2, owner);
    queued += release.exec();
  }
  return queued;
}

}  // namespace kb

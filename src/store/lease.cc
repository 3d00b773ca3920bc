#include "store/lease.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "store/job.h"
#include "store/store_impl.h"

namespace kb {

void CountChange(SQLite::Database& database, int64_t run_id) {
  SQLite::Statement count(database, "UPDATE runs SET changes = changes + 1 WHERE id = ?1");
  count.bind(1, run_id);
  count.exec();
}

bool GiveUp(SQLite::Database& database, const Lease& lease, int64_t id, const std::string& owner,
            const std::string& error, bool again) {
  SQLite::Statement give_up(
      database, fmt::format("UPDATE {} SET state = ?3, owner = '', error = ?4{} WHERE id = ?1 AND state = '{}' AND "
                            "owner = ?2",
                            lease.table, lease.also, lease.held));
  give_up.bind(1, id);
  give_up.bind(2, owner);
  give_up.bind(3, again ? "queued" : "failed");
  give_up.bind(4, ToUtf8(error));
  return give_up.exec() == 1;
}

int64_t QueueStranded(SQLite::Database& database, const Lease& lease, const std::string& run, int64_t now) {
  const std::string of_run = fmt::format("state = '{}' AND run_id = (SELECT id FROM runs WHERE name = ?1)", lease.held);
  SQLite::Statement held(database,
                         fmt::format("SELECT id, owner, {} FROM {} WHERE {}", lease.over, lease.table, of_run));
  held.bind(1, run);
  held.bind(2, now);
  std::map<std::string, bool> lives;
  std::vector<int64_t> stranded;
  while (held.executeStep()) {
    const auto [owner, first] = lives.try_emplace(held.getColumn(1).getString());
    if (first) owner->second = OwnerLives(owner->first);
    if (!owner->second || held.getColumn(2).getInt() != 0) stranded.push_back(held.getColumn(0).getInt64());
  }
  SQLite::Statement release(
      database, fmt::format("UPDATE {} SET state = 'queued', owner = ''{} WHERE id = ?1", lease.table, lease.also));
  for (const int64_t id : stranded) {
    release.reset();
    release.bind(1, id);
    release.exec();
  }
  return static_cast<int64_t>(stranded.size());
}

}  // namespace kb

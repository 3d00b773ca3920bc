// What is asked and told when a store is checked or cleaned up.
#ifndef STORE_MAINTENANCE_H_
#define STORE_MAINTENANCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kb {

struct StoreHealth {
  std::vector<std::string> wrong;         // one sentence each; empty: the store is sound
  std::vector<std::string> stranded;      // running jobs whose process is gone: the next `run` queues them again
  std::map<std::string, int64_t> rows;    // by table; only tables that could be read
  std::map<std::string, int64_t> states;  // jobs by state
};

struct GarbageOptions {
  // Also evaluations that are older than so many days, unless a job refers to them or they are the newest that a run
  // has of a job.
  std::optional<int> older_than_days;
  bool keep_newest = false;  // of these not the newest of each candidate (as in Store::Scores)
  bool dry_run = false;      // only count
};

struct Garbage {
  std::map<std::string, int64_t> rows;  // removed, by table; only tables that rows can be removed from
  int64_t bytes_before = 0;             // of the database file
  std::optional<int64_t> bytes_after;   // absent: it was not made smaller
  std::string not_shrunk;               // why not, if it should have been
};

}  // namespace kb

#endif  // STORE_MAINTENANCE_H_

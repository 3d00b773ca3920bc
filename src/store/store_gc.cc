// Store::CollectGarbage(): what nothing refers to any more goes.
#include <sqlite3.h>

#include "store/store_impl.h"

namespace kb {
namespace {

// Ages are counted twice: among the evaluations of one job of a run, and as Store::Scores does. A deleted row's
// references are looked up below, all at once.
constexpr char kOld[] =
    "DELETE FROM evaluations WHERE sequence IN (SELECT sequence FROM (SELECT sequence, id, created, run_id, "
    "row_number() OVER (PARTITION BY run_id, model, problem, size, sample, device, rules "
    "ORDER BY created DESC, sequence DESC) AS age_of_job, "
    "row_number() OVER (PARTITION BY run_id, model, sample, problem, size, device, device_name, rules, candidate_path "
    "ORDER BY created DESC, sequence DESC) AS age FROM (SELECT e.sequence, e.id, e.created, e.run_id, e.model, "
    "e.sample, e.problem, e.size, e.device, d.name AS device_name, iif(e.rules = '', e.protocol, e.rules) AS rules, "
    "e.candidate_path FROM evaluations e LEFT JOIN devices d ON d.id = e.device_id)) "
    "WHERE created < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?1) AND NOT (run_id IS NOT NULL AND age_of_job = 1) "
    "AND NOT (?2 AND age = 1) AND id NOT IN (SELECT evaluation_id FROM jobs WHERE evaluation_id IS NOT NULL))";

// In an order in which each refers only to those after it.
struct Orphans {
  const char* table;
  const char* unreferenced;
};
constexpr Orphans kOrphans[] = {
    {"samples", "evaluation_id NOT IN (SELECT id FROM evaluations)"},
    {"measurements", "evaluation_id NOT IN (SELECT id FROM evaluations)"},
    {"builds", "evaluation_id NOT IN (SELECT id FROM evaluations)"},
    {"baselines", "evaluation_id NOT IN (SELECT id FROM evaluations)"},
    {"reviews", "evaluation_id NOT IN (SELECT id FROM evaluations)"},
    {"candidates",
     "sha256 NOT IN (SELECT source_sha256 FROM evaluations WHERE source_sha256 IS NOT NULL UNION SELECT sha256 FROM "
     "jobs UNION SELECT problem_sha256 FROM jobs UNION SELECT source_sha256 FROM answers WHERE source_sha256 IS NOT "
     "NULL UNION SELECT sha256 FROM turn_files WHERE sha256 IS NOT NULL UNION SELECT source_sha256 FROM "
     "turn_verdicts)"},
    {"devices", "id NOT IN (SELECT device_id FROM evaluations UNION SELECT device_id FROM baselines)"},
    {"problems", "id NOT IN (SELECT problem_id FROM evaluations UNION SELECT problem_id FROM baselines)"}};

int64_t Ask(SQLite::Database& database, const std::string& sql) { return database.execAndGet(sql).getInt64(); }

std::map<std::string, int64_t> CountRows(SQLite::Database& database) {
  std::map<std::string, int64_t> rows = {{"evaluations", Ask(database, "SELECT count(*) FROM evaluations")}};
  for (const Orphans& orphans : kOrphans) {
    rows[orphans.table] = Ask(database, fmt::format("SELECT count(*) FROM {}", orphans.table));
  }
  return rows;
}

int64_t FileBytes(SQLite::Database& database) {
  return Ask(database, "PRAGMA page_count") * Ask(database, "PRAGMA page_size");
}

// SQLite would look for references to each deleted row by itself, and the columns that hold them have no index: here
// they are counted before and after. Only between transactions can this be switched.
class WithoutForeignKeys {
 public:
  explicit WithoutForeignKeys(SQLite::Database& database) : database_(database) { Set("OFF"); }
  WithoutForeignKeys(const WithoutForeignKeys&) = delete;  // switches back once
  WithoutForeignKeys& operator=(const WithoutForeignKeys&) = delete;
  ~WithoutForeignKeys() { Set("ON"); }

 private:
  void Set(const char* value) { database_.tryExec(fmt::format("PRAGMA foreign_keys = {}", value)); }
  SQLite::Database& database_;
};

int64_t BrokenReferences(SQLite::Database& database) {
  return Ask(database, "SELECT count(*) FROM pragma_foreign_key_check");
}

Status Remove(SQLite::Database& database, const GarbageOptions& options, Garbage* garbage) {
  const WithoutForeignKeys without(database);
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const int64_t broken = BrokenReferences(database);
  const std::map<std::string, int64_t> before = CountRows(database);
  if (options.older_than_days) {
    SQLite::Statement old(database, kOld);
    old.bind(1, fmt::format("-{} days", *options.older_than_days));
    old.bind(2, options.keep_newest ? 1 : 0);
    old.exec();
  }
  for (const Orphans& orphans : kOrphans) {
    database.exec(fmt::format("DELETE FROM {} WHERE {}", orphans.table, orphans.unreferenced));
  }
  if (BrokenReferences(database) > broken) {
    return Fail(ErrorCode::kEngine, "cleaning up would remove what is referred to; nothing was removed");
  }
  for (const auto& [table, rows] : CountRows(database)) garbage->rows[table] = before.at(table) - rows;
  if (!options.dry_run) transaction.commit();
  return {};
}

// Needs the store for itself for a moment, and room for a second copy; without either it stays as large as it was.
void Shrink(SQLite::Database& database, Garbage* garbage) {
  try {
    database.exec("VACUUM");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    garbage->bytes_after = FileBytes(database);
  } catch (const SQLite::Exception& exception) {
    garbage->not_shrunk =
        StoreError(exception.getExtendedErrorCode(), database.getFilename(), exception.what()).message;
  }
}

}  // namespace

Result<Garbage> Store::CollectGarbage(const GarbageOptions& options) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<Garbage> {
    Garbage garbage;
    garbage.bytes_before = FileBytes(database);
    KB_RETURN_IF_ERROR(Remove(database, options, &garbage));
    if (!options.dry_run) Shrink(database, &garbage);
    return garbage;
  });
}

}  // namespace kb

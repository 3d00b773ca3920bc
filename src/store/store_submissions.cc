// What clients of the service asked for.

#include "base/clock.h"
#include "base/hash.h"
#include "store/lease.h"
#include "store/store_impl.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr char kSelect[] =
    "SELECT s.id, s.created, s.client, s.batch, s.request, s.job_id, r.name FROM submissions s JOIN jobs j ON j.id = "
    "s.job_id JOIN runs r ON r.id = j.run_id ";

Submission ReadSubmission(SQLite::Database& database, SQLite::Statement& row) {
  Submission read;
  read.id = row.getColumn(0).getString();
  read.created = row.getColumn(1).getString();
  read.client = row.getColumn(2).getString();
  read.batch = row.getColumn(3).getString();
  read.request = json::parse(row.getColumn(4).getString());
  read.job = JobOf(database, row.getColumn(5).getInt64());
  read.run = row.getColumn(6).getString();
  return read;
}

std::vector<Submission> ReadSubmissions(SQLite::Database& database, SQLite::Statement& query) {
  std::vector<Submission> read;
  while (query.executeStep()) read.push_back(ReadSubmission(database, query));
  return read;
}

// What a client asked for under this key before.
Result<std::optional<Submission>> AskedBefore(SQLite::Database& database, const NewSubmission& wanted) {
  if (wanted.idempotency_key.empty()) return std::optional<Submission>();
  SQLite::Statement find(database, std::string(kSelect) + "WHERE s.client = ?1 AND s.idempotency_key = ?2");
  find.bind(1, ToUtf8(wanted.client));
  find.bind(2, ToUtf8(wanted.idempotency_key));
  if (!find.executeStep()) return std::optional<Submission>();
  Submission before = ReadSubmission(database, find);
  if (before.request != json::parse(Dump(wanted.request)) || before.job.sha256 != Sha256(wanted.source)) {
    return Fail(ErrorCode::kUsage, fmt::format("the idempotency key {} is that of another request: use a new one",
                                               wanted.idempotency_key));
  }
  return std::optional(std::move(before));
}

// Of a sample that the run has already: its run, problem and number are another's.
Result<int64_t> InsertJob(SQLite::Database& database, const NewSubmission& wanted) {
  const int64_t run_id = RunId(database, ToUtf8(wanted.run), UtcNow(kIso8601));
  CountChange(database, run_id);
  SQLite::Statement insert(
      database,
      "INSERT INTO jobs (run_id, model, problem, size, sample, device, protocol, path, sha256, state, problem_sha256, "
      "client, priority, changed) SELECT ?1, ?2, ?3, ?4, iif(?5 >= 0, ?5, (SELECT coalesce(max(sample) + 1, 0) FROM "
      "jobs WHERE run_id = ?1 AND model = ?2 AND problem = ?3 AND size = ?4)), ?6, ?7, ?8, ?9, 'queued', ?10, ?11, "
      "?12, "
      "(SELECT changes FROM runs WHERE id = ?1) WHERE true ON CONFLICT DO NOTHING");
  const Job& job = wanted.job;
  insert.bind(1, run_id);
  insert.bind(2, ToUtf8(job.model));
  insert.bind(3, ToUtf8(job.problem));
  insert.bind(4, ToUtf8(job.size));
  insert.bind(5, job.sample);
  insert.bind(6, job.device);
  insert.bind(7, job.protocol);
  insert.bind(8, ToUtf8(job.path));
  insert.bind(9, Sha256(wanted.source));
  insert.bind(10, job.problem_sha256);
  insert.bind(11, ToUtf8(wanted.client));
  insert.bind(12, job.priority);
  if (insert.exec() == 1) return database.getLastInsertRowid();
  return Fail(ErrorCode::kUsage, fmt::format("run {} has sample {} of {} already: leave `sample` out, or name another",
                                             wanted.run, job.sample, job.problem));
}

Result<Submission> Insert(SQLite::Database& database, const NewSubmission& wanted) {
  KB_ASSIGN_OR_RETURN(std::optional<Submission> before, AskedBefore(database, wanted));
  if (before) return std::move(*before);
  AddSource(database, json::object(), wanted.source);
  if (!wanted.problem_text.empty()) AddSource(database, json::object(), wanted.problem_text);
  KB_ASSIGN_OR_RETURN(const int64_t job, InsertJob(database, wanted));
  SQLite::Statement insert(database,
                           "INSERT INTO submissions (id, job_id, created, client, batch, idempotency_key, request) "
                           "VALUES (?1, ?2, ?3, ?4, ?5, nullif(?6, ''), ?7)");
  insert.bind(1, wanted.id);
  insert.bind(2, job);
  insert.bind(3, UtcNow(kIso8601));
  insert.bind(4, ToUtf8(wanted.client));
  insert.bind(5, wanted.batch);
  insert.bind(6, ToUtf8(wanted.idempotency_key));
  insert.bind(7, Dump(wanted.request));
  insert.exec();
  SQLite::Statement find(database, std::string(kSelect) + "WHERE s.id = ?1");
  find.bind(1, wanted.id);
  KB_CHECK(find.executeStep());
  return ReadSubmission(database, find);
}

}  // namespace

Result<std::vector<Submission>> Store::AddSubmissions(std::span<const NewSubmission> wanted) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<std::vector<Submission>> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    std::vector<Submission> added;
    for (const NewSubmission& one : wanted) {
      KB_ASSIGN_OR_RETURN(Submission submission, Insert(database, one));
      added.push_back(std::move(submission));
    }
    transaction.commit();
    return added;
  });
}

Result<std::optional<Submission>> Store::FindSubmission(const std::string& id) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::optional<Submission>> {
    SQLite::Statement find(impl_->database, std::string(kSelect) + "WHERE s.id = ?1");
    find.bind(1, id);
    if (!find.executeStep()) return std::optional<Submission>();
    return std::optional(ReadSubmission(impl_->database, find));
  });
}

Result<std::vector<Submission>> Store::BatchSubmissions(const std::string& batch) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<Submission>> {
    SQLite::Statement find(impl_->database, std::string(kSelect) + "WHERE s.batch = ?1 AND ?1 <> '' ORDER BY j.id");
    find.bind(1, batch);
    return ReadSubmissions(impl_->database, find);
  });
}

Result<std::vector<Submission>> Store::QueuedSubmissions() {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<std::vector<Submission>> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement runs(database,
                           "SELECT DISTINCT r.id, r.name FROM submissions s JOIN jobs j ON j.id = s.job_id JOIN runs r "
                           "ON r.id = j.run_id WHERE j.state = 'running'");
    std::vector<std::pair<int64_t, std::string>> left;
    while (runs.executeStep()) left.emplace_back(runs.getColumn(0).getInt64(), runs.getColumn(1).getString());
    for (const auto& [id, name] : left) {
      CountChange(database, id);
      QueueStranded(database, kJobLease, name, UtcSeconds());
    }
    SQLite::Statement find(database, std::string(kSelect) + "WHERE j.state = 'queued' ORDER BY j.id");
    std::vector<Submission> queued = ReadSubmissions(database, find);
    find.reset();
    transaction.commit();
    return queued;
  });
}

}  // namespace kb

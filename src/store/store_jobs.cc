// Runs and their jobs: each change of a job's state is one transaction.

#include <unordered_map>

#include "base/clock.h"
#include "store/lease.h"
#include "store/store_impl.h"

namespace kb {
namespace {

Job ReadJob(SQLite::Statement& row) {
  const auto text = [&](int column) { return row.getColumn(column).getString(); };
  Job job;
  job.id = row.getColumn(0).getInt64();
  job.model = text(1);
  job.problem = text(2);
  job.size = text(3);
  job.sample = row.getColumn(4).getInt();
  job.device = text(5);
  job.protocol = text(6);
  job.path = text(7);
  job.sha256 = text(8);
  job.state = text(9);
  job.owner = text(10);
  job.attempts = row.getColumn(11).getInt();
  job.error = text(12);
  job.evaluation_id = row.getColumn(13).isNull() ? "" : text(13);
  job.problem_sha256 = text(14);
  job.client = text(15);
  job.priority = row.getColumn(16).getInt();
  job.lease_until = row.getColumn(17).getInt64();
  job.changed = row.getColumn(18).getInt64();
  return job;
}

// Where a done job does not say which text of its problem it is about, any may have changed since, unless the candidate
// was rejected by its own text.
constexpr char kAdd[] =
    "INSERT INTO jobs (run_id, model, problem, size, sample, device, protocol, path, sha256, state, problem_sha256, "
    "client, priority, changed) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'queued', ?11, ?12, ?13, (SELECT changes FROM runs WHERE id = ?1)) "
    "ON CONFLICT (run_id, model, problem, size, sample, device, protocol) DO UPDATE SET path = excluded.path, "
    "sha256 = excluded.sha256, problem_sha256 = excluded.problem_sha256, state = 'queued', owner = '', attempts = 0, "
    "error = '', evaluation_id = NULL, client = excluded.client, priority = excluded.priority, "
    "changed = excluded.changed "
    "WHERE jobs.sha256 <> excluded.sha256 OR (?10 AND jobs.state <> 'running') "
    "OR (excluded.problem_sha256 NOT IN ('', jobs.problem_sha256) AND (jobs.problem_sha256 <> '' "
    "OR (jobs.state <> 'running' AND NOT EXISTS (SELECT 1 FROM evaluations WHERE id = jobs.evaluation_id "
    "AND verdict = 'static_rejected'))))";

void BindJob(SQLite::Statement& add, int64_t run_id, const Job& job, bool again) {
  add.bind(1, run_id);
  add.bind(2, ToUtf8(job.model));
  add.bind(3, ToUtf8(job.problem));
  add.bind(4, job.size);
  add.bind(5, job.sample);
  add.bind(6, job.device);
  add.bind(7, job.protocol);
  add.bind(8, ToUtf8(job.path));
  add.bind(9, job.sha256);
  add.bind(10, again ? 1 : 0);
  add.bind(11, job.problem_sha256);
  add.bind(12, ToUtf8(job.client));
  add.bind(13, job.priority);
}

constexpr char kSelectJob[] =
    "SELECT id, model, problem, size, sample, device, protocol, path, sha256, state, owner, attempts, error, "
    "evaluation_id, problem_sha256, client, priority, lease_until, changed FROM jobs ";

constexpr char kOfRun[] = "run_id = (SELECT id FROM runs WHERE name = ?1)";
constexpr char kChanged[] = "changed = (SELECT changes FROM runs WHERE id = jobs.run_id)";

// The id that `select` gives for that value; 0: there is none.
int64_t IdOf(SQLite::Database& database, const char* select, const auto& value) {
  SQLite::Statement query(database, select);
  query.bind(1, value);
  return query.executeStep() ? query.getColumn(0).getInt64() : 0;
}

std::vector<Job> ReadJobs(SQLite::Statement& query) {
  std::vector<Job> jobs;
  while (query.executeStep()) jobs.push_back(ReadJob(query));
  return jobs;
}

struct Names {
  std::string name, torch;
};
using NamesOf = std::unordered_map<int64_t, Names>;

NamesOf NamesById(SQLite::Database& database, const char* select) {
  SQLite::Statement query(database, select);
  NamesOf names;
  while (query.executeStep())
    names[query.getColumn(0).getInt64()] = {query.getColumn(1).getString(), query.getColumn(2).getString()};
  return names;
}

ScoreRow ReadScoreRow(SQLite::Statement& query, const NamesOf& runs, const NamesOf& devices, const NamesOf& texts) {
  ScoreRow row;
  if (const auto run = runs.find(query.getColumn(0).getInt64()); run != runs.end()) row.run = run->second.name;
  if (const auto device = devices.find(query.getColumn(1).getInt64()); device != devices.end()) {
    row.device_name = device->second.name;
    row.torch = device->second.torch;
  }
  int column = 2;
  for (std::string* text : {&row.id, &row.created, &row.model, &row.problem, &row.size, &row.device, &row.protocol,
                            &row.baseline, &row.path, &row.sha256, &row.verdict})
    *text = query.getColumn(column++).getString();
  if (!query.getColumn(column).isNull()) row.sample = query.getColumn(column).getInt64();
  for (std::optional<double>* value : {&row.speedup, &row.low, &row.high, &row.baseline_us, &row.candidate_us}) {
    if (!query.getColumn(++column).isNull()) *value = query.getColumn(column).getDouble();
  }
  row.reason = query.getColumn(++column).getString();
  if (const auto text = texts.find(query.getColumn(++column).getInt64()); text != texts.end())
    row.problem_sha256 = text->second.name;
  return row;
}

// In C++ rather than as a window in SQL, which sorts and takes five times as long over a hundred thousand rows.
std::string SampleKey(SQLite::Statement& query, const ScoreRow& row) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", query.getColumn(0).getInt64(), row.device, row.device_name,
                     row.sample ? std::to_string(*row.sample) : "", row.model, row.problem, row.size, row.protocol,
                     row.path);
}

}  // namespace

Job JobOf(SQLite::Database& database, int64_t id) {
  SQLite::Statement find(database, std::string(kSelectJob) + "WHERE id = ?1");
  find.bind(1, id);
  KB_CHECK(find.executeStep());
  return ReadJob(find);
}

Result<int64_t> Store::AddJobs(const std::string& run, std::span<const Job> jobs, bool again) {
  if (run.empty()) return Fail(ErrorCode::kUsage, "a run needs a name");
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<int64_t> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t run_id = RunId(database, run, UtcNow(kIso8601));
    CountChange(database, run_id);
    SQLite::Statement add(database, kAdd);
    int64_t queued = 0;
    for (const Job& job : jobs) {
      add.reset();
      BindJob(add, run_id, job, again);
      queued += add.exec();
    }
    transaction.commit();
    return queued;
  });
}

Result<Job> Store::AddJob(const std::string& run, const Job& job) {
  if (run.empty()) return Fail(ErrorCode::kUsage, "a run needs a name");
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<Job> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t run_id = RunId(database, run, UtcNow(kIso8601));
    CountChange(database, run_id);
    SQLite::Statement add(database, kAdd);
    BindJob(add, run_id, job, false);
    add.exec();
    SQLite::Statement find(database, std::string(kSelectJob) +
                                         "WHERE run_id = ?1 AND model = ?2 AND problem = ?3 AND size = ?4 AND sample = "
                                         "?5 AND device = ?6 AND protocol = ?7");
    find.bind(1, run_id);
    find.bind(2, ToUtf8(job.model));
    find.bind(3, ToUtf8(job.problem));
    find.bind(4, job.size);
    find.bind(5, job.sample);
    find.bind(6, job.device);
    find.bind(7, job.protocol);
    KB_CHECK(find.executeStep());
    Job stored = ReadJob(find);
    find.reset();
    transaction.commit();
    return stored;
  });
}

Result<std::vector<Job>> Store::Jobs(const std::string& run, const std::string& state) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<Job>> {
    SQLite::Statement query(impl_->database,
                            fmt::format("{}WHERE {} AND (?2 = '' OR state = ?2) ORDER BY id", kSelectJob, kOfRun));
    query.bind(1, run);
    query.bind(2, state);
    return ReadJobs(query);
  });
}

Result<std::vector<Job>> Store::ChangedJobs(const std::string& run, int64_t since) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<Job>> {
    SQLite::Statement query(impl_->database,
                            fmt::format("{}WHERE {} AND changed > ?2 ORDER BY changed, id", kSelectJob, kOfRun));
    query.bind(1, run);
    query.bind(2, since);
    return ReadJobs(query);
  });
}

// One change of one job, whose id is the statement's first parameter, in a transaction. True if there was one.
template <typename Change>
Result<bool> Store::ChangeJob(int64_t id, Change change) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<bool> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    CountChange(database, IdOf(database, "SELECT run_id FROM jobs WHERE id = ?1", id));
    KB_ASSIGN_OR_RETURN(const bool changed, change(database));
    if (changed) transaction.commit();
    return changed;
  });
}

Result<bool> Store::ClaimJob(int64_t id, const std::string& owner, int64_t lease_until) {
  return ChangeJob(id, [&](SQLite::Database& database) -> Result<bool> {
    SQLite::Statement claim(
        database, fmt::format("UPDATE jobs SET state = 'running', owner = ?2, lease_until = ?3, claimed = ?4, "
                              "attempts = attempts + 1, {} WHERE id = ?1 AND state = 'queued'",
                              kChanged));
    claim.bind(1, id);
    claim.bind(2, owner);
    claim.bind(3, lease_until);
    claim.bind(4, UtcSeconds());
    return claim.exec() == 1;
  });
}

Status Store::RenewJobs(const std::string& owner, int64_t lease_until) {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Status {
    SQLite::Statement renew(impl_->database, "UPDATE jobs SET lease_until = ?2 WHERE owner = ?1 AND owner <> ''");
    renew.bind(1, owner);
    renew.bind(2, lease_until);
    renew.exec();
    return {};
  });
}

Result<bool> Store::FinishJob(int64_t id, const std::string& owner, const nlohmann::json& evaluation) {
  return ChangeJob(id, [&](SQLite::Database& database) -> Result<bool> {
    KB_RETURN_IF_ERROR(AddEvaluation(database, evaluation));
    SQLite::Statement finish(database,
                             fmt::format("UPDATE jobs SET state = 'done', owner = '', error = '', evaluation_id = ?3, "
                                         "problem_sha256 = coalesce(nullif(?4, ''), problem_sha256), {} "
                                         "WHERE id = ?1 AND state = 'running' AND owner = ?2",
                                         kChanged));
    finish.bind(1, id);
    finish.bind(2, owner);
    finish.bind(3, Text(evaluation, "id"));
    finish.bind(4, Text(evaluation, "problem_sha256"));  // it may have changed since the job was queued
    return finish.exec() == 1;
  });
}

Result<bool> Store::GiveUpJob(int64_t id, const std::string& owner, const std::string& error, bool again) {
  return ChangeJob(id, [&](SQLite::Database& database) -> Result<bool> {
    return GiveUp(database, kJobLease, id, owner, error, again);
  });
}

Result<bool> Store::CancelJob(int64_t id, const std::string& owner, const std::string& error) {
  return ChangeJob(id, [&](SQLite::Database& database) -> Result<bool> {
    SQLite::Statement cancel(database, fmt::format("UPDATE jobs SET state = 'failed', owner = '', error = ?3, {} WHERE "
                                                   "id = ?1 AND (state = 'queued' OR (state = 'running' AND owner = "
                                                   "?2))",
                                                   kChanged));
    cancel.bind(1, id);
    cancel.bind(2, owner);
    cancel.bind(3, ToUtf8(error));
    return cancel.exec() == 1;
  });
}

Status Store::RetryJobs(const std::string& run, std::span<const int64_t> ids) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Status {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    CountChange(database, IdOf(database, "SELECT id FROM runs WHERE name = ?1", run));
    SQLite::Statement retry(database, fmt::format("UPDATE jobs SET state = 'queued', attempts = 0, {} WHERE id = ?1 "
                                                  "AND state = 'failed'",
                                                  kChanged));
    for (const int64_t id : ids) {
      retry.reset();
      retry.bind(1, id);
      retry.exec();
    }
    transaction.commit();
    return {};
  });
}

Result<int64_t> Store::ReleaseJobs(const std::string& run, bool failed) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<int64_t> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    CountChange(database, IdOf(database, "SELECT id FROM runs WHERE name = ?1", run));
    int64_t released = QueueStranded(database, kJobLease, run, UtcSeconds());
    if (failed) {
      SQLite::Statement release(database, fmt::format("UPDATE jobs SET state = 'queued', attempts = 0, {} WHERE state "
                                                      "= 'failed' AND {}",
                                                      kChanged, kOfRun));
      release.bind(1, run);
      released += release.exec();
    }
    transaction.commit();
    return released;
  });
}

Result<std::vector<std::string>> Store::Runs() const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<std::string>> {
    SQLite::Statement query(impl_->database, "SELECT name FROM runs ORDER BY id");
    std::vector<std::string> names;
    while (query.executeStep()) names.push_back(query.getColumn(0).getString());
    return names;
  });
}

Result<std::vector<ScoreRow>> Store::Scores(const StoreFilter& filter) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<ScoreRow>> {
    SQLite::Database& database = impl_->database;
    const ReadSnapshot snapshot(database);
    const auto devices =
        NamesById(database, "SELECT id, name, coalesce(json_extract(info, '$.torch'), '') FROM devices");
    const auto runs = NamesById(database, "SELECT id, name, '' FROM runs");
    const auto texts = NamesById(database, "SELECT id, sha256, '' FROM problems");
    SQLite::Statement query(
        database,
        "SELECT run_id, device_id, id, created, model, problem, size, device, iif(rules = '', protocol, rules), "
        "baseline, "
        "candidate_path, "
        "candidate_sha256, verdict, sample, speedup, low, high, baseline_us, candidate_us, "
        "iif(verdict = 'correct', reason, ''), problem_id FROM evaluations "
        "WHERE (?1 = '' OR problem = ?1) AND (?2 = '' OR verdict = ?2) "
        "AND (?3 = '' OR run_id = (SELECT id FROM runs WHERE name = ?3)) ORDER BY sequence");
    query.bind(1, filter.problem);
    query.bind(2, filter.verdict);
    query.bind(3, filter.run);
    std::vector<ScoreRow> rows;
    std::unordered_map<std::string, size_t> newest;  // by what makes a sample, its place in `rows`
    while (query.executeStep()) {
      ScoreRow row = ReadScoreRow(query, runs, devices, texts);
      const auto [found, is_first] = newest.try_emplace(SampleKey(query, row), rows.size());
      if (!is_first) {
        ScoreRow& older = rows[found->second];
        if (row.created < older.created) continue;
        older.id.clear();
        found->second = rows.size();
      }
      rows.push_back(std::move(row));
    }
    std::erase_if(rows, [](const ScoreRow& row) { return row.id.empty(); });
    if (filter.limit > 0 && rows.size() > static_cast<size_t>(filter.limit))
      rows.resize(static_cast<size_t>(filter.limit));
    return rows;
  });
}

}  // namespace kb

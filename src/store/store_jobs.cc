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
  return job;
}

// Where a done job does not say which text of its problem it is about, any may have changed since, unless the candidate
// was rejected by its own text.
constexpr char kAdd[] =
    "INSERT INTO jobs (run_id, model, problem, size, sample, device, protocol, path, sha256, state, problem_sha256) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'queued', ?11) "
    "ON CONFLICT (run_id, model, problem, size, sample, device, protocol) DO UPDATE SET path = excluded.path, "
    "sha256 = excluded.sha256, problem_sha256 = excluded.problem_sha256, state = 'queued', owner = '', attempts = 0, "
    "error = '', evaluation_id = NULL "
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
}

constexpr char kSelectJob[] =
    "SELECT id, model, problem, size, sample, device, protocol, path, sha256, state, owner, attempts, error, "
    "evaluation_id, problem_sha256 FROM jobs ";

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

int Changed(SQLite::Statement& statement) { return statement.exec(); }

}  // namespace

Result<int64_t> Store::AddJobs(const std::string& run, std::span<const Job> jobs, bool again) {
  if (run.empty()) return Fail(ErrorCode::kUsage, "a run needs a name");
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<int64_t> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t run_id = RunId(database, run, UtcNow(kIso8601));
    SQLite::Statement add(database, kAdd);
    int64_t queued = 0;
    for (const Job& job : jobs) {
      add.reset();
      BindJob(add, run_id, job, again);
      queued += Changed(add);
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
    SQLite::Statement query(impl_->database, std::string(kSelectJob) +
                                                 "WHERE run_id = (SELECT id FROM runs WHERE name = ?1) AND (?2 = '' OR "
                                                 "state = ?2) ORDER BY id");
    query.bind(1, run);
    query.bind(2, state);
    std::vector<Job> jobs;
    while (query.executeStep()) jobs.push_back(ReadJob(query));
    return jobs;
  });
}

Result<bool> Store::ClaimJob(int64_t id, const std::string& owner) {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<bool> {
    SQLite::Statement claim(impl_->database,
                            "UPDATE jobs SET state = 'running', owner = ?2, attempts = attempts + 1 "
                            "WHERE id = ?1 AND state = 'queued'");
    claim.bind(1, id);
    claim.bind(2, owner);
    return Changed(claim) == 1;
  });
}

Status Store::FinishJob(int64_t id, const std::string& owner, const nlohmann::json& evaluation) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Status {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    KB_RETURN_IF_ERROR(AddEvaluation(database, evaluation));
    SQLite::Statement finish(database,
                             "UPDATE jobs SET state = 'done', owner = '', error = '', evaluation_id = ?3, "
                             "problem_sha256 = coalesce(nullif(?4, ''), problem_sha256) "
                             "WHERE id = ?1 AND state = 'running' AND owner = ?2");
    finish.bind(1, id);
    finish.bind(2, owner);
    finish.bind(3, Text(evaluation, "id"));
    finish.bind(4, Text(evaluation, "problem_sha256"));  // it may have changed since the job was queued
    if (Changed(finish) == 1) transaction.commit();      // else somebody else has the job, and this adds nothing
    return {};
  });
}

Status Store::GiveUpJob(int64_t id, const std::string& owner, const std::string& error, bool again) {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Status {
    GiveUp(impl_->database, kJobLease, id, owner, error, again);
    return {};
  });
}

Status Store::RetryJobs(std::span<const int64_t> ids) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Status {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement retry(database,
                            "UPDATE jobs SET state = 'queued', attempts = 0 WHERE id = ?1 AND state = 'failed'");
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
    int64_t released = QueueStranded(database, kJobLease, run);
    if (failed) {
      SQLite::Statement release(database,
                                "UPDATE jobs SET state = 'queued', attempts = 0 WHERE state = 'failed' "
                                "AND run_id = (SELECT id FROM runs WHERE name = ?1)");
      release.bind(1, run);
      released += Changed(release);
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
    const SQLite::Transaction snapshot(database);
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

// Archives of runs: a store with one run, compressed. What comes in is read as hostile: its schema must be ours to the
// letter, so that it holds no trigger and no view, and each evaluation goes through AddEvaluation() like a new one.

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/temp_dir.h"
#include "judge/candidate/folder.h"
#include "store/compress.h"
#include "store/lease.h"
#include "store/migrations.h"
#include "store/store_impl.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRecord = size_t{64} << 20;  // a foreign evaluation's JSON, samples or source, an agent's file

// Blobs in a store are compressed already, so an archive of one shrinks little, unless it holds hardly anything.
uint64_t ContentsLimit(const fs::path& archive) {
  std::error_code error;
  const auto size = fs::file_size(archive, error);
  return (uint64_t{256} << 20) + 64 * (error ? 0 : static_cast<uint64_t>(size));
}

// ?1 is the run's name. Foreign keys are looked at when all is there.
constexpr const char* kCopyRun[] = {
    "INSERT INTO archive.runs SELECT * FROM main.runs WHERE name = ?1",
    "INSERT INTO archive.jobs SELECT * FROM main.jobs WHERE run_id = (SELECT id FROM archive.runs)",
    "UPDATE archive.jobs SET state = 'queued', owner = '', lease_until = 0 WHERE state = 'running'",
    "INSERT INTO archive.evaluations SELECT * FROM main.evaluations WHERE run_id = (SELECT id FROM archive.runs) "
    "OR id IN (SELECT evaluation_id FROM archive.jobs)",
    "UPDATE archive.evaluations SET run_id = (SELECT id FROM archive.runs)",
    "INSERT INTO archive.problems SELECT * FROM main.problems WHERE id IN (SELECT problem_id FROM archive.evaluations)",
    "INSERT INTO archive.devices SELECT * FROM main.devices WHERE id IN (SELECT device_id FROM archive.evaluations)",
    "INSERT INTO archive.generations SELECT * FROM main.generations WHERE run_id = (SELECT id FROM archive.runs)",
    "INSERT INTO archive.requests SELECT * FROM main.requests WHERE run_id = (SELECT id FROM archive.runs)",
    "UPDATE archive.requests SET state = 'queued', owner = '' WHERE state = 'asked'",
    "INSERT INTO archive.answers SELECT * FROM main.answers WHERE request_id IN (SELECT id FROM archive.requests)",
    "INSERT INTO archive.episodes SELECT * FROM main.episodes WHERE request_id IN (SELECT id FROM archive.requests)",
    "INSERT INTO archive.turns SELECT * FROM main.turns WHERE request_id IN (SELECT id FROM archive.requests)",
    "INSERT INTO archive.turn_files SELECT * FROM main.turn_files WHERE request_id IN (SELECT id FROM "
    "archive.requests)",
    "INSERT INTO archive.turn_verdicts SELECT * FROM main.turn_verdicts WHERE request_id IN (SELECT id FROM "
    "archive.requests)",
    "INSERT INTO archive.reviews SELECT * FROM main.reviews WHERE evaluation_id IN (SELECT id FROM "
    "archive.evaluations)",
    "INSERT INTO archive.candidates SELECT * FROM main.candidates WHERE sha256 IN (SELECT source_sha256 FROM "
    "archive.evaluations UNION SELECT sha256 FROM archive.jobs UNION SELECT source_sha256 FROM archive.answers UNION "
    "SELECT sha256 FROM archive.turn_files UNION SELECT source_sha256 FROM archive.turn_verdicts)",
    "INSERT INTO archive.samples SELECT * FROM main.samples WHERE evaluation_id IN (SELECT id FROM "
    "archive.evaluations)",
    "INSERT INTO archive.measurements SELECT * FROM main.measurements WHERE evaluation_id IN (SELECT id FROM "
    "archive.evaluations)",
    "INSERT INTO archive.builds SELECT * FROM main.builds WHERE evaluation_id IN (SELECT id FROM archive.evaluations)",
    "INSERT INTO archive.baselines SELECT * FROM main.baselines WHERE evaluation_id IN (SELECT id FROM "
    "archive.evaluations)",
};

// Attached as `archive` while it lives. Must go before the connection does.
class Attached {
 public:
  Attached(SQLite::Database& database, const fs::path& path) : database_(database) {
    SQLite::Statement attach(database, "ATTACH ? AS archive");
    attach.bind(1, path.string());
    attach.exec();
  }
  Attached(const Attached&) = delete;  // detaches
  Attached& operator=(const Attached&) = delete;
  ~Attached() { database_.tryExec("DETACH archive"); }

 private:
  SQLite::Database& database_;
};

Status CopyRun(SQLite::Database& database, const std::string& run, const fs::path& path) {
  const Attached attached(database, path);
  SQLite::Transaction transaction(database);
  database.exec("PRAGMA defer_foreign_keys = ON");
  for (const char* step : kCopyRun) {
    SQLite::Statement statement(database, step);
    if (statement.getBindParameterCount() > 0) statement.bind(1, run);
    if (statement.exec() == 0 && step == kCopyRun[0]) {
      return Fail(ErrorCode::kUsage, fmt::format("there is no run {} in {}", run, database.getFilename()));
    }
  }
  transaction.commit();
  return {};
}

// Sources of jobs without a verdict are only in their files.
int64_t AddJobSources(SQLite::Database& archive) {
  SQLite::Statement query(archive,
                          "SELECT DISTINCT path, sha256 FROM jobs WHERE state <> 'done' AND sha256 NOT IN (SELECT "
                          "sha256 FROM candidates)");
  std::vector<std::pair<std::string, std::string>> missing;
  while (query.executeStep()) {
    missing.emplace_back(query.getColumn(0).getString(), query.getColumn(1).getString());
  }
  int64_t lost = 0;
  for (const auto& [path, sha256] : missing) {
    const auto source = ReadCandidateText(path);
    if (source && source->rejection.empty() && Sha256(source->text) == sha256) {
      AddSource(archive, nlohmann::json::object(), source->text);
    } else {
      ++lost;
    }
  }
  return lost;
}

int64_t Count(SQLite::Database& database, const char* table) {
  return database.execAndGet(fmt::format("SELECT count(*) FROM {}", table)).getInt64();
}

std::vector<std::string> Column(SQLite::Database& database, const char* sql) {
  std::vector<std::string> values;
  for (SQLite::Statement query(database, sql); query.executeStep();) values.push_back(query.getColumn(0).getString());
  return values;
}

// May throw SQLite's exceptions.
Status CheckArchive(SQLite::Database& database) {
  database.exec("PRAGMA trusted_schema = OFF");
  database.exec("PRAGMA cell_size_check = ON");
  const auto steps = Migrations();
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  if (database.execAndGet("PRAGMA application_id").getInt() != kApplicationId || version < 1) {
    return Fail(ErrorCode::kUsage, "it is no archive of a run");
  }
  if (version > static_cast<int>(steps.size())) {
    return Fail(ErrorCode::kUsage, fmt::format("it has version {}, this program knows versions up to {}: use a newer "
                                               "kernelbench",
                                               version, steps.size()));
  }
  constexpr char kSchema[] =
      "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1";
  SQLite::Database ours(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  KB_RETURN_IF_ERROR(Migrate(ours, steps.first(static_cast<size_t>(version))));
  if (Column(database, kSchema) != Column(ours, kSchema)) {
    return Fail(ErrorCode::kUsage, "its schema is not that of an archive");
  }
  if (Column(database, "PRAGMA quick_check(1)") != std::vector<std::string>{"ok"}) {
    return Fail(ErrorCode::kUsage, "its pages are damaged");
  }
  const std::vector<std::string> runs = Column(database, "SELECT name FROM runs");
  if (runs.size() != 1 || runs[0].empty()) return Fail(ErrorCode::kUsage, "it does not hold one run");
  return {};
}

// The unpacked archive, checked and brought up to date.
Result<Store> OpenArchive(const fs::path& archive, const fs::path& unpacked) {
  const auto fail = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("{} cannot be imported: {}", archive.string(), what));
  };
  if (const Status done = DecompressFile(archive, unpacked, ContentsLimit(archive)); !done) {
    return done.error().code == ErrorCode::kUsage ? fail(done.error().message) : tl::make_unexpected(done.error());
  }
  try {
    SQLite::Database database(unpacked.string(), SQLite::OPEN_READWRITE);
    if (const Status checked = CheckArchive(database); !checked) return fail(checked.error().message);
  } catch (const SQLite::Exception& exception) {
    return fail(fmt::format("it is damaged (SQLite: {})", exception.what()));
  }
  return Store::Open(unpacked);
}

// The run that an evaluation is in, "" for none; absent if it is not here.
std::optional<std::string> RunOf(SQLite::Database& database, const std::string& id) {
  SQLite::Statement query(database,
                          "SELECT r.name FROM evaluations e LEFT JOIN runs r ON r.id = e.run_id WHERE e.id = ?");
  query.bind(1, id);
  if (!query.executeStep()) return std::nullopt;
  return query.getColumn(0).getString();
}

bool IsOfJob(SQLite::Database& database, const Job& job) {
  SQLite::Statement query(database,
                          "SELECT e.model = ?2 AND e.problem = ?3 AND e.size = ?4 AND e.sample IS ?5 AND (?6 = '' OR "
                          "p.sha256 IN ('', ?6)) FROM evaluations e JOIN problems p ON p.id = e.problem_id "
                          "WHERE e.id = ?1");
  int column = 0;
  for (const std::string* text : {&job.evaluation_id, &job.model, &job.problem, &job.size}) {
    query.bind(++column, ToUtf8(*text));
  }
  query.bind(5, job.sample);
  query.bind(6, ToUtf8(job.problem_sha256));
  return query.executeStep() && query.getColumn(0).getInt() == 1;
}

constexpr char kMergeJob[] =
    "INSERT INTO jobs (run_id, model, problem, size, sample, device, protocol, path, sha256, state, attempts, error, "
    "evaluation_id, problem_sha256, changed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
    "(SELECT changes FROM runs WHERE id = ?1)) "
    "ON CONFLICT (run_id, model, problem, size, sample, device, protocol) DO UPDATE SET state = 'done', error = '', "
    "attempts = excluded.attempts, evaluation_id = excluded.evaluation_id, changed = excluded.changed, "
    "problem_sha256 = coalesce(nullif(excluded.problem_sha256, ''), jobs.problem_sha256) "
    "WHERE excluded.state = 'done' AND jobs.state IN ('queued', 'failed') AND jobs.sha256 = excluded.sha256 "
    "AND (jobs.problem_sha256 IN ('', excluded.problem_sha256) OR excluded.problem_sha256 = '')";

int MergeJob(SQLite::Database& database, int64_t run_id, const Job& job) {
  SQLite::Statement merge(database, kMergeJob);
  const bool running = job.state == "running";  // on no machine that is known here
  merge.bind(1, run_id);
  merge.bind(5, job.sample);
  merge.bind(11, job.attempts);
  job.evaluation_id.empty() ? merge.bind(13) : merge.bind(13, job.evaluation_id);
  int column = 0;
  for (const std::string* text : {&job.model, &job.problem, &job.size, &job.device, &job.protocol, &job.path,
                                  &job.sha256, &job.state, &job.error, &job.problem_sha256}) {
    constexpr int kColumns[] = {2, 3, 4, 6, 7, 8, 9, 10, 12, 14};
    merge.bind(kColumns[column++], text == &job.state && running ? "queued" : ToUtf8(*text));
  }
  return merge.exec();
}

// Evaluations must be here already. One is in one run, and a job's is in the job's own.
Status MergeJobs(SQLite::Database& database, int64_t run_id, const std::vector<Job>& jobs, Imported* imported) {
  CountChange(database, run_id);
  for (const Job& job : jobs) {
    const auto run = RunOf(database, job.evaluation_id);
    if (run && *run != imported->run) {
      ++imported->jobs_elsewhere;
      continue;
    }
    if (run && !IsOfJob(database, job)) {
      return Fail(ErrorCode::kUsage, "its evaluation " + job.evaluation_id + " is of something else");
    }
    ++(MergeJob(database, run_id, job) == 1 ? imported->jobs : imported->known_jobs);
  }
  return {};
}

Status MergeEvaluation(SQLite::Database& database, SQLite::Database& archive, const std::string& id,
                       const std::string& run) {
  auto evaluation = Guard(archive, [&] { return WholeEvaluation(archive, id, kMaxRecord); });
  if (!evaluation) return tl::make_unexpected(evaluation.error());
  if (!evaluation->is_object() || Text(*evaluation, "id") != id) return Fail(ErrorCode::kUsage, "it has another id");
  (*evaluation)["run"] = run;
  return Guard(database, [&] { return AddEvaluation(database, *evaluation); });
}

// Sources that no evaluation brings, and files of agents.
Status MergeSources(SQLite::Database& database, SQLite::Database& archive) {
  SQLite::Statement query(archive,
                          "SELECT sha256, source FROM candidates WHERE sha256 NOT IN (SELECT source_sha256 FROM "
                          "evaluations WHERE source_sha256 IS NOT NULL)");
  while (query.executeStep()) {
    KB_ASSIGN_OR_RETURN(const std::string source, Decompress(Blob(query.getColumn(1)), kMaxRecord));
    if (Sha256(source) != query.getColumn(0).getString()) return Fail(ErrorCode::kUsage, "a source has another hash");
    AddSource(database, nlohmann::json::object(), source);
  }
  return {};
}

// Better than a run without anything in it.
tl::unexpected<Error> NothingLeft(const fs::path& archive, const Imported& imported) {
  int64_t all = 0;
  std::vector<std::string> runs;
  for (const auto& [run, evaluations] : imported.elsewhere) {
    all += evaluations;
    runs.push_back(run.empty() ? "no run" : "the run " + run);
  }
  return Fail(
      ErrorCode::kUsage,
      fmt::format("{} cannot be imported as {}: an evaluation is in one run, and all {} of it are here already, "
                  "in {}; name that run with --as to merge the rest into it",
                  archive.string(), imported.run, all, fmt::join(runs, " and ")));
}

}  // namespace

Result<Exported> Store::ExportRun(const std::string& run, const fs::path& archive) const {
  const std::lock_guard lock(impl_->mutex);
  KB_ASSIGN_OR_RETURN(const TempDir directory, TempDir::Create("kb-export"));
  const fs::path path = directory.path() / "archive.sqlite";
  return Guard(impl_->database, [&]() -> Result<Exported> {
    Exported exported;
    {
      SQLite::Database fresh(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      KB_RETURN_IF_ERROR(Migrate(fresh, Migrations()));
    }
    KB_RETURN_IF_ERROR(CopyRun(impl_->database, run, path));
    {
      SQLite::Database whole(path.string(), SQLite::OPEN_READWRITE);
      exported.jobs_without_source = AddJobSources(whole);
      exported.evaluations = Count(whole, "evaluations");
      exported.jobs = Count(whole, "jobs");
    }
    KB_RETURN_IF_ERROR(CompressFile(path, archive));
    return exported;
  });
}

Result<Imported> Store::ImportRun(const fs::path& archive, const std::string& as) {
  KB_ASSIGN_OR_RETURN(const TempDir directory, TempDir::Create("kb-import"));
  KB_ASSIGN_OR_RETURN(const Store opened, OpenArchive(archive, directory.path() / "archive.sqlite"));
  SQLite::Database& source = opened.impl_->database;
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> runs, opened.Runs());
  KB_ASSIGN_OR_RETURN(const std::vector<Job> jobs, opened.Jobs(runs.at(0)));
  Imported imported;
  imported.run = ToUtf8(as.empty() ? runs.at(0) : as);  // as evaluations name it
  const auto fail = [&](const std::string& what, const Error& error) {
    return Fail(error.code, fmt::format("{} cannot be imported: {}: {}", archive.string(), what, error.message));
  };
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<Imported> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t run_id = RunId(database, imported.run, source.execAndGet("SELECT created FROM runs").getString());
    for (const std::string& id : Column(source, "SELECT id FROM evaluations ORDER BY sequence")) {
      const auto run = RunOf(database, id);
      ++(!run ? imported.evaluations : *run == imported.run ? imported.known_evaluations : imported.elsewhere[*run]);
      if (run) continue;
      if (const Status merged = MergeEvaluation(database, source, id, imported.run); !merged) {
        return fail("the evaluation " + id, merged.error());
      }
    }
    const Status sources = Guard(source, [&] { return MergeSources(database, source); });
    if (!sources) return fail("sources of candidates", sources.error());
    const Status merged_jobs = Guard(database, [&] { return MergeJobs(database, run_id, jobs, &imported); });
    if (!merged_jobs) return fail("a job", merged_jobs.error());
    const int64_t here = imported.evaluations + imported.known_evaluations + imported.jobs + imported.known_jobs;
    if (here == 0 && !imported.elsewhere.empty()) return NothingLeft(archive, imported);
    const Status generation = Guard(source, [&] { return MergeGeneration(database, source, run_id); });
    if (!generation) return fail("what models answered", generation.error());
    transaction.commit();
    return imported;
  });
}

Result<std::string> Store::Source(const std::string& sha256) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::string> {
    SQLite::Statement query(impl_->database, "SELECT source FROM candidates WHERE sha256 = ?");
    query.bind(1, sha256);
    if (!query.executeStep()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("no candidate in {} has the hash {}", impl_->database.getFilename(), sha256));
    }
    return Decompress(Blob(query.getColumn(0)));
  });
}

}  // namespace kb

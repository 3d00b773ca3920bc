#include "store/migrations.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

namespace kb {
namespace {

// 1: the first schema. Blobs are Zstandard frames. An evaluation's `json` is the whole of it without its samples,
// its measurements and its candidate's source, which have tables of their own; `created` is ISO 8601 in UTC, so it
// sorts as text.
constexpr char kFirstSchema[] = R"sql(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created TEXT NOT NULL
) STRICT;

CREATE TABLE problems (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  UNIQUE (name, sha256)
) STRICT;

CREATE TABLE candidates (
  sha256 TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  backend TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  source BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE devices (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  info TEXT NOT NULL
) STRICT;

CREATE TABLE evaluations (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  created TEXT NOT NULL,
  run_id INTEGER REFERENCES runs (id),
  problem_id INTEGER NOT NULL REFERENCES problems (id),
  problem TEXT NOT NULL,
  size TEXT NOT NULL,
  device_id INTEGER NOT NULL REFERENCES devices (id),
  device TEXT NOT NULL,
  protocol TEXT NOT NULL,
  candidate_sha256 TEXT NOT NULL,
  source_sha256 TEXT REFERENCES candidates (sha256),
  candidate_path TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('not_run', 'static_rejected', 'build_failed', 'load_failed', 'crashed',
    'timed_out', 'out_of_memory', 'wrong_form', 'non_finite', 'incorrect', 'tampered', 'correct')),
  reason TEXT NOT NULL,
  speedup REAL,
  low REAL,
  high REAL,
  baseline_us REAL,
  candidate_us REAL,
  json BLOB NOT NULL
) STRICT;
CREATE INDEX evaluations_created ON evaluations (created);
CREATE INDEX evaluations_problem ON evaluations (problem, created);
CREATE INDEX evaluations_candidate ON evaluations (candidate_sha256);
CREATE INDEX evaluations_run ON evaluations (run_id);

CREATE TABLE samples (
  evaluation_id TEXT PRIMARY KEY REFERENCES evaluations (id) ON DELETE CASCADE,
  count INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE builds (
  evaluation_id TEXT PRIMARY KEY REFERENCES evaluations (id) ON DELETE CASCADE,
  candidate_sha256 TEXT NOT NULL,
  compiler TEXT NOT NULL,
  failed INTEGER NOT NULL CHECK (failed IN (0, 1)),
  build_us REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE baselines (
  evaluation_id TEXT PRIMARY KEY REFERENCES evaluations (id) ON DELETE CASCADE,
  problem_id INTEGER NOT NULL REFERENCES problems (id),
  size TEXT NOT NULL,
  device_id INTEGER NOT NULL REFERENCES devices (id),
  protocol TEXT NOT NULL,
  name TEXT NOT NULL,
  undisturbed_us REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX baselines_problem ON baselines (problem_id, device_id);
)sql";

// 2: what audits found out about problems (docs/reference/problems.md), the newest for each problem text, size, device
// and PyTorch.
constexpr char kAudits[] = R"sql(
CREATE TABLE audits (
  id INTEGER PRIMARY KEY,
  created TEXT NOT NULL,
  problem TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size TEXT NOT NULL,
  device TEXT NOT NULL,
  torch TEXT NOT NULL,
  passes INTEGER NOT NULL CHECK (passes IN (0, 1)),
  json TEXT NOT NULL,
  UNIQUE (problem, sha256, size, device, torch)
) STRICT;
)sql";

// 3: runs of many candidates. Whose sample an evaluation is, and its protocol with all that flags changed of it; the
// jobs of a run, each in one state; baselines measured by themselves. Evaluations from before have no model and no
// sample, and only their JSON tells their baseline.
constexpr char kRuns[] = R"sql(
ALTER TABLE evaluations ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE evaluations ADD COLUMN sample INTEGER;
ALTER TABLE evaluations ADD COLUMN baseline TEXT NOT NULL DEFAULT '';
ALTER TABLE evaluations ADD COLUMN rules TEXT NOT NULL DEFAULT '';

CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs (id),
  model TEXT NOT NULL,
  problem TEXT NOT NULL,
  size TEXT NOT NULL,
  sample INTEGER NOT NULL,
  device TEXT NOT NULL,
  protocol TEXT NOT NULL,
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
  owner TEXT NOT NULL DEFAULT '',
  attempts INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT '',
  evaluation_id TEXT REFERENCES evaluations (id),
  UNIQUE (run_id, model, problem, size, sample, device, protocol),
  CHECK ((state = 'done') = (evaluation_id IS NOT NULL))
) STRICT;
CREATE INDEX jobs_state ON jobs (run_id, state);

CREATE TABLE measured_baselines (
  id INTEGER PRIMARY KEY,
  created TEXT NOT NULL,
  problem TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size TEXT NOT NULL,
  precision TEXT NOT NULL,
  kind TEXT NOT NULL,
  device TEXT NOT NULL,
  torch TEXT NOT NULL,
  json TEXT NOT NULL,
  UNIQUE (problem, sha256, size, precision, kind, device, torch)
) STRICT;
)sql";

// 4: what language models answered (generation.h), and what auditors say about evaluations. Blobs are Zstandard frames.
constexpr char kGeneration[] = R"sql(
CREATE TABLE generations (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id),
  created TEXT NOT NULL,
  settings TEXT NOT NULL
) STRICT;

CREATE TABLE requests (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs (id),
  model TEXT NOT NULL,
  problem TEXT NOT NULL,
  sample INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  candidate INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'asked', 'answered', 'failed')),
  owner TEXT NOT NULL DEFAULT '',
  error TEXT NOT NULL DEFAULT '',
  UNIQUE (run_id, model, problem, sample, turn),
  UNIQUE (run_id, model, problem, candidate),
  CHECK ((state = 'asked') = (owner <> ''))
) STRICT;

CREATE TABLE answers (
  id INTEGER PRIMARY KEY,
  request_id INTEGER NOT NULL REFERENCES requests (id),
  attempt INTEGER NOT NULL,
  created TEXT NOT NULL,
  model TEXT NOT NULL,
  prompt_bytes INTEGER NOT NULL,
  prompt BLOB NOT NULL,
  response BLOB NOT NULL,
  reasoning BLOB NOT NULL,
  finish TEXT NOT NULL,
  answered_by TEXT NOT NULL,
  input INTEGER,
  cache_read INTEGER,
  cache_write INTEGER,
  output INTEGER,
  reasoning_tokens INTEGER,
  cost_usd REAL,
  price_source TEXT NOT NULL,
  calls INTEGER NOT NULL,
  seconds REAL NOT NULL,
  settled INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)),
  source_sha256 TEXT REFERENCES candidates (sha256),
  language TEXT NOT NULL DEFAULT '',
  complaint TEXT NOT NULL DEFAULT '',
  UNIQUE (request_id, attempt)
) STRICT;
CREATE INDEX answers_model ON answers (model);

CREATE TABLE reviews (
  id INTEGER PRIMARY KEY,
  evaluation_id TEXT NOT NULL REFERENCES evaluations (id) ON DELETE CASCADE,
  auditor TEXT NOT NULL,
  created TEXT NOT NULL,
  passes INTEGER NOT NULL CHECK (passes IN (0, 1)),
  speedup REAL,
  findings TEXT NOT NULL,
  exchange BLOB NOT NULL,
  UNIQUE (evaluation_id, auditor)
) STRICT;
)sql";

// 5: which text of its problem a job is about. That of a done one is in its evaluation, unless that did without it; the
// others get theirs when they are queued or judged.
constexpr char kProblemTexts[] = R"sql(
ALTER TABLE jobs ADD COLUMN problem_sha256 TEXT NOT NULL DEFAULT '';
UPDATE jobs SET problem_sha256 = coalesce((SELECT p.sha256 FROM evaluations e JOIN problems p ON p.id = e.problem_id
  WHERE e.id = jobs.evaluation_id), '');
)sql";

// 6: all that was measured in a trial (docs/reference/measurements.md), a Zstandard frame. Evaluations from before have
// only what their JSON and their samples tell.
constexpr char kMeasurements[] = R"sql(
CREATE TABLE measurements (
  evaluation_id TEXT PRIMARY KEY REFERENCES evaluations (id) ON DELETE CASCADE,
  data BLOB NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

// 7: a queue of jobs that several machines judge: whose turn it is, until when a job is somebody's, and in which order
// the jobs of a run changed.
constexpr char kQueue[] = R"sql(
ALTER TABLE runs ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN lease_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_changed ON jobs (run_id, changed);
CREATE INDEX jobs_owner ON jobs (owner) WHERE owner <> '';
)sql";

// 8: what clients of the service asked for (submission.h). `request` is JSON.
constexpr char kSubmissions[] = R"sql(
CREATE TABLE submissions (
  id TEXT PRIMARY KEY,
  job_id INTEGER NOT NULL UNIQUE REFERENCES jobs (id),
  created TEXT NOT NULL,
  client TEXT NOT NULL,
  batch TEXT NOT NULL DEFAULT '',
  idempotency_key TEXT,
  request TEXT NOT NULL,
  UNIQUE (client, idempotency_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX submissions_batch ON submissions (batch) WHERE batch <> '';
)sql";

// 9: what agents did (episode.h). Blobs are Zstandard frames of JSON, and stand last, so that a row's numbers are read
// without them. Files and sources are among `candidates`; a file of turn 0 was there before the first.
constexpr char kEpisodes[] = R"sql(
CREATE TABLE episodes (
  request_id INTEGER PRIMARY KEY REFERENCES requests (id),
  created TEXT NOT NULL,
  harness TEXT NOT NULL,
  ended_by TEXT NOT NULL DEFAULT '',
  ending TEXT NOT NULL DEFAULT '',
  opening BLOB NOT NULL
) STRICT;

CREATE TABLE turns (
  id INTEGER PRIMARY KEY,
  request_id INTEGER NOT NULL REFERENCES episodes (request_id),
  number INTEGER NOT NULL CHECK (number > 0),
  kind TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'done')),
  created TEXT NOT NULL,
  lost INTEGER NOT NULL,
  lost_tokens INTEGER NOT NULL,
  lost_usd REAL NOT NULL,
  input INTEGER,
  cache_read INTEGER,
  cache_write INTEGER,
  output INTEGER,
  reasoning_tokens INTEGER,
  cost_usd REAL,
  price_source TEXT NOT NULL DEFAULT '',
  calls INTEGER NOT NULL DEFAULT 0,
  seconds REAL NOT NULL DEFAULT 0,
  tool_seconds REAL NOT NULL DEFAULT 0,
  context BLOB NOT NULL,
  answer BLOB,
  results BLOB,
  UNIQUE (request_id, number),
  CHECK ((state = 'asked') = (answer IS NULL)),
  CHECK ((state = 'done') = (results IS NOT NULL))
) STRICT;

CREATE TABLE turn_files (
  request_id INTEGER NOT NULL REFERENCES episodes (request_id),
  turn INTEGER NOT NULL CHECK (turn >= 0),
  path TEXT NOT NULL,
  mode INTEGER NOT NULL CHECK (mode BETWEEN 0 AND 4095),
  sha256 TEXT REFERENCES candidates (sha256),
  PRIMARY KEY (request_id, turn, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE turn_verdicts (
  id INTEGER PRIMARY KEY,
  request_id INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  call INTEGER NOT NULL,
  tool TEXT NOT NULL,
  source_sha256 TEXT NOT NULL REFERENCES candidates (sha256),
  language TEXT NOT NULL,
  verdict TEXT NOT NULL,
  speedup REAL,
  low REAL,
  high REAL,
  device_seconds REAL NOT NULL,
  view BLOB NOT NULL,
  FOREIGN KEY (request_id, turn) REFERENCES turns (request_id, number)
) STRICT;
CREATE INDEX turn_verdicts_request ON turn_verdicts (request_id, tool);
)sql";

// 10: commands in which an agent's model refused to answer, since it last did.
constexpr char kRefusals[] = R"sql(
ALTER TABLE episodes ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
)sql";

// 11: when what runs was claimed, in seconds since 1970.
constexpr char kClaims[] = R"sql(
ALTER TABLE jobs ADD COLUMN claimed INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr const char* kMigrations[] = {kFirstSchema, kAudits,      kRuns,     kGeneration, kProblemTexts, kMeasurements,
                                       kQueue,       kSubmissions, kEpisodes, kRefusals,   kClaims};

int Pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

}  // namespace

std::span<const char* const> Migrations() { return kMigrations; }

bool IsEmpty(SQLite::Database& database) {
  return database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
}

Status Migrate(SQLite::Database& database, std::span<const char* const> steps) {
  const int wanted = static_cast<int>(steps.size());
  for (;;) {
    if (Pragma(database, "user_version") == wanted && Pragma(database, "application_id") == kApplicationId) return {};
    // The write lock first, then the version again: another process may be migrating the same file.
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    const int version = Pragma(database, "user_version");
    if (Pragma(database, "application_id") != kApplicationId && !IsEmpty(database)) {
      return Fail(ErrorCode::kStore,
                  fmt::format("{} is a database of another program: choose another file", database.getFilename()));
    }
    if (version > wanted) {
      return Fail(ErrorCode::kStore,
                  fmt::format("the store {} has version {}, this program knows versions up to {}: use a newer "
                              "kernelbench, or another store",
                              database.getFilename(), version, wanted));
    }
    if (version < wanted) database.exec(steps[static_cast<size_t>(version)]);
    database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
    database.exec(fmt::format("PRAGMA user_version = {}", version < wanted ? version + 1 : version));
    transaction.commit();
  }
}

}  // namespace kb

#include "store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/evaluation_schema.h"
#include "base/json_shape.h"
#include "store/compress.h"
#include "store/migrations.h"
#include "store/sqlite_error.h"
#include "store/store_impl.h"

namespace kb {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr char kWithoutMeasurements[] =
    "SELECT e.json, s.data, c.source, NULL FROM evaluations e LEFT JOIN samples s ON s.evaluation_id = e.id "
    "LEFT JOIN candidates c ON c.sha256 = e.source_sha256 ";
constexpr char kMeasured[] =
    "SELECT e.json, NULL, NULL, m.data FROM evaluations e LEFT JOIN measurements m ON m.evaluation_id = e.id ";

// JSON is copied and written recursively: a store from elsewhere must not decide how deep.
bool IsShallow(std::string_view text) {
  constexpr size_t kMaxDepth = 64;
  return CheckShape(text, kMaxDepth, std::numeric_limits<size_t>::max()).has_value();
}

Result<json> ParseShallow(std::string_view text) {
  if (IsShallow(text)) return json::parse(text);
  return Fail(ErrorCode::kStore, "the store holds a damaged record: it is nested too deep");
}

// The current row of one of these queries, put together again.
Result<json> ReadWhole(SQLite::Statement& query, size_t limit = kMaxContents) {
  KB_ASSIGN_OR_RETURN(const std::string text, Decompress(Blob(query.getColumn(0)), limit));
  KB_ASSIGN_OR_RETURN(json evaluation, ParseShallow(text));
  if (!query.getColumn(1).isNull()) {
    KB_ASSIGN_OR_RETURN(const std::string samples, Decompress(Blob(query.getColumn(1)), limit));
    KB_ASSIGN_OR_RETURN(evaluation["samples"], ParseShallow(samples));
  }
  if (!query.getColumn(2).isNull()) {
    KB_ASSIGN_OR_RETURN(evaluation["candidate"]["source"], Decompress(Blob(query.getColumn(2)), limit));
  }
  if (!query.getColumn(3).isNull()) {
    KB_ASSIGN_OR_RETURN(const std::string measurements, Decompress(Blob(query.getColumn(3)), limit));
    KB_ASSIGN_OR_RETURN(evaluation["measurements"], ParseShallow(measurements));
  }
  return CurrentEvaluation(std::move(evaluation));
}

constexpr char kWhere[] =
    "WHERE (?1 = '' OR e.problem = ?1) AND (?2 = '' OR e.verdict = ?2) "
    "AND (?3 = '' OR e.run_id = (SELECT id FROM runs WHERE name = ?3)) ";
constexpr char kNewestFirst[] = "ORDER BY e.created DESC, e.sequence DESC LIMIT ?4";

void BindFilter(SQLite::Statement& query, const StoreFilter& filter) {
  query.bind(1, filter.problem);
  query.bind(2, filter.verdict);
  query.bind(3, filter.run);
  query.bind(4, filter.limit > 0 ? filter.limit : -1);
}

// Switching to WAL needs the file for itself for a moment, and SQLite gives up at once where waiting could deadlock.
void EnterWal(SQLite::Database& database, int busy_timeout_ms) {
  const int64_t deadline = NowNs() + int64_t{busy_timeout_ms} * 1'000'000;
  for (;;) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (const SQLite::Exception& exception) {
      if (exception.getErrorCode() != SQLITE_BUSY || NowNs() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

bool IsShallowJson(std::string_view text) { return text.empty() || (IsShallow(text) && json::accept(text)); }

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::Open(const fs::path& path, const StoreOptions& options) {
  std::error_code error, ignored;
  if (!options.create && fs::status(path, ignored).type() == fs::file_type::not_found) {
    return Fail(ErrorCode::kUsage, fmt::format("the store {} does not exist", path.string()));
  }
  if (options.create && path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) {
    return Fail(ErrorCode::kStore, fmt::format("cannot make the directory {} for the store: {}",
                                               path.parent_path().string(), error.message()));
  }
  if (fs::is_directory(path, error)) {
    return Fail(ErrorCode::kStore, fmt::format("the store {} is a directory: name a file in it", path.string()));
  }
  std::unique_ptr<Impl> impl;
  try {
    impl = std::make_unique<Impl>(path.string(), options);
  } catch (const SQLite::Exception& exception) {
    return tl::make_unexpected(StoreError(exception.getExtendedErrorCode(), path.string(), exception.what()));
  }
  SQLite::Database& database = impl->database;
  // Where the file is write-protected SQLite opens it for reading only, and says so at the first write.
  const Status ready = Guard(database, [&]() -> Status {
    if (sqlite3_db_readonly(database.getHandle(), "main") == 1) {
      return tl::make_unexpected(StoreError(SQLITE_READONLY, path.string(), "opened for reading only"));
    }
    database.exec("PRAGMA foreign_keys = ON");
    database.exec("PRAGMA synchronous = NORMAL");
    if (!options.create && IsEmpty(database)) {
      return Fail(ErrorCode::kUsage, fmt::format("the file {} is empty and no store: name another", path.string()));
    }
    KB_RETURN_IF_ERROR(Migrate(database, Migrations()));
    EnterWal(database, options.busy_timeout_ms);
    return {};
  });
  if (!ready) return tl::make_unexpected(ready.error());
  return Store(std::move(impl));
}

Result<json> WholeEvaluation(SQLite::Database& database, const std::string& id, size_t limit, EvaluationParts parts) {
  const auto null_unless = [](bool wanted, const char* column) { return wanted ? column : "NULL"; };
  SQLite::Statement query(
      database,
      fmt::format("SELECT e.json, {}, {}, {} FROM evaluations e LEFT JOIN samples s ON s.evaluation_id = e.id "
                  "LEFT JOIN candidates c ON c.sha256 = e.source_sha256 LEFT JOIN measurements m ON "
                  "m.evaluation_id = e.id WHERE e.id = ?",
                  null_unless(parts.samples, "s.data"), null_unless(parts.source, "c.source"),
                  null_unless(parts.measurements, "m.data")));
  query.bind(1, id);
  KB_CHECK(query.executeStep());
  return ReadWhole(query, limit);
}

Result<json> Store::Get(std::string_view id, EvaluationParts parts) const {
  if (id.empty()) return Fail(ErrorCode::kUsage, "an evaluation needs an id: `kernelbench list` shows them");
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<json> {
    // An id that is given in full wins over longer ones that start with it.
    SQLite::Statement whole(database, "SELECT 1 FROM evaluations WHERE id = ?1");
    whole.bind(1, std::string(id));
    if (whole.executeStep()) return WholeEvaluation(database, std::string(id), kMaxContents, parts);
    SQLite::Statement find(database,
                           "SELECT id FROM evaluations WHERE substr(id, 1, length(?1)) = ?1 "
                           "ORDER BY id LIMIT 4");
    find.bind(1, std::string(id));
    std::vector<std::string> found;
    while (find.executeStep()) found.push_back(find.getColumn(0).getString());
    if (found.empty()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("no evaluation in {} has an id that starts with {}: `kernelbench list` "
                              "shows them",
                              database.getFilename(), id));
    }
    if (found.size() > 1) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("{} is ambiguous, it begins {}{}: give more of the id", id,
                              fmt::join(found.begin(), found.begin() + (found.size() > 3 ? 3 : 2), ", "),
                              found.size() > 3 ? ", ..." : ""));
    }
    return WholeEvaluation(database, found[0], kMaxContents, parts);
  });
}

Result<std::vector<json>> Store::List(const StoreFilter& filter) const {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<std::vector<json>> {
    SQLite::Statement query(database, fmt::format("SELECT {} FROM evaluations e JOIN {} {}{}", kSummaryColumns,
                                                  kSummaryTables, kWhere, kNewestFirst));
    BindFilter(query, filter);
    std::vector<json> summaries;
    while (query.executeStep()) summaries.push_back(ReadSummary(query));
    return summaries;
  });
}

Result<std::vector<json>> Store::Load(const StoreFilter& filter) const {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<std::vector<json>> {
    SQLite::Statement query(
        database,
        fmt::format(
            "{} WHERE e.sequence IN (SELECT sequence FROM (SELECT e.sequence AS sequence, row_number() "
            "OVER (PARTITION BY e.problem, e.size, d.kind, d.name, e.protocol, e.candidate_path, e.run_id, e.model, "
            "e.sample "
            "ORDER BY e.created DESC, e.sequence DESC) AS age FROM evaluations e JOIN devices d ON d.id = "
            "e.device_id {}) WHERE age = 1) {}",
            kWithoutMeasurements, kWhere, kNewestFirst));
    BindFilter(query, filter);
    std::vector<json> evaluations;
    while (query.executeStep()) {
      KB_ASSIGN_OR_RETURN(json evaluation, ReadWhole(query));
      evaluations.push_back(std::move(evaluation));
    }
    return evaluations;
  });
}

Status Store::EachMeasured(const StoreFilter& filter, const std::function<Status(json)>& take) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Status {
    SQLite::Statement query(impl_->database, fmt::format("{} {} ORDER BY e.sequence LIMIT ?4", kMeasured, kWhere));
    BindFilter(query, filter);
    while (query.executeStep()) {
      KB_ASSIGN_OR_RETURN(json evaluation, ReadWhole(query));
      KB_RETURN_IF_ERROR(take(std::move(evaluation)));
    }
    return {};
  });
}

Status Store::AddAudit(const json& audit) {
  for (const char* key : {"created", "problem", "sha256", "size", "device", "torch"}) {
    if (!audit.is_object() || Text(audit, key).empty()) {
      return Fail(ErrorCode::kEngine, fmt::format("an audit without `{}` cannot be stored", key));
    }
  }
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Status {
    SQLite::Statement insert(
        impl_->database,
        "INSERT INTO audits (created, problem, sha256, size, device, torch, passes, json) VALUES (?, ?, ?, ?, ?, ?, ?, "
        "?) "
        "ON CONFLICT (problem, sha256, size, device, torch) DO UPDATE SET created = excluded.created, "
        "passes = excluded.passes, json = excluded.json");
    int column = 0;
    for (const char* key : {"created", "problem", "sha256", "size", "device", "torch"})
      insert.bind(++column, Text(audit, key));
    insert.bind(++column, audit.at("passes").get<bool>() ? 1 : 0);
    insert.bind(++column, Dump(audit));
    insert.exec();
    return {};
  });
}

Result<std::vector<json>> Store::Audits() const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<json>> {
    std::vector<json> audits;
    SQLite::Statement query(impl_->database, "SELECT json FROM audits ORDER BY created, id");
    while (query.executeStep()) audits.push_back(json::parse(query.getColumn(0).getString()));
    return audits;
  });
}

}  // namespace kb

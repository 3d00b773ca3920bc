// What the parts of the store share. Not for others.
#ifndef STORE_STORE_IMPL_H_
#define STORE_STORE_IMPL_H_

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "store/compress.h"
#include "store/sqlite_error.h"
#include "store/store.h"

namespace kb {

struct Store::Impl {
  Impl(const std::string& path, const StoreOptions& options)
      : database(path, SQLite::OPEN_READWRITE | (options.create ? SQLite::OPEN_CREATE : 0), options.busy_timeout_ms) {}

  mutable std::mutex mutex;
  mutable SQLite::Database database;
};

// One state of the store for several reads, whoever writes meanwhile: that of HoldSnapshot(), where there is one.
class ReadSnapshot {
 public:
  explicit ReadSnapshot(SQLite::Database& database) {
    if (sqlite3_get_autocommit(database.getHandle()) != 0) transaction_.emplace(database);
  }

 private:
  std::optional<SQLite::Transaction> transaction_;
};

// Compiler output ends up in some columns as well: TEXT must be UTF-8 there too, and the dump is what replaces.
inline std::string ToUtf8(const std::string& text) {
  return nlohmann::json::parse(Dump(nlohmann::json(text))).get<std::string>();
}

// A member that is a string, else "".
inline std::string Text(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? ToUtf8(found->get_ref<const std::string&>()) : "";
}

inline std::string Blob(SQLite::Column column) {
  const int size = column.getBytes();
  return size == 0 ? "" : std::string(static_cast<const char*>(column.getBlob()), static_cast<size_t>(size));
}

inline std::optional<int64_t> WholeNumber(SQLite::Column column) {
  return column.isNull() ? std::nullopt : std::optional(column.getInt64());
}

inline std::optional<double> RealNumber(SQLite::Column column) {
  return column.isNull() ? std::nullopt : std::optional(column.getDouble());
}

inline void BindFrame(SQLite::Statement& statement, int index, const std::string& text) {
  const std::string frame = Compress(text);
  statement.bind(index, frame.data(), static_cast<int>(frame.size()));
}

template <typename T>
void BindMaybe(SQLite::Statement& statement, int index, const std::optional<T>& value) {
  value ? statement.bind(index, *value) : statement.bind(index);
}

// Runs `body`, which may throw SQLite's and JSON's exceptions: they end here.
template <typename Body>
auto Guard(const SQLite::Database& database, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const SQLite::Exception& exception) {
    return tl::make_unexpected(StoreError(exception.getExtendedErrorCode(), database.getFilename(), exception.what()));
  } catch (const nlohmann::json::exception& exception) {
    return Fail(ErrorCode::kStore,
                fmt::format("the store {} holds a damaged record: {}", database.getFilename(), exception.what()));
  }
}

// An evaluation in short: columns of a row, beside `evaluations e`, and what List() tells of it.
inline constexpr char kSummaryColumns[] =
    "e.id, e.created, r.name, e.problem, e.size, e.device, d.name, e.protocol, e.candidate_path, e.candidate_sha256, "
    "e.verdict, e.reason, e.speedup, e.low, e.high, e.baseline_us, e.candidate_us, e.model, e.sample, p.sha256";
inline constexpr int kSummaryColumnCount = 20;
inline constexpr char kSummaryTables[] =
    "devices d ON d.id = e.device_id JOIN problems p ON p.id = e.problem_id LEFT JOIN runs r ON r.id = e.run_id";
nlohmann::json ReadSummary(SQLite::Statement& row);

// Adds one evaluation inside a transaction of the caller's.
Status AddEvaluation(SQLite::Database& database, const nlohmann::json& evaluation);
// The evaluation of that id, put together again, no part of which may be longer than `limit`. It must be there.
Result<nlohmann::json> WholeEvaluation(SQLite::Database& database, const std::string& id, size_t limit = kMaxContents,
                                       EvaluationParts parts = {});
// Stores a candidate's source once, under the hash of its bytes, and returns that hash.
std::string AddSource(SQLite::Database& database, const nlohmann::json& candidate, const std::string& source);
// The id of the run of that name, which is made if it is not there.
int64_t RunId(SQLite::Database& database, const std::string& name, const std::string& created);
// kStore unless this owner asks the request.
Status CheckAsked(SQLite::Database& database, int64_t request, const std::string& owner);
// Nothing, or JSON that nests no deeper than what copies and writes it recursively may meet.
bool IsShallowJson(std::string_view text);
// The job of that id, which must be there.
Job JobOf(SQLite::Database& database, int64_t id);
// What models answered in an archive's run, into the run of that id, inside a transaction of the caller's. Sources and
// evaluations must be here already.
Status MergeGeneration(SQLite::Database& database, SQLite::Database& archive, int64_t run_id);

}  // namespace kb

#endif  // STORE_STORE_IMPL_H_

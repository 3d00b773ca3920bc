// What models answered and agents did, taken from an archive of a run into the store. What is here already stays.
#include "store/store_impl.h"

namespace kb {
namespace {

constexpr size_t kLongestText = size_t{64} << 20;  // a foreign prompt or answer

enum class Holds { kText, kJson };

// Copies the columns of the archive's row from `first` on, texts as UTF-8 and blobs only if they are what they must be.
Status CopyColumns(SQLite::Statement& from, int first, SQLite::Statement* to, int index, Holds blobs = Holds::kText) {
  for (int i = first; i < from.getColumnCount(); ++i, ++index) {
    const SQLite::Column column = from.getColumn(i);
    if (column.isNull()) {
      to->bind(index);
    } else if (column.isInteger()) {
      to->bind(index, column.getInt64());
    } else if (column.isFloat()) {
      to->bind(index, column.getDouble());
    } else if (column.isText()) {
      to->bind(index, ToUtf8(column.getString()));
    } else {
      const std::string frame = Blob(column);
      KB_ASSIGN_OR_RETURN(const std::string text, Decompress(frame, kLongestText));
      if (blobs == Holds::kJson && !IsShallowJson(text)) return Fail(ErrorCode::kUsage, "a record of it is no JSON");
      to->bind(index, frame.data(), static_cast<int>(frame.size()));
    }
  }
  return {};
}

constexpr char kTheirRequests[] =
    "SELECT id, model, problem, sample, turn, candidate, iif(state = 'asked', 'queued', state), error FROM requests";
constexpr char kOurRequest[] =
    "INSERT INTO requests (run_id, model, problem, sample, turn, candidate, state, error) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
constexpr char kTheirAnswers[] =
    "SELECT attempt, created, model, prompt_bytes, prompt, response, reasoning, finish, answered_by, input, "
    "cache_read, cache_write, output, reasoning_tokens, cost_usd, price_source, calls, seconds, settled, "
    "source_sha256, language, complaint FROM answers WHERE request_id = ?";
constexpr char kOurAnswer[] =
    "INSERT INTO answers (request_id, attempt, created, model, prompt_bytes, prompt, response, reasoning, finish, "
    "answered_by, input, cache_read, cache_write, output, reasoning_tokens, cost_usd, price_source, calls, seconds, "
    "settled, source_sha256, language, complaint) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, ?, ?)";

// Rows of the request `theirs`, filed under `ours`.
struct Part {
  const char* from;
  const char* to;
};
constexpr Part kEpisodeParts[] = {
    {"SELECT created, harness, ended_by, ending, opening FROM episodes WHERE request_id = ?",
     "INSERT INTO episodes (request_id, created, harness, ended_by, ending, opening) VALUES (?, ?, ?, ?, ?, ?)"},
    {"SELECT number, kind, state, created, lost, lost_tokens, lost_usd, input, cache_read, cache_write, output, "
     "reasoning_tokens, cost_usd, price_source, calls, seconds, tool_seconds, context, answer, results FROM turns "
     "WHERE request_id = ? ORDER BY number",
     "INSERT INTO turns (request_id, number, kind, state, created, lost, lost_tokens, lost_usd, input, cache_read, "
     "cache_write, output, reasoning_tokens, cost_usd, price_source, calls, seconds, tool_seconds, context, answer, "
     "results) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    {"SELECT turn, path, mode, sha256 FROM turn_files WHERE request_id = ?",
     "INSERT INTO turn_files (request_id, turn, path, mode, sha256) VALUES (?, ?, ?, ?, ?)"},
    {"SELECT turn, call, tool, source_sha256, language, verdict, speedup, low, high, device_seconds, view FROM "
     "turn_verdicts WHERE request_id = ? ORDER BY id",
     "INSERT INTO turn_verdicts (request_id, turn, call, tool, source_sha256, language, verdict, speedup, low, high, "
     "device_seconds, view) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
};

// Of turns without gaps, and files of those alone.
constexpr char kWithoutGaps[] =
    "SELECT count(*) = coalesce(max(number), 0) AND count(*) >= coalesce((SELECT max(turn) FROM turn_files WHERE "
    "request_id = ?1), 0) FROM turns WHERE request_id = ?1";

Status MergeEpisode(SQLite::Database& database, SQLite::Database& archive, int64_t theirs, int64_t ours) {
  for (const Part& part : kEpisodeParts) {
    SQLite::Statement from(archive, part.from), to(database, part.to);
    from.bind(1, theirs);
    while (from.executeStep()) {
      to.bind(1, ours);
      KB_RETURN_IF_ERROR(CopyColumns(from, 0, &to, 2, Holds::kJson));
      to.exec();
      to.reset();
    }
  }
  SQLite::Statement whole(database, kWithoutGaps);
  whole.bind(1, ours);
  KB_CHECK(whole.executeStep());
  if (whole.getColumn(0).getInt() == 0) return Fail(ErrorCode::kUsage, "a turn of an agent is missing");
  return {};
}

Status MergeRequests(SQLite::Database& database, SQLite::Database& archive, int64_t run_id) {
  SQLite::Statement theirs(archive, kTheirRequests);
  while (theirs.executeStep()) {
    SQLite::Statement ours(database, kOurRequest);
    ours.bind(1, run_id);
    KB_RETURN_IF_ERROR(CopyColumns(theirs, 1, &ours, 2));
    if (ours.exec() == 0) continue;
    const int64_t request = database.getLastInsertRowid();
    SQLite::Statement answers(archive, kTheirAnswers);
    answers.bind(1, theirs.getColumn(0).getInt64());
    while (answers.executeStep()) {
      SQLite::Statement answer(database, kOurAnswer);
      answer.bind(1, request);
      KB_RETURN_IF_ERROR(CopyColumns(answers, 0, &answer, 2));
      answer.exec();
    }
    KB_RETURN_IF_ERROR(MergeEpisode(database, archive, theirs.getColumn(0).getInt64(), request));
  }
  return {};
}

Status MergeRows(SQLite::Database& database, SQLite::Database& archive, const char* from, const char* to,
                 std::optional<int64_t> run_id) {
  SQLite::Statement theirs(archive, from);
  while (theirs.executeStep()) {
    SQLite::Statement ours(database, to);
    if (run_id) ours.bind(1, *run_id);
    KB_RETURN_IF_ERROR(CopyColumns(theirs, 0, &ours, run_id ? 2 : 1));
    ours.exec();
  }
  return {};
}

}  // namespace

Status MergeGeneration(SQLite::Database& database, SQLite::Database& archive, int64_t run_id) {
  KB_RETURN_IF_ERROR(MergeRows(database, archive, "SELECT created, settings FROM generations",
                               "INSERT INTO generations (run_id, created, settings) VALUES (?, ?, ?) ON CONFLICT DO "
                               "NOTHING",
                               run_id));
  KB_RETURN_IF_ERROR(MergeRequests(database, archive, run_id));
  return MergeRows(database, archive,
                   "SELECT evaluation_id, auditor, created, passes, speedup, findings, exchange FROM reviews",
                   "INSERT INTO reviews (evaluation_id, auditor, created, passes, speedup, findings, exchange) VALUES "
                   "(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                   std::nullopt);
}

}  // namespace kb

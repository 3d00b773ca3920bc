// What models answered, taken from an archive of a run into the store. What is here already stays.
#include "store/store_impl.h"

namespace kb {
namespace {

constexpr size_t kLongestText = size_t{64} << 20;  // a foreign prompt or answer

// Copies the columns of the archive's row from `first` on, texts as UTF-8 and blobs only if they are what they must be.
Status CopyColumns(SQLite::Statement& from, int first, SQLite::Statement* to, int index) {
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
      KB_RETURN_IF_ERROR(Decompress(frame, kLongestText));
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

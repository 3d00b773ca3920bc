// What agents do (episode.h). Each change is one transaction of the request's owner.

#include "base/clock.h"
#include "store/store_impl.h"

namespace kb {
namespace {

// One transaction around `body`, if the request is this owner's.
template <typename Body>
auto ChangeEpisode(SQLite::Database& database, int64_t request, const std::string& owner, Body body)
    -> decltype(body()) {
  return Guard(database, [&]() -> decltype(body()) {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    KB_RETURN_IF_ERROR(CheckAsked(database, request, owner));
    auto changed = body();
    if (changed) transaction.commit();
    return changed;
  });
}

struct TurnPlace {
  int64_t id = 0, request = 0;
  int number = 0;
  std::string state;
};

// Of the turns that `where` (?1, ?2) lets through the first.
std::optional<TurnPlace> FindTurn(SQLite::Database& database, const char* where, int64_t id, int number = 0) {
  SQLite::Statement query(database, std::string("SELECT id, request_id, number, state FROM turns WHERE ") + where);
  query.bind(1, id);
  if (query.getBindParameterCount() > 1) query.bind(2, number);
  if (!query.executeStep()) return std::nullopt;
  return TurnPlace{query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), query.getColumn(2).getInt(),
                   query.getColumn(3).getString()};
}

// The same for a turn that must be in this state.
template <typename Body>
Status ChangeTurn(SQLite::Database& database, int64_t id, const std::string& owner, const std::string& state,
                  Body body) {
  return Guard(database, [&]() -> Status {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    const std::optional<TurnPlace> turn = FindTurn(database, "id = ?", id);
    if (!turn) return Fail(ErrorCode::kStore, fmt::format("there is no turn with the id {}", id));
    KB_RETURN_IF_ERROR(CheckAsked(database, turn->request, owner));
    if (turn->state != state) {
      return Fail(ErrorCode::kStore, fmt::format("turn {} of request {} is {} and not {}", turn->number, turn->request,
                                                 turn->state, state));
    }
    KB_RETURN_IF_ERROR(body(*turn));
    transaction.commit();
    return {};
  });
}

Result<std::optional<Episode>> WholeEpisode(SQLite::Database& database, int64_t request) {
  SQLite::Statement query(database,
                          "SELECT created, harness, ended_by, ending, opening FROM episodes WHERE request_id = ?");
  query.bind(1, request);
  if (!query.executeStep()) return std::nullopt;
  Episode episode;
  episode.request = request;
  episode.created = query.getColumn(0).getString();
  episode.harness = query.getColumn(1).getString();
  episode.ended_by = query.getColumn(2).getString();
  episode.ending = query.getColumn(3).getString();
  KB_ASSIGN_OR_RETURN(episode.opening, Decompress(Blob(query.getColumn(4))));
  return episode;
}

Status CheckGoesOn(SQLite::Database& database, int64_t request) {
  SQLite::Statement query(database, "SELECT ended_by FROM episodes WHERE request_id = ?");
  query.bind(1, request);
  if (!query.executeStep()) return Fail(ErrorCode::kStore, fmt::format("request {} has no episode", request));
  if (query.getColumn(0).getString().empty()) return {};
  return Fail(ErrorCode::kStore, fmt::format("the episode of request {} has ended", request));
}

Status AddText(SQLite::Database& database, const std::string& what, const std::string& text,
               const std::string& sha256) {
  if (AddSource(database, nlohmann::json::object(), text) == sha256) return {};
  return Fail(ErrorCode::kEngine, fmt::format("{} has another hash than {}", what, sha256));
}

Status AddFiles(SQLite::Database& database, int64_t request, int turn, std::span<const TurnFile> files) {
  SQLite::Statement insert(database,
                           "INSERT INTO turn_files (request_id, turn, path, mode, sha256) VALUES (?, ?, ?, ?, ?)");
  for (const TurnFile& file : files) {
    insert.bind(1, request);
    insert.bind(2, turn);
    insert.bind(3, ToUtf8(file.path));
    insert.bind(4, file.mode);
    if (file.sha256.empty()) {
      insert.bind(5);
    } else {
      KB_RETURN_IF_ERROR(AddText(database, file.path, file.contents, file.sha256));
      insert.bind(5, file.sha256);
    }
    insert.exec();
    insert.reset();
  }
  return {};
}

Status AddVerdicts(SQLite::Database& database, const TurnPlace& turn, std::span<const TurnVerdict> verdicts) {
  SQLite::Statement insert(database,
                           "INSERT INTO turn_verdicts (request_id, turn, call, tool, source_sha256, language, verdict, "
                           "speedup, low, high, device_seconds, view) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const TurnVerdict& verdict : verdicts) {
    KB_RETURN_IF_ERROR(AddText(database, "the source of a verdict", verdict.source, verdict.source_sha256));
    insert.bind(1, turn.request);
    insert.bind(2, turn.number);
    insert.bind(3, verdict.call);
    insert.bind(4, ToUtf8(verdict.tool));
    insert.bind(5, verdict.source_sha256);
    insert.bind(6, ToUtf8(verdict.language));
    insert.bind(7, ToUtf8(verdict.verdict));
    BindMaybe(insert, 8, verdict.speedup);
    BindMaybe(insert, 9, verdict.low);
    BindMaybe(insert, 10, verdict.high);
    insert.bind(11, verdict.device_seconds);
    BindFrame(insert, 12, verdict.view);
    insert.exec();
    insert.reset();
  }
  return {};
}

int64_t AskAgain(SQLite::Database& database, int64_t id, const Turn& turn) {
  SQLite::Statement update(database,
                           "UPDATE turns SET kind = ?2, context = ?3, lost = lost + ?4, lost_tokens = lost_tokens + "
                           "?5, lost_usd = lost_usd + ?6 WHERE id = ?1");
  update.bind(1, id);
  update.bind(2, ToUtf8(turn.kind));
  BindFrame(update, 3, turn.context);
  update.bind(4, turn.lost);
  update.bind(5, turn.lost_tokens);
  update.bind(6, turn.lost_usd);
  update.exec();
  return id;
}

Result<int64_t> AskNext(SQLite::Database& database, int64_t request, const Turn& turn) {
  SQLite::Statement last(database, "SELECT coalesce(max(number), 0) FROM turns WHERE request_id = ?");
  last.bind(1, request);
  KB_CHECK(last.executeStep());
  if (const int next = last.getColumn(0).getInt() + 1; turn.number != next) {
    return Fail(ErrorCode::kStore,
                fmt::format("turn {} of request {} cannot be asked: the next is {}", turn.number, request, next));
  }
  SQLite::Statement insert(database,
                           "INSERT INTO turns (request_id, number, kind, state, created, lost, lost_tokens, lost_usd, "
                           "context) VALUES (?, ?, ?, 'asked', ?, ?, ?, ?, ?)");
  insert.bind(1, request);
  insert.bind(2, turn.number);
  insert.bind(3, ToUtf8(turn.kind));
  insert.bind(4, UtcNow(kIso8601));
  insert.bind(5, turn.lost);
  insert.bind(6, turn.lost_tokens);
  insert.bind(7, turn.lost_usd);
  BindFrame(insert, 8, turn.context);
  insert.exec();
  return database.getLastInsertRowid();
}

constexpr char kTurns[] =
    "SELECT id, request_id, number, kind, state, created, price_source, input, cache_read, cache_write, output, "
    "reasoning_tokens, cost_usd, lost, lost_tokens, lost_usd, calls, seconds, tool_seconds, context, answer, results "
    "FROM turns WHERE request_id = ? ORDER BY number";

Result<Turn> ReadTurn(SQLite::Statement& row) {
  Turn turn;
  turn.id = row.getColumn(0).getInt64();
  turn.request = row.getColumn(1).getInt64();
  turn.number = row.getColumn(2).getInt();
  int column = 3;
  for (std::string* text : {&turn.kind, &turn.state, &turn.created, &turn.price_source}) {
    *text = row.getColumn(column++).getString();
  }
  for (std::optional<int64_t>* count :
       {&turn.input, &turn.cache_read, &turn.cache_write, &turn.output, &turn.reasoning_tokens}) {
    *count = WholeNumber(row.getColumn(column++));
  }
  turn.cost_usd = RealNumber(row.getColumn(12));
  turn.lost = row.getColumn(13).getInt();
  turn.lost_tokens = row.getColumn(14).getInt64();
  turn.lost_usd = row.getColumn(15).getDouble();
  turn.calls = row.getColumn(16).getInt();
  turn.seconds = row.getColumn(17).getDouble();
  turn.tool_seconds = row.getColumn(18).getDouble();
  column = 19;
  for (std::string* text : {&turn.context, &turn.answer, &turn.results}) {
    const SQLite::Column frame = row.getColumn(column++);
    if (frame.isNull()) continue;
    KB_ASSIGN_OR_RETURN(*text, Decompress(Blob(frame)));
  }
  return turn;
}

TurnFile ReadTurnFile(SQLite::Statement& row, int first) {
  const SQLite::Column sha256 = row.getColumn(first + 2);
  return {.path = row.getColumn(first).getString(),
          .mode = row.getColumn(first + 1).getUInt(),
          .sha256 = sha256.isNull() ? "" : sha256.getString(),
          .contents = ""};
}

// Of each path what the newest of these turns made of it: beside max() SQLite gives the other columns of that row.
constexpr char kFolder[] =
    "SELECT f.path, f.mode, f.sha256, c.source FROM (SELECT path, mode, sha256, max(turn) FROM turn_files WHERE "
    "request_id = ? AND turn <= ? GROUP BY path) f LEFT JOIN candidates c ON c.sha256 = f.sha256 WHERE f.sha256 IS NOT "
    "NULL ORDER BY f.path";

}  // namespace

Result<Episode> Store::BeginEpisode(const std::string& owner, const Episode& episode, std::span<const TurnFile> files) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return ChangeEpisode(database, episode.request, owner, [&]() -> Result<Episode> {
    SQLite::Statement insert(
        database,
        "INSERT INTO episodes (request_id, created, harness, opening) VALUES (?, ?, ?, ?) ON CONFLICT DO "
        "NOTHING");
    insert.bind(1, episode.request);
    insert.bind(2, UtcNow(kIso8601));
    insert.bind(3, ToUtf8(episode.harness));
    BindFrame(insert, 4, episode.opening);
    if (insert.exec() == 1) {
      KB_RETURN_IF_ERROR(AddFiles(database, episode.request, 0, files));
    }
    KB_ASSIGN_OR_RETURN(const std::optional<Episode> stored, WholeEpisode(database, episode.request));
    return *stored;
  });
}

Status Store::EndEpisode(int64_t request, const std::string& owner, const std::string& ended_by,
                         const std::string& ending) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return ChangeEpisode(database, request, owner, [&]() -> Status {
    SQLite::Statement update(database,
                             "UPDATE episodes SET ended_by = ?2, ending = ?3, refusals = 0 WHERE request_id = ?1");
    update.bind(1, request);
    update.bind(2, ToUtf8(ended_by));
    update.bind(3, ToUtf8(ending));
    if (update.exec() == 1) return {};
    return Fail(ErrorCode::kStore, fmt::format("request {} has no episode", request));
  });
}

Result<int> Store::CountRefusal(int64_t request, const std::string& owner) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return ChangeEpisode(database, request, owner, [&]() -> Result<int> {
    SQLite::Statement count(database,
                            "UPDATE episodes SET refusals = refusals + 1 WHERE request_id = ? RETURNING refusals");
    count.bind(1, request);
    if (!count.executeStep()) {
      return Fail(ErrorCode::kStore, fmt::format("request {} has no episode", request));
    }
    return count.getColumn(0).getInt();
  });
}

Result<int64_t> Store::ReopenEpisodes(const std::string& run, const std::string& ended_by) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<int64_t> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    int64_t reopened = 0;
    for (
        const char* change :
        {"DELETE FROM answers WHERE request_id IN (SELECT e.request_id FROM episodes e JOIN requests r ON r.id = "
         "e.request_id WHERE e.ended_by = ?2 AND r.state = 'answered' AND r.run_id = (SELECT id FROM runs WHERE name = "
         "?1))",
         "UPDATE requests SET state = 'queued' WHERE state = 'answered' AND run_id = (SELECT id FROM runs WHERE name = "
         "?1) AND id IN (SELECT request_id FROM episodes WHERE ended_by = ?2)",
         "UPDATE episodes SET ended_by = '', ending = '', refusals = 0 WHERE ended_by = ?2 AND request_id IN (SELECT "
         "id FROM requests WHERE state = 'queued' AND run_id = (SELECT id FROM runs WHERE name = ?1))"}) {
      SQLite::Statement statement(database, change);
      statement.bind(1, run);
      statement.bind(2, ended_by);
      reopened = statement.exec();
    }
    transaction.commit();
    return reopened;
  });
}

Result<std::optional<Episode>> Store::FindEpisode(int64_t request) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&] { return WholeEpisode(impl_->database, request); });
}

Result<int64_t> Store::AskTurn(int64_t request, const std::string& owner, const Turn& turn) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return ChangeEpisode(database, request, owner, [&]() -> Result<int64_t> {
    KB_RETURN_IF_ERROR(CheckGoesOn(database, request));
    const std::optional<TurnPlace> before = FindTurn(database, "request_id = ? AND number = ?", request, turn.number);
    if (!before) return AskNext(database, request, turn);
    if (before->state == "asked") return AskAgain(database, before->id, turn);
    return Fail(ErrorCode::kStore, fmt::format("turn {} of request {} has been answered", turn.number, request));
  });
}

Status Store::AnswerTurn(int64_t id, const std::string& owner, const Turn& turn) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return ChangeTurn(database, id, owner, "asked", [&](const TurnPlace& place) -> Status {
    SQLite::Statement update(
        database,
        "UPDATE turns SET state = 'answered', answer = ?2, input = ?3, cache_read = ?4, "
        "cache_write = ?5, output = ?6, reasoning_tokens = ?7, cost_usd = ?8, price_source = ?9, "
        "calls = ?10, seconds = ?11, lost = lost + ?12, lost_tokens = lost_tokens + ?13, lost_usd = lost_usd + ?14 "
        "WHERE id = ?1");
    update.bind(1, id);
    BindFrame(update, 2, turn.answer);
    BindMaybe(update, 3, turn.input);
    BindMaybe(update, 4, turn.cache_read);
    BindMaybe(update, 5, turn.cache_write);
    BindMaybe(update, 6, turn.output);
    BindMaybe(update, 7, turn.reasoning_tokens);
    BindMaybe(update, 8, turn.cost_usd);
    update.bind(9, ToUtf8(turn.price_source));
    update.bind(10, turn.calls);
    update.bind(11, turn.seconds);
    update.bind(12, turn.lost);
    update.bind(13, turn.lost_tokens);
    update.bind(14, turn.lost_usd);
    update.exec();
    if (turn.calls == 0) return {};
    // A program that is started anew asks all again: its refusals are in a row beside its answers.
    SQLite::Statement answered(
        database, "UPDATE episodes SET refusals = 0 WHERE request_id = ? AND refusals > 0 AND harness = ''");
    answered.bind(1, place.request);
    answered.exec();
    return {};
  });
}

Status Store::FinishTurn(int64_t id, const std::string& owner, const Turn& turn, std::span<const TurnFile> files,
                         std::span<const TurnVerdict> verdicts) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return ChangeTurn(database, id, owner, "answered", [&](const TurnPlace& place) -> Status {
    SQLite::Statement update(database,
                             "UPDATE turns SET state = 'done', results = ?2, tool_seconds = ?3 WHERE id = ?1");
    update.bind(1, id);
    BindFrame(update, 2, turn.results);
    update.bind(3, turn.tool_seconds);
    update.exec();
    KB_RETURN_IF_ERROR(AddFiles(database, place.request, place.number, files));
    return AddVerdicts(database, place, verdicts);
  });
}

Status Store::AddTurnVerdicts(int64_t request, const std::string& owner, int turn,
                              std::span<const TurnVerdict> verdicts) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return ChangeEpisode(database, request, owner, [&]() -> Status {
    const std::optional<TurnPlace> place = FindTurn(database, "request_id = ? AND number = ?", request, turn);
    if (place && place->state == "done") return AddVerdicts(database, *place, verdicts);
    return Fail(ErrorCode::kStore, fmt::format("turn {} of request {} is not done", turn, request));
  });
}

Result<TurnsSpent> Store::SpentOnTurns(const std::string& run) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<TurnsSpent> {
    SQLite::Statement query(
        impl_->database,
        "SELECT coalesce(sum(coalesce(input, 0) + coalesce(cache_read, 0) + coalesce(cache_write, 0) + "
        "coalesce(output, 0) + lost_tokens), 0), coalesce(sum(coalesce(cost_usd, 0.0) + lost_usd), 0.0) FROM turns t "
        "WHERE request_id IN (SELECT id FROM requests WHERE run_id = (SELECT id FROM runs WHERE name = ?)) "
        "AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.request_id = t.request_id)");
    query.bind(1, run);
    KB_CHECK(query.executeStep());
    return TurnsSpent{query.getColumn(0).getInt64(), query.getColumn(1).getDouble()};
  });
}

Result<std::vector<Turn>> Store::Turns(int64_t request) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<Turn>> {
    SQLite::Statement query(impl_->database, kTurns);
    query.bind(1, request);
    std::vector<Turn> turns;
    while (query.executeStep()) {
      KB_ASSIGN_OR_RETURN(Turn turn, ReadTurn(query));
      turns.push_back(std::move(turn));
    }
    return turns;
  });
}

Result<std::vector<TurnFile>> Store::FolderAfter(int64_t request, int turn) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<TurnFile>> {
    SQLite::Statement query(impl_->database, kFolder);
    query.bind(1, request);
    query.bind(2, turn);
    std::vector<TurnFile> files;
    while (query.executeStep()) {
      TurnFile file = ReadTurnFile(query, 0);
      KB_ASSIGN_OR_RETURN(file.contents, Decompress(Blob(query.getColumn(3))));
      files.push_back(std::move(file));
    }
    return files;
  });
}

Result<std::vector<std::pair<int, TurnFile>>> Store::TurnFiles(int64_t request) const {
  using Files = std::vector<std::pair<int, TurnFile>>;
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<Files> {
    SQLite::Statement query(impl_->database,
                            "SELECT turn, path, mode, sha256 FROM turn_files WHERE request_id = ? ORDER BY turn, path");
    query.bind(1, request);
    Files files;
    while (query.executeStep()) files.emplace_back(query.getColumn(0).getInt(), ReadTurnFile(query, 1));
    return files;
  });
}

Result<std::map<std::string, uint64_t>> Store::TurnFileBytes(int64_t request) const {
  using Bytes = std::map<std::string, uint64_t>;
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<Bytes> {
    SQLite::Statement query(impl_->database,
                            "SELECT sha256, substr(source, 1, 18) FROM candidates WHERE sha256 IN (SELECT sha256 FROM "
                            "turn_files WHERE request_id = ?)");
    query.bind(1, request);
    Bytes bytes;
    while (query.executeStep()) {
      const std::string sha256 = query.getColumn(0).getString();
      const std::optional<uint64_t> size = ContentsBytes(Blob(query.getColumn(1)));
      if (!size) return Fail(ErrorCode::kStore, fmt::format("the text {} in the store is damaged", sha256));
      bytes[sha256] = *size;
    }
    return bytes;
  });
}

Result<std::vector<TurnVerdict>> Store::TurnVerdicts(int64_t request) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<TurnVerdict>> {
    SQLite::Statement query(impl_->database,
                            "SELECT turn, call, tool, source_sha256, language, verdict, speedup, low, high, "
                            "device_seconds, view FROM turn_verdicts WHERE request_id = ? ORDER BY id");
    query.bind(1, request);
    std::vector<TurnVerdict> verdicts;
    while (query.executeStep()) {
      TurnVerdict verdict;
      verdict.turn = query.getColumn(0).getInt();
      verdict.call = query.getColumn(1).getInt();
      int column = 2;
      for (std::string* text : {&verdict.tool, &verdict.source_sha256, &verdict.language, &verdict.verdict}) {
        *text = query.getColumn(column++).getString();
      }
      for (std::optional<double>* number : {&verdict.speedup, &verdict.low, &verdict.high}) {
        *number = RealNumber(query.getColumn(column++));
      }
      verdict.device_seconds = query.getColumn(9).getDouble();
      KB_ASSIGN_OR_RETURN(verdict.view, Decompress(Blob(query.getColumn(10))));
      verdicts.push_back(std::move(verdict));
    }
    return verdicts;
  });
}

}  // namespace kb

// What models answered: each change of a request's state is one transaction.

#include "base/clock.h"
#include "base/hash.h"
#include "store/lease.h"
#include "store/store_impl.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr char kRequest[] = "SELECT id, model, problem, sample, turn, candidate, state, owner, error FROM requests ";

GenerationRequest ReadRequest(SQLite::Statement& row) {
  GenerationRequest request;
  request.id = row.getColumn(0).getInt64();
  request.model = row.getColumn(1).getString();
  request.problem = row.getColumn(2).getString();
  request.sample = row.getColumn(3).getInt();
  request.turn = row.getColumn(4).getInt();
  request.candidate = row.getColumn(5).getInt();
  request.state = row.getColumn(6).getString();
  request.owner = row.getColumn(7).getString();
  request.error = row.getColumn(8).getString();
  return request;
}

constexpr char kAnswer[] =
    "SELECT a.id, a.request_id, a.attempt, a.created, a.finish, a.answered_by, a.price_source, a.language, "
    "a.complaint, a.input, a.cache_read, a.cache_write, a.output, a.reasoning_tokens, a.cost_usd, a.calls, a.seconds, "
    "a.settled, a.source_sha256, a.prompt_bytes ";

GenerationAnswer ReadAnswer(SQLite::Statement& row) {
  GenerationAnswer answer;
  answer.id = row.getColumn(0).getInt64();
  answer.request = row.getColumn(1).getInt64();
  answer.attempt = row.getColumn(2).getInt();
  int column = 3;
  for (std::string* text : {&answer.created, &answer.finish, &answer.answered_by, &answer.price_source,
                            &answer.language, &answer.complaint}) {
    *text = row.getColumn(column++).getString();
  }
  for (std::optional<int64_t>* count :
       {&answer.input, &answer.cache_read, &answer.cache_write, &answer.output, &answer.reasoning_tokens}) {
    *count = WholeNumber(row.getColumn(column++));
  }
  answer.cost_usd = RealNumber(row.getColumn(14));
  answer.calls = row.getColumn(15).getInt();
  answer.seconds = row.getColumn(16).getDouble();
  answer.settled = row.getColumn(17).getInt() != 0;
  if (!row.getColumn(18).isNull()) answer.source_sha256 = row.getColumn(18).getString();
  answer.prompt_bytes = row.getColumn(19).getInt64();
  return answer;
}

std::optional<GenerationRequest> FindRequest(SQLite::Database& database, int64_t run_id,
                                             const GenerationRequest& wanted) {
  SQLite::Statement find(database, std::string(kRequest) +
                                       "WHERE run_id = ?1 AND model = ?2 AND problem = ?3 AND sample = ?4 AND turn = "
                                       "?5");
  find.bind(1, run_id);
  find.bind(2, ToUtf8(wanted.model));
  find.bind(3, ToUtf8(wanted.problem));
  find.bind(4, wanted.sample);
  find.bind(5, wanted.turn);
  if (!find.executeStep()) return std::nullopt;
  return ReadRequest(find);
}

Status InsertRequest(SQLite::Database& database, int64_t run_id, const GenerationRequest& request,
                     const std::string& owner) {
  SQLite::Statement insert(database,
                           "INSERT INTO requests (run_id, model, problem, sample, turn, candidate, state, owner) "
                           "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'asked', ?7) "
                           "ON CONFLICT (run_id, model, problem, candidate) DO NOTHING");
  insert.bind(1, run_id);
  insert.bind(2, ToUtf8(request.model));
  insert.bind(3, ToUtf8(request.problem));
  insert.bind(4, request.sample);
  insert.bind(5, request.turn);
  insert.bind(6, request.candidate);
  insert.bind(7, owner);
  if (insert.exec() == 1) return {};
  return Fail(ErrorCode::kUsage,
              fmt::format("candidate {} of {} is that of another sample or turn in this run: use another --run",
                          request.candidate, request.problem));
}

void InsertAnswer(SQLite::Database& database, int64_t request, const GenerationAnswer& answer) {
  SQLite::Statement insert(database,
                           "INSERT INTO answers (request_id, attempt, created, model, prompt_bytes, prompt, response, "
                           "reasoning, finish, answered_by, input, cache_read, cache_write, output, reasoning_tokens, "
                           "cost_usd, price_source, calls, seconds) VALUES (?1, (SELECT count(*) FROM answers WHERE "
                           "request_id = ?1), ?2, (SELECT model FROM requests WHERE id = ?1), ?3, ?4, ?5, ?6, ?7, ?8, "
                           "?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)");
  insert.bind(1, request);
  insert.bind(2, UtcNow(kIso8601));
  insert.bind(3, answer.prompt_bytes);
  BindFrame(insert, 4, answer.prompt);
  BindFrame(insert, 5, answer.response);
  BindFrame(insert, 6, answer.reasoning);
  insert.bind(7, answer.finish);
  insert.bind(8, ToUtf8(answer.answered_by));
  BindMaybe(insert, 9, answer.input);
  BindMaybe(insert, 10, answer.cache_read);
  BindMaybe(insert, 11, answer.cache_write);
  BindMaybe(insert, 12, answer.output);
  BindMaybe(insert, 13, answer.reasoning_tokens);
  BindMaybe(insert, 14, answer.cost_usd);
  insert.bind(15, ToUtf8(answer.price_source));
  insert.bind(16, answer.calls);
  insert.bind(17, answer.seconds);
  insert.exec();
}

json ParsedSettings(SQLite::Statement& query) {
  return query.executeStep() ? json::parse(query.getColumn(0).getString()) : json(nullptr);
}

// Answers, and as one each the episodes that have none yet but took something. What a lost call took is not known to be
// read or written: it is counted as read.
constexpr char kSpent[] = R"sql(
WITH mine AS (SELECT id FROM requests WHERE run_id = (SELECT id FROM runs WHERE name = ?1) AND (?2 = '' OR model = ?2))
SELECT count(*), coalesce(sum(read), 0), coalesce(sum(written), 0), coalesce(sum(no_usage), 0),
  coalesce(sum(no_cost), 0), coalesce(sum(usd), 0.0),
  (SELECT count(*) FROM jobs WHERE run_id = (SELECT id FROM runs WHERE name = ?1) AND state = 'done'
    AND (?2 = '' OR model = ?2))
  + (SELECT count(*) FROM turn_verdicts WHERE tool IN ('evaluate', 'profile') AND request_id IN mine)
FROM (
  SELECT coalesce(input, 0) + coalesce(cache_read, 0) + coalesce(cache_write, 0) AS read, output AS written,
    input IS NULL OR output IS NULL AS no_usage, cost_usd IS NULL AS no_cost, cost_usd AS usd
  FROM answers WHERE request_id IN mine
  UNION ALL
  SELECT sum(coalesce(input, 0) + coalesce(cache_read, 0) + coalesce(cache_write, 0) + lost_tokens), sum(output),
    max(state <> 'asked' AND (input IS NULL OR output IS NULL)), max(state <> 'asked' AND cost_usd IS NULL),
    sum(coalesce(cost_usd, 0.0) + lost_usd)
  FROM turns t WHERE request_id IN mine AND (state <> 'asked' OR lost > 0)
    AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.request_id = t.request_id)
  GROUP BY request_id)
)sql";

}  // namespace

Status CheckAsked(SQLite::Database& database, int64_t request, const std::string& owner) {
  SQLite::Statement find(database, "SELECT state, owner FROM requests WHERE id = ?");
  find.bind(1, request);
  if (!find.executeStep()) return Fail(ErrorCode::kStore, fmt::format("there is no request {}", request));
  const std::string state = find.getColumn(0).getString();
  if (state != "asked") {
    return Fail(ErrorCode::kStore,
                fmt::format("request {} is {}: it must be claimed before anything is added to it", request, state));
  }
  if (find.getColumn(1).getString() != owner) {
    return Fail(ErrorCode::kStore, fmt::format("request {} was taken over by another process", request));
  }
  return {};
}

Result<json> Store::BeginGeneration(const std::string& run, const json& settings) {
  if (run.empty()) return Fail(ErrorCode::kUsage, "a run needs a name");
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<json> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t run_id = RunId(database, run, UtcNow(kIso8601));
    SQLite::Statement insert(
        database, "INSERT INTO generations (run_id, created, settings) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
    insert.bind(1, run_id);
    insert.bind(2, UtcNow(kIso8601));
    insert.bind(3, Dump(settings));
    insert.exec();
    SQLite::Statement query(database, "SELECT settings FROM generations WHERE run_id = ?");
    query.bind(1, run_id);
    json stored = ParsedSettings(query);
    query.reset();
    transaction.commit();
    return stored;
  });
}

Status Store::ChangeGeneration(const std::string& run, const json& settings) {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Status {
    SQLite::Statement update(impl_->database,
                             "UPDATE generations SET settings = ?2 WHERE run_id = (SELECT id FROM runs WHERE name = "
                             "?1)");
    update.bind(1, run);
    update.bind(2, Dump(settings));
    update.exec();
    return {};
  });
}

Result<json> Store::Generation(const std::string& run) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<json> {
    SQLite::Statement query(impl_->database,
                            "SELECT settings FROM generations WHERE run_id = (SELECT id FROM runs WHERE name = ?)");
    query.bind(1, run);
    return ParsedSettings(query);
  });
}

Result<std::optional<GenerationRequest>> Store::ClaimRequest(const std::string& run, const GenerationRequest& request,
                                                             const std::string& owner) {
  using Claimed = std::optional<GenerationRequest>;
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<Claimed> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t run_id = RunId(database, run, UtcNow(kIso8601));
    Claimed found = FindRequest(database, run_id, request);
    if (!found) {
      KB_RETURN_IF_ERROR(InsertRequest(database, run_id, request, owner));
    } else {
      if (found->state != "queued") return Claimed();
      SQLite::Statement claim(database, "UPDATE requests SET state = 'asked', owner = ?2 WHERE id = ?1");
      claim.bind(1, found->id);
      claim.bind(2, owner);
      claim.exec();
    }
    found = FindRequest(database, run_id, request);
    transaction.commit();
    return found;
  });
}

Result<int64_t> Store::AddAnswer(int64_t request, const std::string& owner, const GenerationAnswer& answer) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<int64_t> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    KB_RETURN_IF_ERROR(CheckAsked(database, request, owner));
    InsertAnswer(database, request, answer);
    const int64_t id = database.getLastInsertRowid();
    transaction.commit();
    return id;
  });
}

Status Store::SettleAnswer(int64_t answer, const std::string& owner, const std::optional<std::string>& source,
                           const std::string& language, const std::string& complaint, bool final) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Status {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement settle(database,
                             "UPDATE answers SET settled = 1, source_sha256 = ?3, language = ?4, complaint = ?5 "
                             "WHERE id = ?1 AND settled = 0 AND request_id IN (SELECT id FROM requests WHERE state = "
                             "'asked' AND owner = ?2)");
    settle.bind(1, answer);
    settle.bind(2, owner);
    source ? settle.bind(3, AddSource(database, json::object(), *source)) : settle.bind(3);
    settle.bind(4, language);
    settle.bind(5, ToUtf8(complaint));
    if (settle.exec() != 1) return {};
    if (final) {
      SQLite::Statement done(database,
                             "UPDATE requests SET state = 'answered', owner = '', error = '' WHERE id = (SELECT "
                             "request_id FROM answers WHERE id = ?)");
      done.bind(1, answer);
      done.exec();
    }
    transaction.commit();
    return {};
  });
}

Status Store::GiveUpRequest(int64_t id, const std::string& owner, const std::string& error, bool again) {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Status {
    GiveUp(impl_->database, kRequestLease, id, owner, error, again);
    return {};
  });
}

Result<int64_t> Store::ReleaseRequests(const std::string& run) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<int64_t> {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    int64_t released = QueueStranded(database, kRequestLease, run, UtcSeconds());
    SQLite::Statement release(
        database,
        "UPDATE requests SET state = 'queued' WHERE state = 'failed' AND run_id = (SELECT id FROM "
        "runs WHERE name = ?1)");
    release.bind(1, run);
    released += release.exec();
    transaction.commit();
    return released;
  });
}

Result<std::vector<GenerationRequest>> Store::Requests(const std::string& run) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<GenerationRequest>> {
    SQLite::Statement query(impl_->database, std::string(kRequest) +
                                                 "WHERE run_id = (SELECT id FROM runs WHERE name = ?) ORDER BY model, "
                                                 "problem, turn, sample");
    query.bind(1, run);
    std::vector<GenerationRequest> requests;
    while (query.executeStep()) requests.push_back(ReadRequest(query));
    return requests;
  });
}

Result<std::vector<GenerationAnswer>> Store::Answers(const std::string& run) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<GenerationAnswer>> {
    SQLite::Statement query(impl_->database, std::string(kAnswer) +
                                                 "FROM answers a JOIN requests q ON q.id = a.request_id "
                                                 "WHERE q.run_id = (SELECT id FROM runs WHERE name = ?) ORDER BY a.id");
    query.bind(1, run);
    std::vector<GenerationAnswer> answers;
    while (query.executeStep()) answers.push_back(ReadAnswer(query));
    return answers;
  });
}

Result<std::vector<GenerationAnswer>> Store::AnswersTo(int64_t request) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<GenerationAnswer>> {
    SQLite::Statement query(impl_->database, std::string(kAnswer) +
                                                 ", a.prompt, a.response, a.reasoning FROM answers a "
                                                 "WHERE a.request_id = ? ORDER BY a.attempt");
    query.bind(1, request);
    std::vector<GenerationAnswer> answers;
    while (query.executeStep()) {
      GenerationAnswer answer = ReadAnswer(query);
      int column = 20;
      for (std::string* text : {&answer.prompt, &answer.response, &answer.reasoning}) {
        KB_ASSIGN_OR_RETURN(*text, Decompress(Blob(query.getColumn(column++))));
      }
      answers.push_back(std::move(answer));
    }
    return answers;
  });
}

Result<json> Store::CandidateEvaluation(const std::string& run, const std::string& model, const std::string& problem,
                                        int candidate, const std::string& device) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<json> {
    SQLite::Statement query(impl_->database,
                            "SELECT id FROM evaluations e WHERE run_id = (SELECT id FROM runs WHERE name = ?1) AND "
                            "model = ?2 AND problem = ?3 AND sample = ?4 AND (?5 = '' OR EXISTS (SELECT 1 FROM jobs j "
                            "WHERE j.run_id = e.run_id AND j.device = ?5 AND j.evaluation_id = e.id)) "
                            "ORDER BY sequence DESC LIMIT 1");
    query.bind(5, device);
    query.bind(1, run);
    query.bind(2, model);
    query.bind(3, problem);
    query.bind(4, candidate);
    if (!query.executeStep()) return json(nullptr);
    return WholeEvaluation(impl_->database, query.getColumn(0).getString());
  });
}

Result<GenerationSpent> Store::Spent(const std::string& run, const std::string& model) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<GenerationSpent> {
    SQLite::Statement query(impl_->database, kSpent);
    query.bind(1, run);
    query.bind(2, model);
    KB_CHECK(query.executeStep());
    GenerationSpent spent;
    int column = 0;
    for (int64_t* count : {&spent.answers, &spent.input, &spent.output, &spent.without_usage, &spent.without_cost}) {
      *count = query.getColumn(column++).getInt64();
    }
    spent.usd = query.getColumn(5).getDouble();
    spent.evaluations = query.getColumn(6).getInt64();
    return spent;
  });
}

Result<std::vector<GenerationAnswer>> Store::History(const std::string& model, bool agents, int limit) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<GenerationAnswer>> {
    SQLite::Statement query(impl_->database,
                            std::string(kAnswer) +
                                "FROM answers a WHERE a.model = ? AND (a.request_id IN (SELECT request_id FROM "
                                "episodes)) = ? ORDER BY a.id DESC LIMIT ?");
    query.bind(1, model);
    query.bind(2, agents ? 1 : 0);
    query.bind(3, limit);
    std::vector<GenerationAnswer> answers;
    while (query.executeStep()) answers.push_back(ReadAnswer(query));
    return answers;
  });
}

Status Store::AddReview(const EvaluationReview& review) {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Status {
    SQLite::Statement insert(
        impl_->database,
        "INSERT INTO reviews (evaluation_id, auditor, created, passes, speedup, findings, exchange) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (evaluation_id, auditor) DO UPDATE SET created = "
        "excluded.created, passes = excluded.passes, speedup = excluded.speedup, findings = "
        "excluded.findings, exchange = excluded.exchange");
    insert.bind(1, review.evaluation_id);
    insert.bind(2, ToUtf8(review.auditor));
    insert.bind(3, UtcNow(kIso8601));
    insert.bind(4, review.passes ? 1 : 0);
    BindMaybe(insert, 5, review.speedup);
    insert.bind(6, review.findings);
    BindFrame(insert, 7, review.exchange);
    insert.exec();
    return {};
  });
}

Result<std::vector<EvaluationReview>> Store::Reviews(const std::string& run) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<EvaluationReview>> {
    SQLite::Statement query(impl_->database,
                            "SELECT v.evaluation_id, v.auditor, v.created, v.passes, v.speedup, v.findings, v.exchange "
                            "FROM reviews v JOIN evaluations e ON e.id = v.evaluation_id WHERE e.run_id = (SELECT id "
                            "FROM runs WHERE name = ?) ORDER BY v.id");
    query.bind(1, run);
    std::vector<EvaluationReview> reviews;
    while (query.executeStep()) {
      EvaluationReview review;
      review.evaluation_id = query.getColumn(0).getString();
      review.auditor = query.getColumn(1).getString();
      review.created = query.getColumn(2).getString();
      review.passes = query.getColumn(3).getInt() != 0;
      review.speedup = RealNumber(query.getColumn(4));
      review.findings = query.getColumn(5).getString();
      KB_ASSIGN_OR_RETURN(review.exchange, Decompress(Blob(query.getColumn(6))));
      reviews.push_back(std::move(review));
    }
    return reviews;
  });
}

}  // namespace kb

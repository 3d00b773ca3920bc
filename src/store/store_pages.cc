// Stored evaluations in short, and pages of what is stored.

#include "store/store_impl.h"

namespace kb {

using nlohmann::json;

namespace {

json OrNull(SQLite::Column column) { return column.isNull() ? json(nullptr) : json(column.getDouble()); }

constexpr char kOfEntries[] =
    "WHERE (?1 = '' OR r.name = ?1) AND (?2 = '' OR e.problem = ?2) AND (?3 = 0 OR e.sequence < ?3) AND (?5 = '' OR "
    "e.verdict = ?5) AND (?6 = '' OR r.name = ?6 OR substr(r.name, 1, length(?6) + 1) = ?6 || '/') "
    "ORDER BY e.sequence DESC LIMIT ?4";

// From the newest job on: whoever asks has mostly asked lately.
constexpr char kFromNewest[] = "jobs j CROSS JOIN submissions s ON s.job_id = j.id";
constexpr char kOfKey[] =
    "submissions s CROSS JOIN jobs j ON j.id = s.job_id AND s.client = ?6 AND s.idempotency_key = ?8";
constexpr char kOfSubmissions[] =
    "FROM {} JOIN runs o ON o.id = j.run_id LEFT JOIN (evaluations e "
    "JOIN {}) ON e.id = j.evaluation_id AND j.state = 'done' "
    "WHERE (?1 = '' OR o.name = ?1) AND (?2 = '' OR j.problem = ?2) AND (?3 = 0 OR j.id < ?3) AND (?5 = '' OR s.batch "
    "= ?5) AND (?6 = '' OR s.client = ?6) AND (?7 = '' OR ?7 = iif(j.state = 'failed' AND j.error LIKE 'cancelled%', "
    "'cancelled', j.state)) ORDER BY j.id DESC LIMIT ?4";

// What both have in common. One more than a page holds tells whether there is another.
void BindPage(SQLite::Statement& query, const PageFilter& filter) {
  query.bind(1, filter.run);
  query.bind(2, filter.problem);
  query.bind(3, filter.before);
  query.bind(4, filter.limit + 1);
  query.bind(6, filter.client);
}

template <typename Item, typename Read>
Page<Item> ReadPage(SQLite::Statement& query, int limit, int cursor, Read read) {
  Page<Item> page;
  int64_t last = 0;
  while (query.executeStep()) {
    if (page.items.size() == static_cast<size_t>(limit)) {
      page.next = last;
      break;
    }
    last = query.getColumn(cursor).getInt64();
    page.items.push_back(read());
  }
  return page;
}

}  // namespace

json ReadSummary(SQLite::Statement& row) {
  const auto text = [&](int column) { return row.getColumn(column).getString(); };
  json summary = {{"id", text(0)},
                  {"created", text(1)},
                  {"problem", text(3)},
                  {"size", text(4)},
                  {"device", text(5)},
                  {"device_info", {{"name", text(6)}}},
                  {"protocol", text(7)},
                  {"candidate", {{"path", text(8)}, {"sha256", text(9)}}},
                  {"verdict", text(10)},
                  {"reason", text(11)},
                  {"speedup", OrNull(row.getColumn(12))},
                  {"baseline_us", OrNull(row.getColumn(15))},
                  {"candidate_us", OrNull(row.getColumn(16))}};
  summary["problem_sha256"] = text(19);
  summary["model"] = row.getColumn(17).getString().empty() ? json(nullptr) : json(text(17));
  summary["sample"] = row.getColumn(18).isNull() ? json(nullptr) : json(row.getColumn(18).getInt64());
  summary["run"] = row.getColumn(2).isNull() ? json(nullptr) : json(text(2));
  summary["speedup_interval"] = nullptr;
  if (!row.getColumn(13).isNull() && !row.getColumn(14).isNull()) {
    summary["speedup_interval"] = {row.getColumn(13).getDouble(), row.getColumn(14).getDouble()};
  }
  return summary;
}

Result<Page<json>> Store::Entries(const PageFilter& filter) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<Page<json>> {
    SQLite::Statement query(impl_->database, fmt::format("SELECT {}, e.sequence FROM evaluations e JOIN {} {}",
                                                         kSummaryColumns, kSummaryTables, kOfEntries));
    BindPage(query, filter);
    query.bind(5, filter.verdict);
    return ReadPage<json>(query, filter.limit, kSummaryColumnCount, [&] { return ReadSummary(query); });
  });
}

Result<Page<SubmissionSummary>> Store::Submissions(const PageFilter& filter) const {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<Page<SubmissionSummary>> {
    SQLite::Statement query(
        database, fmt::format("SELECT {}, j.id, s.id, s.created, s.client, s.batch, o.name {}", kSummaryColumns,
                              fmt::format(kOfSubmissions, filter.key.empty() ? kFromNewest : kOfKey, kSummaryTables)));
    BindPage(query, filter);
    if (!filter.key.empty()) query.bind(8, ToUtf8(filter.key));
    query.bind(5, filter.batch);
    query.bind(7, filter.state);
    constexpr int kJob = kSummaryColumnCount;
    return ReadPage<SubmissionSummary>(query, filter.limit, kJob, [&] {
      SubmissionSummary read;
      read.submission = {query.getColumn(kJob + 1).getString(),
                         query.getColumn(kJob + 2).getString(),
                         query.getColumn(kJob + 3).getString(),
                         query.getColumn(kJob + 4).getString(),
                         json(),
                         query.getColumn(kJob + 5).getString(),
                         JobOf(database, query.getColumn(kJob).getInt64())};
      if (!query.getColumn(0).isNull()) read.entry = ReadSummary(query);
      return read;
    });
  });
}

}  // namespace kb

// Lines of evaluations and runs. What is no column of an evaluation is picked out of its text while that is read, which
// takes a fraction of what making an object of it does.

#include <array>
#include <unordered_map>

#include "base/note.h"
#include "store/store_impl.h"

namespace kb {

using nlohmann::json;

namespace {

// Keeps the members that an EntryRow has, wherever they stand, and knows where it is down to three levels.
class EntryReader : public nlohmann::json_sax<json> {
 public:
  explicit EntryReader(EntryRow* row) : row_(row) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return Number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return Number(value); }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& value) override {
    if (Is("candidate", "backend")) row_->backend = value;
    if (Is("authorship", "class")) row_->authorship = value;
    const bool note = depth_ == 3 && keys_[0] == "notes" && keys_[2] == "text";
    if (note || (depth_ == 2 && keys_[0] == "notes")) Note(value);  // the older form is the text alone
    return true;
  }
  bool start_object(std::size_t) override { return Enter(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool key(string_t& name) override {
    if (depth_ >= 1 && depth_ <= keys_.size()) keys_[depth_ - 1] = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

  void Finish() {
    if (custom_ + library_ > 0) row_->own = custom_ / (custom_ + library_);
  }

 private:
  bool Is(std::string_view first, std::string_view second) const {
    return depth_ == 2 && keys_[1] == second && keys_[0] == first;
  }
  bool Number(double value) {
    if (Is("authorship", "custom")) custom_ = value;
    if (Is("authorship", "library")) library_ = value;
    if (Is("speed_of_light", "fraction")) row_->fraction = value;
    return true;
  }
  void Note(const std::string& text) {
    if (MakeNote(text).code == "clock") row_->doubts.push_back(text.substr(0, text.find(':')));
  }
  bool Enter() {
    if (++depth_ <= keys_.size()) keys_[depth_ - 1].clear();
    return true;
  }
  bool Leave() {
    --depth_;
    return true;
  }

  EntryRow* row_;
  size_t depth_ = 0;
  std::array<std::string, 3> keys_;  // of the members that it is in, from outside
  double custom_ = 0, library_ = 0;
};

struct DeviceNames {
  std::string name, torch;
};

std::unordered_map<int64_t, DeviceNames> DevicesById(SQLite::Database& database) {
  SQLite::Statement query(database, "SELECT id, name, coalesce(json_extract(info, '$.torch'), '') FROM devices");
  std::unordered_map<int64_t, DeviceNames> devices;
  while (query.executeStep())
    devices[query.getColumn(0).getInt64()] = {query.getColumn(1).getString(), query.getColumn(2).getString()};
  return devices;
}

std::unordered_map<int64_t, std::string> TextsById(SQLite::Database& database, const char* select) {
  SQLite::Statement query(database, select);
  std::unordered_map<int64_t, std::string> texts;
  while (query.executeStep()) texts[query.getColumn(0).getInt64()] = query.getColumn(1).getString();
  return texts;
}

constexpr char kEntryColumns[] =
    "SELECT sequence, run_id, device_id, problem_id, id, created, model, problem, size, device, "
    "iif(rules = '', protocol, rules), baseline, candidate_path, candidate_sha256, verdict, "
    "iif(verdict = 'correct', reason, ''), sample, speedup, low, high, baseline_us, candidate_us, json "
    "FROM evaluations WHERE sequence > ?1 ORDER BY sequence";

}  // namespace

Result<std::string> Store::Version() const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::string> {
    return fmt::format("{}-{}", impl_->database.execAndGet("PRAGMA data_version").getInt64(),
                       sqlite3_total_changes64(impl_->database.getHandle()));
  });
}

Status Store::HoldSnapshot() {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Status {
    impl_->database.exec("BEGIN");
    impl_->database.execAndGet("SELECT count(*) FROM runs");  // the first read is when it begins
    return {};
  });
}

Result<int64_t> Store::CountEntries(int64_t until) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<int64_t> {
    SQLite::Statement query(impl_->database, "SELECT count(*) FROM evaluations WHERE sequence <= ?1");
    query.bind(1, until);
    KB_CHECK(query.executeStep());
    return query.getColumn(0).getInt64();
  });
}

Result<std::vector<EntryRow>> Store::EntryRows(int64_t after) const {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<std::vector<EntryRow>> {
    const ReadSnapshot snapshot(database);
    const auto devices = DevicesById(database);
    const auto runs = TextsById(database, "SELECT id, name FROM runs");
    const auto texts = TextsById(database, "SELECT id, sha256 FROM problems");
    SQLite::Statement query(database, kEntryColumns);
    query.bind(1, after);
    std::vector<EntryRow> rows;
    while (query.executeStep()) {
      EntryRow& entry = rows.emplace_back();
      ScoreRow& row = entry.row;
      entry.sequence = query.getColumn(0).getInt64();
      if (const auto run = runs.find(query.getColumn(1).getInt64()); run != runs.end()) row.run = run->second;
      if (const auto device = devices.find(query.getColumn(2).getInt64()); device != devices.end()) {
        row.device_name = device->second.name;
        row.torch = device->second.torch;
      }
      if (const auto text = texts.find(query.getColumn(3).getInt64()); text != texts.end())
        row.problem_sha256 = text->second;
      int column = 4;
      for (std::string* text : {&row.id, &row.created, &row.model, &row.problem, &row.size, &row.device, &row.protocol,
                                &row.baseline, &row.path, &row.sha256, &row.verdict, &row.reason})
        *text = query.getColumn(column++).getString();
      row.sample = WholeNumber(query.getColumn(column));
      for (std::optional<double>* value : {&row.speedup, &row.low, &row.high, &row.baseline_us, &row.candidate_us})
        *value = RealNumber(query.getColumn(++column));
      const auto text = Decompress(Blob(query.getColumn(++column)));
      if (!text) continue;  // one that is damaged is said to be where it is read whole
      EntryReader reader(&entry);
      json::sax_parse(*text, &reader);
      reader.Finish();
    }
    return rows;
  });
}

Result<std::set<std::string>> Store::OwnWork(const std::string& run) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::set<std::string>> {
    SQLite::Statement query(impl_->database,
                            "SELECT id, json FROM evaluations WHERE verdict = 'correct' AND low > 1 "
                            "AND (?1 = '' OR run_id = (SELECT id FROM runs WHERE name = ?1))");
    query.bind(1, run);
    std::set<std::string> ids;
    while (query.executeStep()) {
      const auto text = Decompress(Blob(query.getColumn(1)));
      if (!text) continue;  // one that is damaged is said to be where it is read whole
      EntryRow entry;
      EntryReader reader(&entry);
      json::sax_parse(*text, &reader);
      if (entry.authorship == "custom") ids.insert(query.getColumn(0).getString());
    }
    return ids;
  });
}

Result<std::vector<FailedJob>> Store::FailedJobs() const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<FailedJob>> {
    SQLite::Statement query(impl_->database,
                            "SELECT j.id, r.name, r.created, j.model, j.problem, j.size, j.device, j.protocol, j.path, "
                            "j.sha256, j.error, j.sample FROM jobs j JOIN runs r ON r.id = j.run_id "
                            "WHERE j.state = 'failed' AND j.error NOT LIKE 'cancelled%' ORDER BY j.id");
    std::vector<FailedJob> jobs;
    while (query.executeStep()) {
      FailedJob& job = jobs.emplace_back();
      job.id = query.getColumn(0).getInt64();
      int column = 1;
      for (std::string* text : {&job.run, &job.created, &job.model, &job.problem, &job.size, &job.device, &job.protocol,
                                &job.path, &job.sha256, &job.error})
        *text = query.getColumn(column++).getString();
      job.sample = query.getColumn(column).getInt64();
    }
    return jobs;
  });
}

Result<std::vector<RunSummary>> Store::RunSummaries(int most_judging) const {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Result<std::vector<RunSummary>> {
    const ReadSnapshot snapshot(database);
    std::vector<RunSummary> runs;
    std::unordered_map<int64_t, size_t> place;
    SQLite::Statement all(database,
                          "SELECT r.id, r.name, r.created, g.settings FROM runs r LEFT JOIN generations g ON "
                          "g.run_id = r.id ORDER BY r.id");
    while (all.executeStep()) {
      place[all.getColumn(0).getInt64()] = runs.size();
      RunSummary& run = runs.emplace_back();
      run.name = all.getColumn(1).getString();
      run.created = all.getColumn(2).getString();
      if (const std::string text = all.getColumn(3).getString(); !text.empty() && IsShallowJson(text))
        run.settings = json::parse(text);
    }
    SQLite::Statement models(database, "SELECT DISTINCT run_id, model FROM requests");
    while (models.executeStep())
      runs[place.at(models.getColumn(0).getInt64())].models.push_back(models.getColumn(1).getString());
    SQLite::Statement jobs(database, "SELECT run_id, state, count(*) FROM jobs GROUP BY run_id, state");
    while (jobs.executeStep())
      runs[place.at(jobs.getColumn(0).getInt64())].jobs[jobs.getColumn(1).getString()] = jobs.getColumn(2).getInt64();
    SQLite::Statement running(database,
                              "SELECT run_id, problem, path, claimed FROM jobs WHERE state = 'running' ORDER BY id");
    while (running.executeStep()) {
      RunSummary& run = runs[place.at(running.getColumn(0).getInt64())];
      if (run.judging.size() < static_cast<size_t>(most_judging))
        run.judging.push_back(
            {running.getColumn(1).getString(), running.getColumn(2).getString(), running.getColumn(3).getInt64()});
    }
    return runs;
  });
}

Result<std::vector<json>> Store::DeviceInfos() const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<json>> {
    SQLite::Statement query(impl_->database, "SELECT kind, info FROM devices WHERE name <> '' ORDER BY id");
    std::vector<json> infos;
    while (query.executeStep()) {
      const std::string text = query.getColumn(1).getString();
      json info = IsShallowJson(text) ? json::parse(text) : json::object();
      if (!info.is_object()) continue;
      info["device"] = query.getColumn(0).getString();
      infos.push_back(std::move(info));
    }
    return infos;
  });
}

Result<std::map<std::string, bool>> Store::Audited() const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::map<std::string, bool>> {
    SQLite::Statement query(impl_->database, "SELECT evaluation_id, min(passes) FROM reviews GROUP BY evaluation_id");
    std::map<std::string, bool> passes;
    while (query.executeStep()) passes[query.getColumn(0).getString()] = query.getColumn(1).getInt() != 0;
    return passes;
  });
}

Result<std::optional<GenerationRequest>> Store::RequestOf(const std::string& run, const std::string& model,
                                                          const std::string& problem, int64_t candidate) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::optional<GenerationRequest>> {
    SQLite::Statement query(impl_->database,
                            "SELECT id, sample, turn, state FROM requests WHERE run_id = (SELECT id FROM runs WHERE "
                            "name = ?1) AND model = ?2 AND problem = ?3 AND candidate = ?4");
    query.bind(1, run);
    query.bind(2, model);
    query.bind(3, problem);
    query.bind(4, candidate);
    if (!query.executeStep()) return std::optional<GenerationRequest>();
    GenerationRequest request;
    request.id = query.getColumn(0).getInt64();
    request.model = model;
    request.problem = problem;
    request.sample = query.getColumn(1).getInt();
    request.turn = query.getColumn(2).getInt();
    request.candidate = static_cast<int>(candidate);
    request.state = query.getColumn(3).getString();
    return std::optional(request);
  });
}

}  // namespace kb

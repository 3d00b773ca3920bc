// Store::Check(): reads all there is and says what is wrong with it.
#include <sqlite3.h>

#include "base/hash.h"
#include "store/compress.h"
#include "store/store_impl.h"

namespace kb {
namespace {

using nlohmann::json;

class Checker {
 public:
  explicit Checker(SQLite::Database& database) : database_(database) {}

  StoreHealth Run() {
    const SQLite::Transaction snapshot(database_);  // one state of the store, whoever writes meanwhile
    for (const auto step : {&Checker::File, &Checker::References, &Checker::Evaluations, &Checker::Samples,
                            &Checker::Measurements, &Checker::Sources, &Checker::Texts, &Checker::Jobs,
                            &Checker::Requests, &Checker::Answers, &Checker::Episodes, &Checker::Count}) {
      try {
        (this->*step)();
      } catch (const SQLite::Exception& exception) {
        const int code = exception.getErrorCode();
        if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB) throw;  // locked, or no memory: says nothing of the store
        Wrong("the file is damaged: {}", exception.what());
      }
    }
    return std::move(health_);
  }

 private:
  template <typename... Arguments>
  void Wrong(fmt::format_string<Arguments...> sentence, Arguments&&... arguments) {
    health_.wrong.push_back(fmt::format(sentence, std::forward<Arguments>(arguments)...));
  }

  template <typename Body>
  void Each(const char* sql, Body body) {
    SQLite::Statement row(database_, sql);
    while (row.executeStep()) body(row);
  }

  void File() {
    Each("PRAGMA integrity_check(20)", [&](SQLite::Statement& row) {
      if (const std::string said = row.getColumn(0).getString(); said != "ok") Wrong("SQLite: {}", said);
    });
  }

  // What jobs refer to is asked for in Jobs(), which can name them.
  void References() {
    Each(
        "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check "
        "WHERE NOT (\"table\" = 'jobs' AND parent = 'evaluations') GROUP BY 1, 2",
        [&](SQLite::Statement& row) {
          Wrong("{} rows of {} refer to {} that are not there", row.getColumn(2).getInt64(),
                row.getColumn(0).getString(), row.getColumn(1).getString());
        });
  }

  // The JSON in a compressed column; discarded, and said, if it is none.
  json Unpack(const std::string& what, SQLite::Column column) {
    const auto text = Decompress(Blob(column));
    if (!text) {
      Wrong("{} cannot be decompressed: {}", what, text.error().message);
      return json(json::value_t::discarded);
    }
    json value = json::parse(*text, nullptr, false);
    if (value.is_discarded()) Wrong("{} is no JSON", what);
    return value;
  }

  void Evaluations() {
    Each("SELECT id, json FROM evaluations", [&](SQLite::Statement& row) {
      const std::string id = row.getColumn(0).getString();
      const json evaluation = Unpack("the evaluation " + id, row.getColumn(1));
      if (evaluation.is_discarded()) return;
      if (!evaluation.is_object() || Text(evaluation, "id") != id) Wrong("the evaluation {} holds another one", id);
    });
  }

  void Samples() {
    Each("SELECT evaluation_id, data, count FROM samples", [&](SQLite::Statement& row) {
      const std::string what = "the samples of " + row.getColumn(0).getString();
      const json samples = Unpack(what, row.getColumn(1));
      if (samples.is_discarded()) return;
      if (!samples.is_array() || static_cast<int64_t>(samples.size()) != row.getColumn(2).getInt64()) {
        Wrong("{} are not {}", what, row.getColumn(2).getInt64());
      }
    });
  }

  void Measurements() {
    Each("SELECT evaluation_id, data FROM measurements", [&](SQLite::Statement& row) {
      Unpack("what was measured for " + row.getColumn(0).getString(), row.getColumn(1));
    });
  }

  void Sources() {
    Each("SELECT sha256, source FROM candidates", [&](SQLite::Statement& row) {
      const std::string sha256 = row.getColumn(0).getString();
      const auto source = Decompress(Blob(row.getColumn(1)));
      if (!source) {
        Wrong("the source {} cannot be decompressed: {}", sha256, source.error().message);
      } else if (Sha256(*source) != sha256) {
        Wrong("the source {} has another hash: {}", sha256, Sha256(*source));
      }
    });
  }

  void Texts() {
    const std::pair<const char*, const char*> kColumns[] = {
        {"the device", "SELECT id, info FROM devices"},
        {"the audit", "SELECT id, json FROM audits"},
        {"the measured baseline", "SELECT id, json FROM measured_baselines"},
        {"the generation", "SELECT run_id, settings FROM generations"},
        {"the review", "SELECT id, findings FROM reviews"}};
    for (const auto& [what, sql] : kColumns) {
      Each(sql, [&, name = what](SQLite::Statement& row) {
        const json value = json::parse(row.getColumn(1).getString(), nullptr, false);
        if (!value.is_object()) Wrong("{} in row {} is no JSON", name, row.getColumn(0).getInt64());
      });
    }
  }

  void Jobs() {
    Each(
        "SELECT j.id, coalesce(r.name, '?'), j.state, j.owner, j.evaluation_id, e.id IS NOT NULL, "
        "e.run_id IS j.run_id AND e.model = j.model AND e.problem = j.problem AND e.size = j.size "
        "AND e.sample IS j.sample AND (j.problem_sha256 = '' OR p.sha256 IN ('', j.problem_sha256)) FROM jobs j "
        "LEFT JOIN runs r ON r.id = j.run_id LEFT JOIN evaluations e ON e.id = j.evaluation_id "
        "LEFT JOIN problems p ON p.id = e.problem_id ORDER BY j.id",
        [&](SQLite::Statement& row) { Job(row); });
  }

  void Job(SQLite::Statement& row) {
    const std::string state = row.getColumn(2).getString(), owner = row.getColumn(3).getString();
    const std::string who =
        fmt::format("the job {} of the run {}", row.getColumn(0).getInt64(), row.getColumn(1).getString());
    const bool named = !row.getColumn(4).isNull(), there = row.getColumn(5).getInt() != 0;
    const std::string evaluation = named ? row.getColumn(4).getString() : "";
    if (state == "done" && !named) {
      Wrong("{} is done without an evaluation", who);
    } else if (state != "done" && named) {
      Wrong("{} is {}, but has the evaluation {}", who, state, evaluation);
    } else if (named && !there) {
      Wrong("{} is done, but its evaluation {} is not there", who, evaluation);
    } else if (named && row.getColumn(6).getInt() == 0) {
      Wrong("{} is done, but its evaluation {} is of something else", who, evaluation);
    }
    if ((state == "running") == owner.empty()) Wrong("{} is {}, but its owner is \"{}\"", who, state, owner);
    if (state == "running" && !owner.empty() && !OwnerLives(owner)) {
      health_.stranded.push_back(fmt::format("{} was running in a process that is gone: {}", who, owner));
    }
  }

  void Requests() {
    Each(
        "SELECT q.id, q.state, q.owner, (SELECT count(*) FROM answers a WHERE a.request_id = q.id), "
        "(SELECT count(*) FROM answers a WHERE a.request_id = q.id AND settled = 0) FROM requests q ORDER BY q.id",
        [&](SQLite::Statement& row) {
          const std::string who = fmt::format("the request {}", row.getColumn(0).getInt64());
          const std::string state = row.getColumn(1).getString(), owner = row.getColumn(2).getString();
          const bool open = row.getColumn(4).getInt() > 0;
          if (state == "answered" && (row.getColumn(3).getInt() == 0 || open)) {
            Wrong("{} is answered, but {}", who, open ? "an answer of it is not settled" : "has no answer");
          }
          if (state == "asked" && !OwnerLives(owner)) {
            health_.stranded.push_back(fmt::format("{} was asked by a process that is gone: {}", who, owner));
          }
        });
  }

  void Answers() {
    Each("SELECT id, prompt, response, reasoning FROM answers", [&](SQLite::Statement& row) {
      for (int column = 1; column <= 3; ++column) {
        if (const auto text = Decompress(Blob(row.getColumn(column))); !text) {
          Wrong("the answer {} cannot be decompressed: {}", row.getColumn(0).getInt64(), text.error().message);
        }
      }
    });
  }

  void Frames(const std::string& what, SQLite::Statement& row, int first) {
    for (int column = first; column < row.getColumnCount(); ++column) {
      if (row.getColumn(column).isNull()) continue;
      const auto text = Decompress(Blob(row.getColumn(column)));
      if (!text) {
        Wrong("{} cannot be decompressed: {}", what, text.error().message);
      } else if (!IsShallowJson(*text)) {
        Wrong("{} is no JSON", what);
      }
    }
  }

  void Episodes() {
    Each("SELECT request_id, opening FROM episodes", [&](SQLite::Statement& row) {
      Frames(fmt::format("the episode of the request {}", row.getColumn(0).getInt64()), row, 1);
    });
    Each("SELECT request_id, number, context, answer, results FROM turns", [&](SQLite::Statement& row) {
      Frames(fmt::format("turn {} of the request {}", row.getColumn(1).getInt64(), row.getColumn(0).getInt64()), row,
             2);
    });
    Each("SELECT request_id, turn, view FROM turn_verdicts", [&](SQLite::Statement& row) {
      Frames(fmt::format("a verdict in turn {} of the request {}", row.getColumn(1).getInt64(),
                         row.getColumn(0).getInt64()),
             row, 2);
    });
    Each("SELECT request_id, count(*), max(number) FROM turns GROUP BY request_id HAVING count(*) <> max(number)",
         [&](SQLite::Statement& row) {
           Wrong("the request {} has {} turns, but the last is turn {}", row.getColumn(0).getInt64(),
                 row.getColumn(1).getInt64(), row.getColumn(2).getInt64());
         });
    Each(
        "SELECT DISTINCT request_id, turn FROM turn_files f WHERE turn > 0 AND NOT EXISTS (SELECT 1 FROM turns t WHERE "
        "t.request_id = f.request_id AND t.number = f.turn)",
        [&](SQLite::Statement& row) {
          Wrong("the request {} has files of turn {}, which is not there", row.getColumn(0).getInt64(),
                row.getColumn(1).getInt64());
        });
  }

  void Count() {
    for (const char* table :
         {"evaluations",   "samples",  "measurements", "builds",   "baselines", "candidates",
          "problems",      "devices",  "runs",         "jobs",     "audits",    "measured_baselines",
          "generations",   "requests", "answers",      "episodes", "turns",     "turn_files",
          "turn_verdicts", "reviews",  "submissions"}) {
      health_.rows[table] = database_.execAndGet(fmt::format("SELECT count(*) FROM {}", table)).getInt64();
    }
    Each("SELECT state, count(*) FROM jobs GROUP BY state",
         [&](SQLite::Statement& row) { health_.states[row.getColumn(0).getString()] = row.getColumn(1).getInt64(); });
  }

  SQLite::Database& database_;
  StoreHealth health_;
};

}  // namespace

Result<StoreHealth> Store::Check() const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<StoreHealth> { return Checker(impl_->database).Run(); });
}

}  // namespace kb

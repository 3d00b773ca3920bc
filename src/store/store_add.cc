// How an evaluation becomes rows.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "store/compress.h"
#include "store/store.h"
#include "store/store_impl.h"

namespace kb {

using nlohmann::json;

namespace {

std::optional<double> Number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

json Object(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : json::object();
}

void Bind(SQLite::Statement& statement, int index, std::optional<double> value) {
  value ? statement.bind(index, *value) : statement.bind(index);
}

void BindBlob(SQLite::Statement& statement, int index, const std::string& bytes) {
  statement.bind(index, bytes.data(), static_cast<int>(bytes.size()));
}

// Id of the row with these values in its key columns, inserted if it is not there.
int64_t RowId(SQLite::Database& database, const char* insert, const char* select,
              const std::vector<std::string>& values, size_t keys) {
  SQLite::Statement inserting(database, insert);
  for (size_t i = 0; i < values.size(); ++i) inserting.bind(static_cast<int>(i + 1), values[i]);
  inserting.exec();
  SQLite::Statement selecting(database, select);
  for (size_t i = 0; i < keys; ++i) selecting.bind(static_cast<int>(i + 1), values[i]);
  KB_CHECK(selecting.executeStep());
  return selecting.getColumn(0).getInt64();
}

int64_t AddProblem(SQLite::Database& database, const json& evaluation) {
  return RowId(database, "INSERT INTO problems (name, sha256) VALUES (?, ?) ON CONFLICT DO NOTHING",
               "SELECT id FROM problems WHERE name = ? AND sha256 = ?",
               {Text(evaluation, "problem"), Text(evaluation, "problem_sha256")}, 2);
}

int64_t AddDevice(SQLite::Database& database, const json& evaluation) {
  json info = Object(evaluation, "device_info");
  const std::string whole = Dump(info);
  for (const char* measured : {"copy_gb_s", "rates"}) info.erase(measured);  // anew each time: no part of which it is
  const std::string kind = Text(evaluation, "device");
  return RowId(database,
               "INSERT INTO devices (fingerprint, kind, name, info) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
               "SELECT id FROM devices WHERE fingerprint = ?",
               {Hasher().Add(kind).Add(Dump(info)).Hex(), kind, Text(info, "name"), whole}, 1);
}

// "quick, precision=fp16": the protocol and the keys that flags changed. Scores under different rules never mix.
std::string Rules(const json& evaluation) {
  std::string rules = Text(evaluation, "protocol");
  const json keys = Object(evaluation, "protocol_keys");
  const auto changed = evaluation.find("protocol_changed");
  if (changed == evaluation.end() || !changed->is_array()) return rules;
  for (const json& key : *changed) {
    if (!key.is_string() || !keys.contains(key.get<std::string>())) continue;
    const json& value = keys.at(key.get<std::string>());
    rules += fmt::format(", {}={}", key.get<std::string>(), value.is_string() ? value.get<std::string>() : Dump(value));
  }
  return rules;
}

struct References {
  std::optional<int64_t> run;
  int64_t problem = 0;
  int64_t device = 0;
  std::optional<std::string> source;
};

void InsertEvaluation(SQLite::Database& database, const json& evaluation, const References& references,
                      const json& remainder) {
  const json candidate = Object(evaluation, "candidate");
  SQLite::Statement insert(
      database,
      "INSERT INTO evaluations (id, created, run_id, problem_id, problem, size, device_id, device, protocol, "
      "candidate_sha256, source_sha256, candidate_path, verdict, reason, speedup, low, high, baseline_us, "
      "candidate_us, "
      "json, model, sample, baseline, rules) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?)");
  insert.bind(1, Text(evaluation, "id"));
  insert.bind(2, Text(evaluation, "created"));
  references.run ? insert.bind(3, *references.run) : insert.bind(3);
  insert.bind(4, references.problem);
  insert.bind(5, Text(evaluation, "problem"));
  insert.bind(6, Text(evaluation, "size"));
  insert.bind(7, references.device);
  insert.bind(8, Text(evaluation, "device"));
  insert.bind(9, Text(evaluation, "protocol"));
  insert.bind(10, Text(candidate, "sha256"));
  references.source ? insert.bind(11, *references.source) : insert.bind(11);
  insert.bind(12, Text(candidate, "path"));
  insert.bind(13, Text(evaluation, "verdict"));
  insert.bind(14, Text(evaluation, "reason"));
  Bind(insert, 15, Number(evaluation, "speedup"));
  const auto interval = evaluation.find("speedup_interval");
  const bool has = interval != evaluation.end() && interval->is_array() && interval->size() == 2 &&
                   (*interval)[0].is_number() && (*interval)[1].is_number();
  Bind(insert, 16, has ? std::optional((*interval)[0].get<double>()) : std::nullopt);
  Bind(insert, 17, has ? std::optional((*interval)[1].get<double>()) : std::nullopt);
  Bind(insert, 18, Number(evaluation, "baseline_us"));
  Bind(insert, 19, Number(evaluation, "candidate_us"));
  BindBlob(insert, 20, Compress(Dump(remainder)));
  insert.bind(21, Text(evaluation, "model"));
  const auto sample = evaluation.find("sample");
  sample != evaluation.end() && sample->is_number_integer() ? insert.bind(22, sample->get<int64_t>()) : insert.bind(22);
  insert.bind(23, Text(evaluation, "baseline"));
  insert.bind(24, Rules(evaluation));
  insert.exec();
}

void InsertSamples(SQLite::Database& database, const std::string& id, const json& samples) {
  SQLite::Statement insert(database, "INSERT INTO samples (evaluation_id, count, data) VALUES (?, ?, ?)");
  insert.bind(1, id);
  insert.bind(2, static_cast<int64_t>(samples.size()));
  BindBlob(insert, 3, Compress(Dump(samples)));
  insert.exec();
}

void InsertMeasurements(SQLite::Database& database, const std::string& id, const json& measurements) {
  SQLite::Statement insert(database, "INSERT INTO measurements (evaluation_id, data) VALUES (?, ?)");
  insert.bind(1, id);
  BindBlob(insert, 2, Compress(Dump(measurements)));
  insert.exec();
}

// What has a table of its own is taken out; null if it is not there.
json TakeOut(const char* key, json::value_t type, json* evaluation) {
  const auto found = evaluation->find(key);
  if (found == evaluation->end() || found->type() != type) return nullptr;
  json part = std::move(*found);
  evaluation->erase(found);
  return part;
}

void InsertBuild(SQLite::Database& database, const std::string& id, const json& evaluation) {
  const std::optional<double> build_us = Number(Object(evaluation, "engine_us"), "build");
  if (!build_us) return;
  SQLite::Statement insert(
      database,
      "INSERT INTO builds (evaluation_id, candidate_sha256, compiler, failed, build_us) VALUES (?, ?, ?, ?, ?)");
  insert.bind(1, id);
  insert.bind(2, Text(Object(evaluation, "candidate"), "sha256"));
  insert.bind(3, Text(Object(evaluation, "device_info"), "compiler"));
  insert.bind(4, Text(evaluation, "verdict") == "build_failed" ? 1 : 0);
  insert.bind(5, *build_us);
  insert.exec();
}

void InsertBaseline(SQLite::Database& database, const std::string& id, const json& evaluation,
                    const References& references) {
  const std::optional<double> undisturbed_us = Number(evaluation, "undisturbed_baseline_us");
  if (!undisturbed_us) return;
  SQLite::Statement insert(database,
                           "INSERT INTO baselines (evaluation_id, problem_id, size, device_id, protocol, name, "
                           "undisturbed_us) VALUES (?, ?, ?, ?, ?, ?, ?)");
  insert.bind(1, id);
  insert.bind(2, references.problem);
  insert.bind(3, Text(evaluation, "size"));
  insert.bind(4, references.device);
  insert.bind(5, Text(evaluation, "protocol"));
  insert.bind(6, Text(evaluation, "baseline"));
  insert.bind(7, *undisturbed_us);
  insert.exec();
}

bool Stored(SQLite::Database& database, const std::string& id) {
  SQLite::Statement query(database, "SELECT 1 FROM evaluations WHERE id = ?");
  query.bind(1, id);
  return query.executeStep();
}

}  // namespace

int64_t RunId(SQLite::Database& database, const std::string& name, const std::string& created) {
  return RowId(database, "INSERT INTO runs (name, created) VALUES (?, ?) ON CONFLICT DO NOTHING",
               "SELECT id FROM runs WHERE name = ?", {name, created}, 1);
}

std::string AddSource(SQLite::Database& database, const json& candidate, const std::string& source) {
  const std::string sha256 = Sha256(source);
  SQLite::Statement insert(database,
                           "INSERT INTO candidates (sha256, kind, backend, bytes, source) VALUES (?, ?, ?, ?, ?) "
                           "ON CONFLICT DO NOTHING");
  insert.bind(1, sha256);
  insert.bind(2, Text(candidate, "kind"));
  insert.bind(3, Text(candidate, "backend"));
  insert.bind(4, static_cast<int64_t>(source.size()));
  BindBlob(insert, 5, Compress(source));
  insert.exec();
  return sha256;
}

Status AddEvaluation(SQLite::Database& database, const json& evaluation) {
  for (const char* key : {"id", "created", "problem", "verdict"}) {
    if (!evaluation.is_object() || Text(evaluation, key).empty()) {
      return Fail(ErrorCode::kEngine, fmt::format("an evaluation without `{}` cannot be stored", key));
    }
  }
  json remainder = evaluation;
  std::optional<std::string> source;
  if (auto candidate = remainder.find("candidate"); candidate != remainder.end() && candidate->is_object()) {
    if (auto found = candidate->find("source"); found != candidate->end() && found->is_string()) {
      source = found->get<std::string>();
      candidate->erase(found);
    }
  }
  const json samples = TakeOut("samples", json::value_t::array, &remainder),
             measurements = TakeOut("measurements", json::value_t::object, &remainder);
  const std::string id = Text(evaluation, "id");
  if (Stored(database, id)) {
    return Fail(ErrorCode::kStore,
                fmt::format("the evaluation {} is already in the store {}", id, database.getFilename()));
  }
  References references;
  if (const std::string run = Text(evaluation, "run"); !run.empty()) {
    references.run = RunId(database, run, Text(evaluation, "created"));
  }
  references.problem = AddProblem(database, evaluation);
  references.device = AddDevice(database, evaluation);
  if (source) references.source = AddSource(database, Object(evaluation, "candidate"), *source);
  InsertEvaluation(database, evaluation, references, remainder);
  if (samples.is_array()) InsertSamples(database, id, samples);
  if (measurements.is_object()) InsertMeasurements(database, id, measurements);
  InsertBuild(database, id, evaluation);
  InsertBaseline(database, id, evaluation, references);
  return {};
}

Status Store::Add(const json& evaluation) {
  const std::lock_guard lock(impl_->mutex);
  SQLite::Database& database = impl_->database;
  return Guard(database, [&]() -> Status {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    KB_RETURN_IF_ERROR(AddEvaluation(database, evaluation));
    transaction.commit();
    return {};
  });
}

}  // namespace kb

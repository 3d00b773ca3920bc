// Baselines that were measured by themselves, or imported.
#include "store/store_impl.h"

namespace kb {
namespace {

using nlohmann::json;

// What tells two devices apart whose times must not be mixed. A CPU is as fast as the number of its cores that are
// used.
std::string DeviceOf(const json& info) {
  const std::string name = Text(info, "name");
  const auto cores = info.find("cores");
  return cores != info.end() && cores->is_number() ? fmt::format("{}, {} cores", name, cores->get<int64_t>()) : name;
}

}  // namespace

Status Store::AddBaseline(const json& baseline) {
  for (const char* key : {"created", "origin", "problem", "size", "precision", "kind"}) {
    if (!baseline.is_object() || Text(baseline, key).empty()) {
      return Fail(ErrorCode::kEngine, fmt::format("a baseline without `{}` cannot be stored", key));
    }
  }
  const json info = baseline.value("device_info", json());
  if (!info.is_object() || Text(info, "name").empty()) {
    return Fail(ErrorCode::kEngine, "a baseline without the name of its device cannot be stored");
  }
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Status {
    SQLite::Statement insert(
        impl_->database,
        "INSERT INTO measured_baselines (created, problem, sha256, size, precision, kind, device, torch, json) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (problem, sha256, size, precision, kind, device, torch) "
        "DO UPDATE SET created = excluded.created, json = excluded.json");
    int column = 0;
    for (const char* key : {"created", "problem", "sha256", "size", "precision", "kind"})
      insert.bind(++column, Text(baseline, key));
    insert.bind(++column, DeviceOf(info));
    insert.bind(++column, Text(info, "torch"));
    insert.bind(++column, Dump(baseline));
    insert.exec();
    return {};
  });
}

Result<std::vector<json>> Store::Baselines(const BaselineFilter& filter) const {
  const std::lock_guard lock(impl_->mutex);
  return Guard(impl_->database, [&]() -> Result<std::vector<json>> {
    SQLite::Statement query(impl_->database,
                            "SELECT json FROM measured_baselines WHERE (?1 = '' OR problem = ?1) "
                            "AND (?2 = '' OR size = ?2) AND (?3 = '' OR precision = ?3) AND (?4 = '' OR kind = ?4) "
                            "ORDER BY created, id");
    query.bind(1, filter.problem);
    query.bind(2, filter.size);
    query.bind(3, filter.precision);
    query.bind(4, filter.kind);
    std::vector<json> baselines;
    while (query.executeStep()) baselines.push_back(json::parse(query.getColumn(0).getString()));
    return baselines;
  });
}

}  // namespace kb

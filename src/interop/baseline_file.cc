#include "interop/baseline_file.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <tuple>

#include "interop/json_file.h"

namespace kb {
namespace {

Result<BaselineRow> ReadRow(const Json& times) {
  if (!times.is_object()) return Fail(ErrorCode::kUsage, "is no object of times");
  BaselineRow row;
  KB_ASSIGN_OR_RETURN(const auto mean, NumberMember(times, "mean"));
  row.mean_ms = mean.value_or(0);
  KB_ASSIGN_OR_RETURN(row.std_ms, NumberMember(times, "std"));
  KB_ASSIGN_OR_RETURN(row.min_ms, NumberMember(times, "min"));
  KB_ASSIGN_OR_RETURN(row.max_ms, NumberMember(times, "max"));
  if (!(row.mean_ms > 0) || !std::isfinite(row.mean_ms)) return Fail(ErrorCode::kUsage, "has no `mean` above zero");
  KB_ASSIGN_OR_RETURN(const auto trials, CountMember(times, "num_trials"));
  if (!trials) return Fail(ErrorCode::kUsage, "has no `num_trials`");
  row.trials = *trials;
  KB_ASSIGN_OR_RETURN(const auto hardware, TextMember(times, "hardware"));
  KB_ASSIGN_OR_RETURN(const auto device, TextMember(times, "device"));
  row.hardware = hardware.value_or("");
  row.device = device.value_or("");
  return row;
}

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// A problem that has no times: null, or NaN as its mean.
bool FailedThere(const Json& times) {
  return times.is_null() || (times.is_object() && times.contains("mean") && times["mean"].is_null());
}

std::optional<int> LevelOf(const std::string& key) {
  return key.starts_with("level") ? ParseCount(std::string_view(key).substr(5)) : std::nullopt;
}

}  // namespace

std::optional<int> ProblemNumber(const std::string& file_name) {
  return ParseCount(std::string_view(file_name).substr(0, file_name.find('_')));
}

Result<std::vector<BaselineRow>> ReadBaselineFile(const std::filesystem::path& path) {
  KB_ASSIGN_OR_RETURN(const Json file, ReadJsonFile(path));
  const auto fail = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("{} is no file of baseline times: {}", path.string(), what));
  };
  if (!file.is_object()) return fail("it holds no object of levels");
  std::vector<BaselineRow> rows;
  for (const auto& [key, problems] : file.items()) {
    const std::optional<int> level = LevelOf(key);
    if (!level || !problems.is_object()) return fail(fmt::format("`{}` is no level with problems", key));
    for (const auto& [problem, times] : problems.items()) {
      if (FailedThere(times)) continue;
      auto row = ReadRow(times);
      if (!row) return fail(fmt::format("{}, {}: {}", key, problem, row.error().message));
      row->level = *level;
      row->problem = problem;
      rows.push_back(std::move(*row));
    }
  }
  return rows;
}

std::string BaselineFileText(std::span<const BaselineRow> rows) {
  std::map<std::tuple<int, int, std::string>, const BaselineRow*> sorted;
  for (const BaselineRow& row : rows) {
    sorted[{row.level, ProblemNumber(row.problem).value_or(0), row.problem}] = &row;
  }
  Json file = Json::object();
  for (const auto& [place, row] : sorted) {
    file[fmt::format("level{}", row->level)][row->problem] = {
        {"mean", row->mean_ms},       {"std", OrNull(row->std_ms)}, {"min", OrNull(row->min_ms)},
        {"max", OrNull(row->max_ms)}, {"num_trials", row->trials},  {"hardware", row->hardware},
        {"device", row->device},
    };
  }
  return FileText(file);
}

}  // namespace kb

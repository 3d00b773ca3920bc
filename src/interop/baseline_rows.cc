#include "interop/baseline_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "interop/line_reader.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string WordAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// 3/2 comes before 3/10.
std::string Padded(const std::string& name) {
  std::string padded, digits;
  for (const char c : name + " ") {
    if (c >= '0' && c <= '9') {
      digits += c;
      continue;
    }
    if (!digits.empty()) padded += fmt::format("{:0>6}", std::exchange(digits, ""));
    padded += c;
  }
  return padded;
}

// What is missing or of another type; empty: nothing.
std::string Lacks(const json& row) {
  if (!row.is_object()) return "an object";
  for (const char* key : {"problem", "sha256", "size", "precision", "kind", "device", "protocol", "created"}) {
    if (WordAt(row, key).empty()) return key;
  }
  if (WordAt(row, "origin") != "measured") return "origin (\"measured\")";
  for (const char* key : {"median_us", "mean_us"}) {
    if (!row.contains(key) || !row[key].is_number() || row[key].get<double>() <= 0) return key;
  }
  if (!row.contains("trials") || !row["trials"].is_number_unsigned()) return "trials";
  const auto interval = row.find("interval");
  const bool two = interval != row.end() && interval->is_array() && interval->size() == 2;
  if (!two || !(*interval)[0].is_number() || !(*interval)[1].is_number()) return "interval";
  const auto notes = row.find("notes");
  const auto is_text = [](const json& note) { return note.is_string(); };
  if (notes == row.end() || !notes->is_array() || !std::all_of(notes->begin(), notes->end(), is_text)) return "notes";
  const json info = row.value("device_info", json());
  if (!info.is_object() || WordAt(info, "name").empty()) return "device_info.name";
  if (WordAt(info, "torch").empty()) return "device_info.torch";
  return row.contains("compile_s") ? "" : "compile_s";
}

}  // namespace

std::string BaselineRowsText(std::vector<json> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const json& a, const json& b) {
    const auto key = [](const json& row) {
      return std::tuple(Padded(row.at("problem")), row.at("size").get<std::string>(),
                        row.at("precision").get<std::string>(), row.at("kind").get<std::string>(),
                        row.at("device_info").at("name").get<std::string>());
    };
    return key(a) < key(b);
  });
  std::string text;
  for (json& row : rows) {
    row.erase("engine_us");
    text += Dump(row) + "\n";
  }
  return text;
}

Result<std::vector<json>> ReadBaselineRows(const fs::path& path) {
  KB_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  std::vector<json> rows;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const auto line, lines.Next());
    if (!line) return rows;
    json row = json::parse(*line, nullptr, false);
    const std::string lacks = row.is_discarded() ? "JSON" : Lacks(row);
    if (!lacks.empty()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("{}: line {} is no measured baseline, it lacks {}; kernelbench baseline "
                              "export --rows writes such files",
                              path.string(), lines.number(), lacks));
    }
    rows.push_back(std::move(row));
  }
}

Result<std::vector<json>> ReadAllBaselineRows(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& each : fs::directory_iterator(directory, none)) {
    if (each.path().extension() == ".jsonl") files.push_back(each.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<json> all;
  for (const fs::path& file : files) {
    KB_ASSIGN_OR_RETURN(std::vector<json> rows, ReadBaselineRows(file));
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace kb

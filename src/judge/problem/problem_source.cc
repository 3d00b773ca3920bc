#include "judge/problem/problem_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "base/hash.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Files = std::map<fs::path, std::string>;  // level1/19_ReLU.py: its text

bool HasLevels(const fs::path& directory) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("level") && std::atoi(name.c_str() + 5) > 0 && entry.is_directory(ignored)) return true;
  }
  return false;
}

bool IsExport(const fs::path& path) {
  return path.extension() == ".jsonl" || path.extension() == ".ndjson" || path.extension() == ".parquet";
}

bool IsFileName(const std::string& name) {
  return !name.empty() && name.size() < 200 && name[0] != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// One row of the dataset: {"level": 1, "problem_id": 19, "name": "19_ReLU", "code": "..."}.
Status AddRow(const std::string& line, Files* files) {
  const json row = json::parse(line, nullptr, false);
  if (!row.is_object()) return Fail(ErrorCode::kUsage, "is no JSON object");
  for (const char* column : {"level", "problem_id", "name", "code"}) {
    if (!row.contains(column)) return Fail(ErrorCode::kUsage, fmt::format("has no \"{}\"", column));
  }
  if (!row["level"].is_number_integer() || !row["problem_id"].is_number_integer() || !row["name"].is_string() ||
      !row["code"].is_string()) {
    return Fail(ErrorCode::kUsage, "needs a whole level and problem_id, and texts for name and code");
  }
  std::string name = row["name"].get<std::string>();
  const std::string number = std::to_string(row["problem_id"].get<int64_t>());
  if (!name.starts_with(number + "_")) name = number + "_" + name;
  if (!name.ends_with(".py")) name += ".py";
  if (!IsFileName(name)) return Fail(ErrorCode::kUsage, "has a name that is no file name");
  const fs::path path = fs::path(fmt::format("level{}", row["level"].get<int64_t>())) / name;
  if (!files->emplace(path, row["code"].get<std::string>()).second) {
    return Fail(ErrorCode::kUsage, fmt::format("is a second {}", path.string()));
  }
  return {};
}

Status AddRows(const fs::path& source, const std::string& text, Files* files) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (const Status added = AddRow(line, files); !added) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: row {} {}", source.string(), number, added.error().message));
    }
  }
  return {};
}

// Each file appears whole, so a run that was cut off leaves nothing that a later one would take for all of it.
Status Unpack(const Files& files, const fs::path& directory) {
  std::error_code error;
  for (const auto& [path, text] : files) {
    fs::create_directories((directory / path).parent_path(), error);
    if (error) return Fail(ErrorCode::kEngine, fmt::format("cannot make {}: {}", directory.string(), error.message()));
    KB_RETURN_IF_ERROR(WriteFileAtomic(directory / path, text));
  }
  return {};
}

}  // namespace

Result<fs::path> OpenProblems(const fs::path& given, const fs::path& cache, const ReadParquet& read_parquet) {
  std::error_code ignored;
  if (!fs::exists(given, ignored))
    return Fail(ErrorCode::kUsage, fmt::format("{}: no such file or directory", given.string()));
  std::vector<fs::path> exports;
  if (fs::is_directory(given, ignored)) {
    for (const fs::path& place : {given, given / "KernelBench"}) {
      if (HasLevels(place)) return fs::absolute(place);
    }
    for (const auto& entry : fs::recursive_directory_iterator(given, ignored)) {
      if (IsExport(entry.path())) exports.push_back(entry.path());
    }
    std::sort(exports.begin(), exports.end());
  } else if (IsExport(given)) {
    exports.push_back(given);
  }
  if (exports.empty()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} holds no problems: give a directory with level1/, level2/ ..., or the "
                            "dataset as .jsonl or .parquet",
                            given.string()));
  }
  Files files;
  Hasher hasher;
  for (const fs::path& path : exports) {
    KB_ASSIGN_OR_RETURN(const std::string text, path.extension() == ".parquet" ? read_parquet(path) : ReadFile(path));
    KB_RETURN_IF_ERROR(AddRows(path, text, &files));
    hasher.Add(text);
  }
  const fs::path directory = cache / "problems" / hasher.Hex().substr(0, 32);
  KB_RETURN_IF_ERROR(Unpack(files, directory));
  return directory;
}

}  // namespace kb

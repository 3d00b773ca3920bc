#include "judge/problem/problem_index.h"

#include <map>
#include <memory>
#include <mutex>

#include "base/file.h"

namespace kb {

using nlohmann::json;

namespace {

// Parsed once for as long as the file stays the same: it is asked for in every evaluation.
std::shared_ptr<const json> ReadIndex(const std::filesystem::path& path) {
  struct Known {
    std::filesystem::file_time_type written;
    std::shared_ptr<const json> index;
  };
  static std::mutex mutex;
  static std::map<std::filesystem::path, Known> known;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) return nullptr;
  const std::lock_guard lock(mutex);
  Known& entry = known[path];
  if (entry.index == nullptr || entry.written != written) {
    const auto text = ReadFile(path);
    if (!text) return nullptr;
    entry = {written, std::make_shared<const json>(json::parse(*text, nullptr, false))};
  }
  return entry.index;
}

}  // namespace

json IndexEntry(const std::filesystem::path& problem_file, const std::string& name) {
  // problems/level1/19_ReLU.py, problems/v3/level1/1_X.py
  for (auto directory = problem_file.parent_path(); directory.has_relative_path();
       directory = directory.parent_path()) {
    const auto index = ReadIndex(directory / "index.json");
    if (index != nullptr) return index->is_object() ? index->value(name, json::object()) : json::object();
  }
  return json::object();
}

json MeasuredFigures(const std::filesystem::path& problem_file, const std::string& name, const std::string& size) {
  return IndexEntry(problem_file, name).value("sizes", json::object()).value(size, json::object());
}

}  // namespace kb

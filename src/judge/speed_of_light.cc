#include "judge/speed_of_light.h"

#include <algorithm>
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

json SpeedOfLight(const json& figures, const json& device_info, const std::string& precision, double candidate_us) {
  const json rates = device_info.value("rates", json::object());
  const double copy = device_info.value("copy_gb_s", 0.0);
  if (!figures.contains("input_bytes") || copy <= 0 || candidate_us <= 0) return nullptr;
  const double narrow = precision == "fp32" ? 1 : 0.5;
  const double bytes = narrow * (figures.at("input_bytes").get<double>() + figures.at("parameter_bytes").get<double>() +
                                 figures.at("output_bytes").get<double>());
  const double products = figures.value("matrix_flops", 0.0), others = figures.value("flops", 0.0) - products;
  const double vector_rate = rates.value("fp32", 0.0), rate = rates.value(precision, vector_rate);
  json told = {{"memory_us", bytes / copy / 1e3}, {"compute_us", nullptr}, {"rate", precision}};
  double least = told["memory_us"];
  told["bound"] = "memory";
  if (rate > 0 && vector_rate > 0) {
    const double compute_us = (products / rate + std::max(0.0, others) / vector_rate) / 1e6;
    told["compute_us"] = compute_us;
    if (compute_us > least) told["bound"] = "compute";
    least = std::max(least, compute_us);
  }
  told["us"] = least;
  told["fraction"] = least / candidate_us;
  return told;
}

}  // namespace kb

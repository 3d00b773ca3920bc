#include "judge/build/build_cache.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// What a killed engine left half written is older than any build may take.
void SweepCache(const fs::path& directory) {
  std::error_code ignored;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string extension = entry.path().extension();
    if (extension == ".json" || extension == ".so" || entry.is_directory(ignored)) continue;
    if (entry.last_write_time(ignored) < old) fs::remove(entry.path(), ignored);
  }
}

}  // namespace

Result<BuildCache> BuildCache::Open(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot make the build cache {}: {}; set KERNELBENCH_CACHE to a directory "
                            "that can be written",
                            directory.string(), error.message()));
  }
  SweepCache(directory);
  return BuildCache(directory);
}

std::optional<BuildResult> BuildCache::Find(const std::string& key) const {
  const auto text = ReadFile(directory_ / (key + ".json"), 64 << 20);
  if (!text) return std::nullopt;
  const json entry = json::parse(*text, nullptr, false);
  // A damaged file may still be JSON; what is of another form counts as absent.
  const auto field = [&](const char* name) { return entry.is_object() ? entry.value(name, json()) : json(); };
  if (!field("ok").is_boolean() || !field("log").is_string() || !field("seconds").is_number()) return std::nullopt;
  BuildResult result;
  if (field("compiler").is_string()) result.compiler = entry["compiler"];
  result.ok = entry["ok"];
  result.log = entry["log"];
  result.seconds = entry["seconds"];
  result.cached = true;
  if (!result.ok) return result;
  result.artifact = directory_ / (key + ".so");
  const auto artifact = ReadFile(result.artifact);
  if (!artifact || Sha256(*artifact) != field("sha256")) return std::nullopt;
  return result;
}

Result<BuildResult> BuildCache::Put(const std::string& key, BuildResult result, std::string_view artifact) const {
  if (!result.conclusive()) return result;
  json entry = {{"ok", result.ok}, {"log", result.log}, {"seconds", result.seconds}, {"compiler", result.compiler}};
  if (result.ok) {
    result.artifact = directory_ / (key + ".so");
    entry["sha256"] = Sha256(artifact);
    KB_RETURN_IF_ERROR(WriteFileAtomic(result.artifact, artifact));
  }
  KB_RETURN_IF_ERROR(
      WriteFileAtomic(directory_ / (key + ".json"), entry.dump(-1, ' ', false, json::error_handler_t::replace)));
  return result;
}

}  // namespace kb

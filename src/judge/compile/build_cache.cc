#include "judge/compile/build_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/temp_dir.h"
#include "judge/compile/cache_room.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kResult = "result.json";
constexpr int kAttempts = 8;  // each is lost only to another process that does the same in the same microseconds

// Locks the file `used` of an entry together with others. False if somebody is removing the entry, or has.
bool HoldsEntry(int fd, const fs::path& used) {
  // On a file system without locks nothing is ever removed.
  const bool locked = flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  return locked && IsStill(fd, used);
}

tl::unexpected<Error> CannotWrite(const fs::path& directory, const std::string& why) {
  return Fail(ErrorCode::kUnavailable,
              fmt::format("cannot write the build cache {}: {}; make room there, or set KERNELBENCH_CACHE to a "
                          "directory that can be written",
                          directory.string(), why));
}

tl::unexpected<Error> DamagedInUse(const fs::path& directory, const std::string& name) {
  return Fail(
      ErrorCode::kUnavailable,
      fmt::format("the entry {} of the build cache {} is damaged, and another engine uses it; end that one, then "
                  "run kernelbench cache clear",
                  name, directory.string()));
}

// An entry that is being filled.
struct Draft {
  TempDir folder;
  CacheHold hold;
};

Result<Draft> MakeDraft(const fs::path& directory) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto folder = TempDir::Create("new", directory.string());
    if (!folder) return CannotWrite(directory, folder.error().message);
    const fs::path used = folder->path() / kUsedFile;
    auto hold = std::make_shared<const Fd>(open(used.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!hold->valid() && errno != ENOENT) return CannotWrite(directory, strerror(errno));
    // Until it is locked, it looks like one that was left behind.
    if (hold->valid() && HoldsEntry(hold->get(), used)) return Draft{std::move(*folder), std::move(hold)};
  }
  return CannotWrite(directory, "another process removes what is new there");
}

}  // namespace

fs::path BuildCache::DefaultDirectory() { return CacheDirectory() / "builds"; }

Result<BuildCache> BuildCache::Open(const fs::path& directory, uint64_t quota_bytes) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot make the build cache {}: {}; set KERNELBENCH_CACHE to a directory "
                            "that can be written",
                            directory.string(), error.message()));
  }
  return BuildCache(directory, quota_bytes);
}

std::optional<CacheEntry> BuildCache::Hold(const std::string& name, const std::string& file) const {
  const fs::path folder = directory_ / name, used = folder / kUsedFile;
  auto hold = std::make_shared<const Fd>(open(used.c_str(), O_RDONLY | O_CLOEXEC));
  if (!hold->valid() || !HoldsEntry(hold->get(), used)) return std::nullopt;
  (void)futimens(hold->get(), nullptr);  // a cache that cannot be written keeps the times it has
  std::error_code error;
  if (!fs::exists(folder / file, error)) return std::nullopt;
  return CacheEntry{folder, std::move(hold)};
}

std::optional<BuildResult> BuildCache::Find(const std::string& key) const {
  auto held = Hold(key, kResult);
  if (!held) return std::nullopt;
  const auto text = ReadFile(held->folder / kResult, 64 << 20);
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
  result.artifact = held->folder / (key + ".so");
  result.hold = std::move(held->hold);
  const auto artifact = ReadFile(result.artifact);
  if (!artifact || Sha256(*artifact) != field("sha256")) return std::nullopt;
  return result;
}

Result<BuildResult> BuildCache::Put(const std::string& key, BuildResult result, std::string_view artifact) const {
  if (!result.conclusive()) return result;
  json entry = {{"ok", result.ok}, {"log", result.log}, {"seconds", result.seconds}, {"compiler", result.compiler}};
  std::vector<CacheFile> files;
  if (result.ok) {
    entry["sha256"] = Sha256(artifact);
    files.emplace_back(key + ".so", artifact);
  }
  const std::string text = Dump(entry);
  files.emplace_back(kResult, text);
  KB_ASSIGN_OR_RETURN(const Published kept, Publish(key, files));
  if (!kept.ours) {  // built by two at the same time
    if (auto found = Find(key)) return *std::move(found);
    return DamagedInUse(directory_, key);
  }
  if (!result.ok) return result;
  result.artifact = kept.entry.folder / (key + ".so");
  result.hold = kept.entry.hold;
  return result;
}

Result<CacheEntry> BuildCache::Keep(const std::string& name, const std::vector<CacheFile>& files) const {
  KB_ASSIGN_OR_RETURN(Published kept, Publish(name, files));
  std::error_code error;
  if (!kept.ours && !fs::exists(kept.entry.folder / files.front().first, error)) {
    return DamagedInUse(directory_, name);
  }
  return std::move(kept.entry);
}

Result<BuildCache::Published> BuildCache::Publish(const std::string& name, const std::vector<CacheFile>& files) const {
  KB_ASSIGN_OR_RETURN(Draft draft, MakeDraft(directory_));
  for (const auto& [file, contents] : files) {
    const fs::path path = draft.folder.path() / file;
    std::error_code error;  // WriteFileAtomic() meets it again
    fs::create_directories(path.parent_path(), error);
    KB_RETURN_IF_ERROR(WriteFileAtomic(path, contents));
  }
  // Compilers, which may be another user, read some.
  if (chmod(draft.folder.path().c_str(), 0755) != 0) return CannotWrite(directory_, strerror(errno));
  const fs::path folder = directory_ / name;
  constexpr int kPatience = 200;  // of 5 ms each, for another process that is removing what is there
  int failure = 0;
  for (int attempt = 0; attempt < kPatience; ++attempt) {
    if (rename(draft.folder.path().c_str(), folder.c_str()) == 0) {
      draft.folder.Release();
      Grew(DiskBytes(folder));
      return Published{{folder, std::move(draft.hold)}, true};
    }
    failure = errno;
    if (failure != ENOTEMPTY && failure != EEXIST) break;
    if (RemoveEntry(directory_, name).outcome == Removal::kGone) continue;
    if (auto held = Hold(name, "")) return Published{*std::move(held), false};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return CannotWrite(directory_, fmt::format("entry {}: {}", name, strerror(failure)));
}

void BuildCache::MakeRoomAgain() const {
  const std::lock_guard lock(growth_->mutex);
  if (growth_->ever) MakeRoom(directory_, quota_bytes_);
}

void BuildCache::Grew(uint64_t bytes) const {
  const std::lock_guard lock(growth_->mutex);
  growth_->bytes += bytes;
  growth_->ever = true;
  if (growth_->bytes < growth_->look_at) return;
  const uint64_t left = MakeRoom(directory_, quota_bytes_);
  growth_->bytes = 0;
  // Others store, too: so it looks again long before this engine alone could have filled a large cache.
  growth_->look_at = quota_bytes_ == 0 ? left : std::min(left, quota_bytes_ / 16);
}

}  // namespace kb

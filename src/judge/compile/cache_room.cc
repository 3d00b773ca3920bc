#include "judge/compile/cache_room.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/clock.h"
#include "base/fd.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNew = "new.", kTrash = "trash.";
constexpr uint64_t kBlock = 4096;
constexpr int64_t kDay = 24 * 60 * 60;

bool IsHex(std::string_view text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// What follows `prefix` in `name`; nothing if it begins otherwise.
std::optional<std::string_view> After(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) ? std::optional(name.substr(prefix.size())) : std::nullopt;
}

bool IsEntry(std::string_view name) {
  const auto header = After(name, "pch-"), lean = After(name, "lean-");
  return IsHex(name, 64) || (header && IsHex(*header, 32)) || (lean && IsHex(*lean, 16));
}

bool IsDraft(std::string_view name) { return name.size() == kNew.size() + 6 && name.starts_with(kNew); }

bool IsTrash(std::string_view name) {
  const auto of = After(name, kTrash);
  return of && (IsEntry(*of) || IsDraft(*of));
}

// Marks of flags that came once, and entries as they were before they had folders.
bool IsOtherFile(std::string_view name) {
  const size_t dot = name.find('.');
  const std::string_view extension = dot == std::string_view::npos ? "" : name.substr(dot);
  const bool known =
      extension == ".seen" || extension == ".so" || extension.starts_with(".so.") || extension.starts_with(".json");
  return known && IsEntry(name.substr(0, dot));
}

std::vector<std::string> NamesIn(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  return names;
}

int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

void RemoveLeftovers(const fs::path& directory) {
  std::error_code ignored;
  for (const std::string& name : NamesIn(directory)) {
    if (IsTrash(name)) fs::remove_all(directory / name, ignored);
    if (IsDraft(name)) RemoveEntry(directory, name);  // one that is being filled is in use
    struct stat info {};
    if (IsOtherFile(name) && stat((directory / name).c_str(), &info) == 0 && info.st_mtime < UtcSeconds() - kDay) {
      fs::remove(directory / name, ignored);
    }
  }
}

}  // namespace

bool IsStill(int fd, const fs::path& path) {
  struct stat open {
  }, there{};
  return fstat(fd, &open) == 0 && stat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

uint64_t DiskBytes(const fs::path& folder) {
  uint64_t bytes = kBlock;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error); !error && entry != fs::recursive_directory_iterator();
       entry.increment(error)) {
    std::error_code none;  // of a folder
    const uint64_t size = entry->file_size(none);
    bytes += none ? kBlock : (size + kBlock - 1) / kBlock * kBlock;
  }
  return bytes;
}

std::vector<CachedEntry> CachedEntries(const fs::path& directory) {
  std::vector<CachedEntry> entries;
  for (const std::string& name : NamesIn(directory)) {
    struct stat info {};
    const fs::path folder = directory / name;
    if (!IsEntry(name) || stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    (void)stat((folder / kUsedFile).c_str(), &info);  // one that has none is as old as its folder
    entries.push_back({name, DiskBytes(folder), Nanoseconds(info.st_mtim)});
  }
  std::sort(entries.begin(), entries.end(), [](const CachedEntry& a, const CachedEntry& b) {
    return std::tie(a.used_ns, a.name) < std::tie(b.used_ns, b.name);
  });
  return entries;
}

std::vector<std::string> ForeignNames(const fs::path& directory) {
  std::vector<std::string> names = NamesIn(directory);
  std::erase_if(names, [](const std::string& name) {
    return IsEntry(name) || IsDraft(name) || IsTrash(name) || IsOtherFile(name);
  });
  std::sort(names.begin(), names.end());
  return names;
}

Removal RemoveEntry(const fs::path& directory, const std::string& name) {
  const fs::path folder = directory / name, used = folder / kUsedFile;
  const fs::path trash = directory / (std::string(kTrash) + name);
  // An entry without this file gets one: without the lock a whole entry that took its place meanwhile might go.
  const Fd lock(open(used.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return errno == ENOENT ? Removal{Removal::kGone, ""} : Removal{Removal::kFailed, strerror(errno)};
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? Removal{Removal::kInUse, ""} : Removal{Removal::kFailed, strerror(errno)};
  }
  if (!IsStill(lock.get(), used)) return {Removal::kGone, ""};
  std::error_code error;
  fs::remove_all(trash, error);  // of one that was killed
  if (rename(folder.c_str(), trash.c_str()) != 0) return {Removal::kFailed, strerror(errno)};
  fs::remove_all(trash, error);
  return error ? Removal{Removal::kFailed, error.message()} : Removal{Removal::kGone, ""};
}

RemovedEntries RemoveEntries(const fs::path& directory, uint64_t bytes) {
  RemoveLeftovers(directory);
  const std::vector<CachedEntry> entries = CachedEntries(directory);
  RemovedEntries removed;
  for (const CachedEntry& entry : entries) removed.left_bytes += entry.bytes;
  for (const CachedEntry& entry : entries) {
    if (removed.left_bytes <= bytes) break;
    const Removal removal = RemoveEntry(directory, entry.name);
    if (removal.outcome == Removal::kGone) {
      ++removed.entries;
      removed.bytes += entry.bytes;
      removed.left_bytes -= entry.bytes;
    } else if (removal.outcome == Removal::kInUse) {
      ++removed.in_use;
      removed.in_use_bytes += entry.bytes;
    } else if (removed.failure.empty()) {
      removed.failure = entry.name + ": " + removal.why;
    }
  }
  return removed;
}

uint64_t MakeRoom(const fs::path& directory, uint64_t quota_bytes) {
  const Fd door(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (door.valid() && flock(door.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return 0;
  if (quota_bytes == 0) {
    RemoveLeftovers(directory);
    return UINT64_MAX;
  }
  uint64_t all = 0;
  for (const CachedEntry& entry : CachedEntries(directory)) all += entry.bytes;
  if (all > quota_bytes) {
    all = RemoveEntries(directory, quota_bytes - quota_bytes / 10).left_bytes;
  } else {
    RemoveLeftovers(directory);
  }
  return quota_bytes - std::min(all, quota_bytes);
}

}  // namespace kb

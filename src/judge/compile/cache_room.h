// How full the build cache is, and room in it. build_cache.h says what lies there; names that it does not give are left
// alone, so that a directory that is no cache loses nothing.
#ifndef JUDGE_COMPILE_CACHE_ROOM_H_
#define JUDGE_COMPILE_CACHE_ROOM_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kb {

inline constexpr char kUsedFile[] = "used";

// Whether `path` still is the open file `fd`.
bool IsStill(int fd, const std::filesystem::path& path);

// What a folder takes of a disk, counted in blocks of 4 KiB.
uint64_t DiskBytes(const std::filesystem::path& folder);

struct CachedEntry {
  std::string name;
  uint64_t bytes = 0;
  int64_t used_ns = 0;  // when it was last used, since 1970
};
// Least recently used first.
std::vector<CachedEntry> CachedEntries(const std::filesystem::path& directory);
// What lies there beside entries, finished or not.
std::vector<std::string> ForeignNames(const std::filesystem::path& directory);

struct Removal {
  enum Outcome { kGone, kInUse, kFailed } outcome;
  std::string why;  // it failed
};
Removal RemoveEntry(const std::filesystem::path& directory, const std::string& name);

struct RemovedEntries {
  uint64_t entries = 0, bytes = 0;
  uint64_t in_use = 0, in_use_bytes = 0;  // what would have gone, and is in use
  uint64_t left_bytes = 0;                // all that stays
  std::string failure;                    // why something could not be removed; empty: it could
};
// Removes what killed processes left, then entries, least recently used first, until all take at most `bytes`. Any
// number of processes may do so at the same time.
RemovedEntries RemoveEntries(const std::filesystem::path& directory, uint64_t bytes);

// Makes room if there is more than `quota_bytes` (0: no limit): entries go until a tenth is free, so that not every
// build makes room. Returns what is left of the quota. One process at a time; while another one is at it, nothing is
// done here.
uint64_t MakeRoom(const std::filesystem::path& directory, uint64_t quota_bytes);

}  // namespace kb

#endif  // JUDGE_COMPILE_CACHE_ROOM_H_

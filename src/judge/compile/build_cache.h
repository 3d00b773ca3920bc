// Finished builds by content, shared by all engines of a user.
//
// Theory of operation. An entry is a folder, NAME. It is filled as new.XXXXXX and then renamed, so it is there whole or
// not at all, and what is in it never changes; one that does not match its own checksum is built again. Its file `used`
// is locked, together with others, by whoever uses the entry, and has the time of the last use. To remove an entry one
// locks that file alone, without waiting, renames the folder to trash.NAME, which nobody reads, and deletes that
// (cache_room.h). Locks end with their holders: an engine that is killed leaves at most a new.* that nobody locks and a
// trash.*, and the next one that makes room removes both.
#ifndef JUDGE_COMPILE_BUILD_CACHE_H_
#define JUDGE_COMPILE_BUILD_CACHE_H_

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace kb {

// While one of an entry lives, nobody removes it.
using CacheHold = std::shared_ptr<const Fd>;

// What came of one compilation. A compilation that failed is a result like any other.
struct BuildResult {
  bool ok = false;
  bool timed_out = false;
  bool killed = false;         // not by its own doing, for all we know
  bool out_of_memory = false;  // more might have been enough
  std::string log;             // everything the compiler said
  double seconds = 0;
  bool cached = false;
  std::string compiler;            // what built it, with its version
  std::filesystem::path artifact;  // the shared object, if ok
  CacheHold hold;                  // of the artifact

  // Whether it ended as it would at any time, on any machine with this compiler.
  bool conclusive() const { return !timed_out && !killed && !out_of_memory; }
};

struct CacheEntry {
  std::filesystem::path folder;
  CacheHold hold;
};

// A file of an entry: its path below the entry's folder, and its contents.
using CacheFile = std::pair<std::string, std::string_view>;

class BuildCache {
 public:
  // Where the builds of this user are.
  static std::filesystem::path DefaultDirectory();
  // Makes the directory if it is not there. What is stored later makes room, so that all of it takes at most
  // `quota_bytes` (0: no limit), but for what is in use.
  static Result<BuildCache> Open(const std::filesystem::path& directory, uint64_t quota_bytes = 0);

  std::optional<BuildResult> Find(const std::string& key) const;
  // What is not conclusive is not kept: the machine may only have been busy, or the limit of memory small.
  Result<BuildResult> Put(const std::string& key, BuildResult result, std::string_view artifact) const;

  // Any other entry: found if it has `file`, or made of `files`. Where another process has made it meanwhile, that one.
  std::optional<CacheEntry> Hold(const std::string& name, const std::string& file) const;
  Result<CacheEntry> Keep(const std::string& name, const std::vector<CacheFile>& files) const;
  // Makes room if this engine has stored anything: what was in use then may not be any more.
  void MakeRoomAgain() const;

  const std::filesystem::path& directory() const { return directory_; }

 private:
  // What this engine has stored since it last looked at the whole.
  struct Growth {
    std::mutex mutex;
    uint64_t bytes = 0;
    bool ever = false;
    uint64_t look_at = 0;  // so many bytes are a reason to look again
  };

  BuildCache(std::filesystem::path directory, uint64_t quota_bytes)
      : directory_(std::move(directory)), quota_bytes_(quota_bytes) {}
  // The entry of that name, in use now: of `files` (`ours`), or another process's that was in use before. What was
  // there and not in use is replaced.
  struct Published {
    CacheEntry entry;
    bool ours;
  };
  Result<Published> Publish(const std::string& name, const std::vector<CacheFile>& files) const;
  void Grew(uint64_t bytes) const;

  std::filesystem::path directory_;
  uint64_t quota_bytes_;
  std::shared_ptr<Growth> growth_ = std::make_shared<Growth>();
};

}  // namespace kb

#endif  // JUDGE_COMPILE_BUILD_CACHE_H_

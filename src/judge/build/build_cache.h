// Finished builds by content: KEY.json says how it went, KEY.so is the result. Entries appear whole or not at all; one
// that no longer matches its own checksum is built again.
#ifndef JUDGE_BUILD_BUILD_CACHE_H_
#define JUDGE_BUILD_BUILD_CACHE_H_

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace kb {

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

  // Whether it ended as it would at any time, on any machine with this compiler.
  bool conclusive() const { return !timed_out && !killed && !out_of_memory; }
};

class BuildCache {
 public:
  static Result<BuildCache> Open(const std::filesystem::path& directory);

  std::optional<BuildResult> Find(const std::string& key) const;
  // What is not conclusive is not kept: the machine may only have been busy, or the limit of memory small.
  Result<BuildResult> Put(const std::string& key, BuildResult result, std::string_view artifact) const;
  const std::filesystem::path& directory() const { return directory_; }

 private:
  explicit BuildCache(std::filesystem::path directory) : directory_(std::move(directory)) {}
  std::filesystem::path directory_;
};

}  // namespace kb

#endif  // JUDGE_BUILD_BUILD_CACHE_H_

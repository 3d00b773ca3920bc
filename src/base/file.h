// Whole files, private temporary directories, and writes that appear at once or not at all.
#ifndef BASE_FILE_H_
#define BASE_FILE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kb {

// Reads at most `limit` bytes; a longer file is a usage error that names the limit.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t limit = size_t{256} << 20);

// Writes beside `path`, then renames: readers see the old contents or the new, never a part.
Status WriteFileAtomic(const std::filesystem::path& path, std::string_view contents);

// A directory of mode 0700 under $TMPDIR (or /tmp), removed with all it holds when the object goes.
class TempDir {
 public:
  // In `parent`, or where that is empty in $TMPDIR or /tmp.
  static Result<TempDir> Create(std::string_view prefix, const std::string& parent = "");
  TempDir(const TempDir&) = delete;  // the directory has one owner
  TempDir& operator=(const TempDir&) = delete;
  TempDir(TempDir&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();

  const std::filesystem::path& path() const { return path_; }
  // It was moved and is temporary no more.
  void Release() { path_.clear(); }

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// The first executable of that name in $PATH, absolute. A name with a slash is a path of its own.
std::optional<std::string> FindProgram(const std::string& name);

// $XDG_CACHE_HOME/kernelbench or ~/.cache/kernelbench; KERNELBENCH_CACHE overrides it.
std::filesystem::path CacheDirectory();

// Where this installation keeps its data (problems, protocols, prompts, examples, python): beside the running
// executable, found through /proc/self/exe, either in an installed tree (bin/.. + share/kernelbench) or in a source
// checkout.
struct Installation {
  std::filesystem::path libexec;   // runner and helper programs, libraries
  std::filesystem::path include;   // holds kernelbench/kernel.h
  std::filesystem::path python;    // holds kernelbench_torch/
  std::filesystem::path problems;  // holds level1/ ...
  std::filesystem::path protocols;
  std::filesystem::path prompts;
  std::filesystem::path examples;  // candidates that prompts show
  std::filesystem::path models;    // holds prices.toml
};
Result<Installation> FindInstallation();

}  // namespace kb

#endif  // BASE_FILE_H_

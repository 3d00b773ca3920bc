// Private temporary directories.
#ifndef BASE_TEMP_DIR_H_
#define BASE_TEMP_DIR_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace kb {

// A directory of mode 0700 under $TMPDIR (or /tmp), removed with all it holds when the object goes, whoever wrote
// there, however deep and whatever the modes. No links are followed.
class TempDir {
 public:
  // In `parent`, or where that is empty in $TMPDIR or /tmp.
  static Result<TempDir> Create(std::string_view prefix, const std::string& parent = "");
  // The same, and SweepHeld() of any process leaves it alone as long as this one lives.
  static Result<TempDir> CreateHeld(std::string_view prefix, const std::string& parent = "");
  // Removes what CreateHeld() made and nobody holds any more, for its process was killed. Directories whose owner
  // `is_ours` does not know stay.
  static void SweepHeld(std::string_view prefix, const std::string& parent, bool (*is_ours)(uid_t owner));

  TempDir(const TempDir&) = delete;  // the directory has one owner
  TempDir& operator=(const TempDir&) = delete;
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();

  const std::filesystem::path& path() const { return path_; }
  // It was moved and is temporary no more.
  void Release() { path_.clear(); }

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  Fd lock_;
};

// Removes all that an open directory holds, as that is removed.
void EmptyDirectory(int directory);

}  // namespace kb

#endif  // BASE_TEMP_DIR_H_

// The task folder of an agent, as the engine sees it from outside while hostile programs inside may change it. No path
// leads out of it, no link is followed, nothing blocks, and all that is read is bounded.
//
// Errors are texts for a model: what is wrong, and what to do next. Their code is kUsage.
#ifndef AGENTS_FOLDER_H_
#define AGENTS_FOLDER_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "judge/candidate/folder.h"

namespace kb {

inline constexpr const char* kTaskFolder = "/task";  // where the box has it

struct FolderLimits {
  size_t file_bytes = size_t{4} << 20;       // of one file that is written or edited
  size_t read_bytes = size_t{16} << 20;      // of one file that is read
  size_t shown_bytes = size_t{48} << 10;     // of an answer
  size_t line_bytes = 2000;                  // of a line in it
  size_t listed = 1000;                      // entries of an answer
  size_t visited = 20'000;                   // entries that are looked at
  size_t snapshot_bytes = size_t{64} << 20;  // of all files of a snapshot
};

// Regular files, by path. Empty folders are no part of it.
struct Snapshot {
  struct File {
    std::string path;
    unsigned mode = 0;  // permissions
    uint64_t bytes = 0;
    std::string sha256;
  };
  struct LeftOut {
    std::string path, why;
    uint64_t bytes = 0;  // of a file for which there was no room
  };
  std::vector<File> files;  // sorted
  std::vector<LeftOut> left_out;
  std::map<std::string, std::string> contents;  // by hash
};

class Folder {
 public:
  // `user`: whose files those inside are; 0: ours. How much the folder may hold is for its file system to say.
  Folder(Fd root, uid_t user, FolderLimits limits = {});

  // Paths are relative to the folder, or begin with /task.

  // What is below `path`, sorted, with sizes: at most `limits.listed` entries; says what it leaves out.
  Result<std::string> List(const std::string& path) const;
  // Lines from `first` (from 1) on, under a line that says which they are of how many.
  Result<std::string> Read(const std::string& path, size_t first = 1, size_t lines = 2000) const;
  // Makes the file anew, and the folders above it. A file that was there is replaced at once or not at all; it keeps
  // its permissions.
  Status Write(const std::string& path, std::string_view contents);
  // Replaces `before`, which must occur exactly once.
  Status Edit(const std::string& path, std::string_view before, std::string_view after);

  // What is submitted as a candidate: a file, or a folder with model_new.py.
  Result<CandidateText> Candidate(const std::string& path) const;

  Result<Snapshot> Take() const;
  // Empties the folder and makes what `snapshot` holds. To be called while nothing runs inside.
  Status Restore(const Snapshot& snapshot);

 private:
  struct Opened {
    Fd fd;
    uint64_t bytes = 0;
    unsigned mode = 0, links = 0;
  };
  Result<Fd> Open(const std::string& path, int flags) const;
  Result<Opened> OpenFile(const std::string& path, const std::string& name) const;
  Result<std::string> ReadText(const std::string& path, size_t most, unsigned* mode) const;
  Result<Fd> MakeFolders(const std::string& path) const;
  Status WriteFile(const std::string& path, std::string_view contents, unsigned mode) const;
  Error Full(const std::string& path) const;

  Fd root_;
  uid_t user_;
  FolderLimits limits_;
};

}  // namespace kb

#endif  // AGENTS_FOLDER_H_

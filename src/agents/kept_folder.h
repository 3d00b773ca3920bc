// What the store keeps of an agent's folder, turn by turn. Contents are kept for ever, so an episode may add only so
// much: what would be too much is not kept, the model is told, and the work goes on.
#ifndef AGENTS_KEPT_FOLDER_H_
#define AGENTS_KEPT_FOLDER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agents/folder.h"
#include "store/store.h"

namespace kb {

// Four times the most that a folder holds at a time. Agents seldom add more than one MiB.
inline constexpr uint64_t kMostKeptBytes = uint64_t{256} << 20;

std::vector<TurnFile> AllFiles(const Snapshot& snapshot);

class KeptFolder {
 public:
  // `most`: bytes that the files of one episode may take in the store, before they are compressed.
  explicit KeptFolder(uint64_t most = kMostKeptBytes) : most_(most) {}

  // Makes of `folder` what it was after that turn (0: before the first).
  Status Restore(const Store& store, int64_t request, int turn, Folder* folder);
  // What has changed since the last call and is to be stored, small files first. A file that would take more than a
  // quarter of the bytes that are left is no part of it, so there is always room for small ones: in the store it stays
  // as it was.
  Result<std::vector<TurnFile>> Changes(const Folder& folder);
  // For the model: what was not kept and why. Empty: nothing that it was not told already.
  std::string TakeNotice();

 private:
  bool Keep(const TurnFile& file);

  const uint64_t most_;
  uint64_t used_ = 0;
  std::set<std::string> hashes_;                 // of contents that the episode has stored
  std::map<std::string, Snapshot::File> files_;  // as they are stored, by path
  std::map<std::string, uint64_t> not_kept_;     // now: bytes by path
  std::vector<std::pair<std::string, uint64_t>> untold_;
};

}  // namespace kb

#endif  // AGENTS_KEPT_FOLDER_H_

#include "agents/kept_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kb {
namespace {

constexpr uint64_t kRowBytes = 256;  // of a file beside its path and its contents, at most
constexpr size_t kNamed = 20;        // files in a notice

TurnFile StoredAs(const Snapshot::File& file, const Snapshot& snapshot) {
  return {file.path, file.mode, file.sha256, snapshot.contents.at(file.sha256)};
}

}  // namespace

std::vector<TurnFile> AllFiles(const Snapshot& snapshot) {
  std::vector<TurnFile> all;
  for (const Snapshot::File& file : snapshot.files) all.push_back(StoredAs(file, snapshot));
  return all;
}

Status KeptFolder::Restore(const Store& store, int64_t request, int turn, Folder* folder) {
  KB_ASSIGN_OR_RETURN(const std::vector<TurnFile> stored, store.FolderAfter(request, turn));
  KB_ASSIGN_OR_RETURN(const auto of_all_turns, store.TurnFiles(request));
  KB_ASSIGN_OR_RETURN(const auto bytes, store.TurnFileBytes(request));
  Snapshot snapshot;
  for (const TurnFile& file : stored) {
    snapshot.files.push_back({file.path, file.mode, file.contents.size(), file.sha256});
    snapshot.contents[file.sha256] = file.contents;
    files_[file.path] = snapshot.files.back();
  }
  for (const auto& [number, file] : of_all_turns) {
    if (file.sha256.empty()) continue;
    used_ += kRowBytes + file.path.size();
    const auto contents = bytes.find(file.sha256);
    if (hashes_.insert(file.sha256).second && contents != bytes.end()) used_ += contents->second;
  }
  return folder->Restore(snapshot);
}

// Whether there is room for it, which it has then.
bool KeptFolder::Keep(const TurnFile& file) {
  const uint64_t contents = hashes_.contains(file.sha256) ? 0 : file.contents.size();
  const uint64_t bytes = kRowBytes + file.path.size() + contents;
  if (bytes > (most_ - std::min(most_, used_)) / 4) return false;
  used_ += bytes;
  hashes_.insert(file.sha256);
  return true;
}

Result<std::vector<TurnFile>> KeptFolder::Changes(const Folder& folder) {
  KB_ASSIGN_OR_RETURN(Snapshot now, folder.Take());
  std::map<std::string, uint64_t> not_kept;
  for (const Snapshot::LeftOut& left : now.left_out) {
    if (left.bytes > 0) not_kept[left.path] = left.bytes;
  }
  std::vector<TurnFile> changes;
  auto gone = files_;
  std::stable_sort(now.files.begin(), now.files.end(),
                   [](const auto& one, const auto& other) { return one.bytes < other.bytes; });
  for (const Snapshot::File& file : now.files) {
    const auto before = gone.extract(file.path);
    if (!before.empty() && before.mapped().sha256 == file.sha256 && before.mapped().mode == file.mode) continue;
    TurnFile change = StoredAs(file, now);
    if (Keep(change)) {
      files_[file.path] = file;
      changes.push_back(std::move(change));
    } else {
      not_kept[file.path] = file.bytes;
    }
  }
  for (const auto& [path, file] : gone) {  // there were as many before, so they need no room of their own
    if (not_kept.contains(path)) continue;
    files_.erase(path);
    changes.push_back({path, file.mode, "", ""});
  }
  for (const auto& each : not_kept) {
    if (!not_kept_.contains(each.first)) untold_.push_back(each);
  }
  not_kept_ = std::move(not_kept);
  return changes;
}

std::string KeptFolder::TakeNotice() {
  const auto untold = std::exchange(untold_, {});
  if (untold.empty()) return "";
  std::string names;
  for (size_t i = 0; i < std::min(untold.size(), kNamed); ++i) {
    names += fmt::format("{}{} ({} bytes)", i == 0 ? "" : ", ", untold[i].first, untold[i].second);
  }
  if (untold.size() > kNamed) names += fmt::format(" and {} more", untold.size() - kNamed);
  return fmt::format(
      "[Too large to be kept in the record of your work, which has {} of {} bytes left for files: {}. You can use "
      "these "
      "files, but if your work is interrupted they will be as they were before, or gone. Remove those that you do not "
      "need; files are kept again as soon as they are small enough.]",
      most_ - std::min(most_, used_), most_, names);
}

}  // namespace kb

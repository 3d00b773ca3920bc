#include "open_paths.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>

#include "base/fd.h"
#include "base/result.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kCloneTree = 1;      // OPEN_TREE_CLONE
constexpr unsigned kMoveEmptyPath = 4;  // MOVE_MOUNT_F_EMPTY_PATH

// The first directory on the way to `path` that is closed to others; empty: none is.
fs::path ClosedAbove(const fs::path& path) {
  fs::path part;
  for (const fs::path& name : path) {
    part /= name;
    struct stat info {};
    if (stat(part.c_str(), &info) == 0 && (info.st_mode & S_IXOTH) == 0) return part;
  }
  return {};
}

}  // namespace

void OpenPaths(const std::vector<fs::path>& paths) {
  if (geteuid() != 0) return;
  std::map<fs::path, std::vector<fs::path>> below;
  for (const fs::path& path : paths) {
    if (const fs::path closed = ClosedAbove(path); !closed.empty()) below[closed].push_back(path);
  }
  if (below.empty()) return;
  KB_CHECK(unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
  for (const auto& [closed, kept] : below) {
    std::vector<Fd> trees;
    for (const fs::path& path : kept) {
      trees.emplace_back(
          static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, path.c_str(), kCloneTree | AT_RECURSIVE | O_CLOEXEC)));
    }
    KB_CHECK(mount("tmpfs", closed.c_str(), "tmpfs", 0, "mode=0755") == 0);
    for (size_t i = 0; i < kept.size(); ++i) {
      fs::create_directories(kept[i]);
      KB_CHECK(syscall(SYS_move_mount, trees[i].get(), "", AT_FDCWD, kept[i].c_str(), kMoveEmptyPath) == 0);
    }
  }
}

}  // namespace kb

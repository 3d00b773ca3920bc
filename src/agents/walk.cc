#include "agents/walk.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace kb {
namespace {

class Walker {
 public:
  Walker(size_t most, const std::function<void(const WalkEntry&)>& visit) : left_(most), visit_(visit) {}

  void Go(Fd directory, const std::string& prefix, size_t depth) {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(directory.get()), closedir);
    if (!stream) {
      walked_.unreadable = true;
      return;
    }
    const int fd = directory.Release();
    for (const std::string& name : Names(stream.get())) {
      struct stat info {};
      if (fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;  // it has gone
      visit_({prefix + name, name, fd, info});
      if (!S_ISDIR(info.st_mode)) continue;
      if (depth == kDeepest) {
        walked_.too_deep = true;
        continue;
      }
      Fd inner(openat(fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (inner.valid()) {
        Go(std::move(inner), prefix + name + "/", depth + 1);
      } else {
        walked_.unreadable = true;
      }
    }
  }

  const Walked& walked() const { return walked_; }

 private:
  std::vector<std::string> Names(DIR* stream) {
    std::vector<std::string> names;
    while (const dirent* entry = readdir(stream)) {
      std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (left_ == 0) {
        walked_.too_many = true;
        break;
      }
      --left_;
      names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  size_t left_;
  const std::function<void(const WalkEntry&)>& visit_;
  Walked walked_;
};

}  // namespace

Walked Walk(Fd directory, size_t most, const std::function<void(const WalkEntry&)>& visit) {
  Walker walker(most, visit);
  walker.Go(std::move(directory), "", 0);
  return walker.walked();
}

}  // namespace kb

#include "base/temp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/file.h"
#include "base/random.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// Names of held directories begin with this. Locks hold on one machine, and $TMPDIR may be on several.
std::string HeldPrefix(std::string_view prefix) {
  static const std::string kMachine = ReadFile("/proc/sys/kernel/random/boot_id").value_or("").substr(0, 8);
  return fmt::format("{}-{}.", prefix, kMachine);
}

std::string ParentOf(const std::string& given) {
  if (!given.empty()) return given;
  const char* set = std::getenv("TMPDIR");
  return set != nullptr && *set != '\0' ? set : "/tmp";
}

// A directory, not a link to one.
Fd OpenDirectory(int at, const char* name) {
  return Fd(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Calls `visit` with the name of each entry.
template <typename Visit>
void ForEachEntry(int directory, Visit visit) {
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy < 0 ? nullptr : fdopendir(copy), closedir);
  while (const dirent* entry = stream ? readdir(stream.get()) : nullptr) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) visit(entry->d_name);
  }
}

// Empties `from`: files go, and directories, opened to their owner, come to the top, each under a name of its own.
// Whether that did anything: a disk that is full may have room for a move later.
bool MoveUp(int from, int top) {
  bool some = false;
  ForEachEntry(from, [&](const char* name) {
    bool gone = unlinkat(from, name, 0) == 0;
    if (!gone) {
      fchmodat(from, name, 0700, AT_SYMLINK_NOFOLLOW);  // moving a directory changes its ".."
      gone = renameat(from, name, top, fmt::format("kernelbench-{:x}", RandomBits()).c_str()) == 0;
    }
    some |= gone;
  });
  return some;
}

void RemoveTree(const fs::path& path) {
  fchmodat(AT_FDCWD, path.c_str(), 0700, AT_SYMLINK_NOFOLLOW);
  if (const Fd top = OpenDirectory(AT_FDCWD, path.c_str()); top.valid()) EmptyDirectory(top.get());
  rmdir(path.c_str());
}

}  // namespace

// Levels are brought to the top one after the other, so no path gets long and few descriptors are open.
void EmptyDirectory(int directory) {
  for (bool again = true; again;) {
    again = false;
    ForEachEntry(directory, [&](const char* name) {
      if (unlinkat(directory, name, 0) == 0) return;
      fchmodat(directory, name, 0700, AT_SYMLINK_NOFOLLOW);
      const Fd inner = OpenDirectory(directory, name);
      if (inner.valid()) again |= MoveUp(inner.get(), directory);
      again |= unlinkat(directory, name, AT_REMOVEDIR) == 0;
    });
  }
}

Result<TempDir> TempDir::Create(std::string_view prefix, const std::string& parent) {
  std::string pattern = fmt::format("{}/{}.XXXXXX", ParentOf(parent), prefix);
  if (::mkdtemp(pattern.data()) == nullptr) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot make a temporary directory {}: {}{}", pattern, strerror(errno),
                            parent.empty() ? "; free space there or set TMPDIR" : ""));
  }
  return TempDir(pattern);
}

// It gets the name that is swept when it is locked.
Result<TempDir> TempDir::CreateHeld(std::string_view prefix, const std::string& parent) {
  KB_ASSIGN_OR_RETURN(TempDir made, Create(fmt::format("new-{}", prefix), parent));
  made.lock_ = OpenDirectory(AT_FDCWD, made.path_.c_str());
  const fs::path held = fs::path(ParentOf(parent)) / fmt::format("{}{:016x}", HeldPrefix(prefix), RandomBits());
  if (!made.lock_.valid() || flock(made.lock_.get(), LOCK_SH) != 0 || rename(made.path_.c_str(), held.c_str()) != 0) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot hold a temporary directory {}: {}", held.string(), strerror(errno)));
  }
  made.path_ = held;
  return made;
}

void TempDir::SweepHeld(std::string_view prefix, const std::string& parent, bool (*is_ours)(uid_t owner)) {
  const std::string where = ParentOf(parent), begins = HeldPrefix(prefix);
  const Fd directory = OpenDirectory(AT_FDCWD, where.c_str());
  if (!directory.valid()) return;
  ForEachEntry(directory.get(), [&](const char* name) {
    if (!std::string_view(name).starts_with(begins)) return;
    const Fd found = OpenDirectory(directory.get(), name);
    struct stat info {};
    if (!found.valid() || fstat(found.get(), &info) != 0 || !is_ours(info.st_uid)) return;
    if (flock(found.get(), LOCK_EX | LOCK_NB) == 0) RemoveTree(fs::path(where) / name);
  });
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

TempDir::~TempDir() {
  if (!path_.empty()) RemoveTree(path_);
}

}  // namespace kb

#include "agents/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "agents/as_user.h"
#include "agents/walk.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/temp_dir.h"
#include "base/utf8.h"

namespace kb {
namespace {

constexpr size_t kLongestPath = 1000;
constexpr unsigned kPermissions = 0777;

tl::unexpected<Error> Refuse(std::string text) { return Fail(ErrorCode::kUsage, std::move(text)); }

// A name for an answer: it may hold whatever a program likes, such as a line of its own.
std::string Shown(std::string_view name) {
  std::string shown = ValidUtf8(name);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  }
  return shown;
}

bool IsPlain(std::string_view path) { return Shown(path) == path; }

bool IsFolderItself(const std::string& normal) { return normal.size() == 1 && normal[0] == '.'; }

// Relative to the folder, "." for itself, each part a name.
Result<std::string> Normal(const std::string& path) {
  std::string_view rest = path;
  const std::string_view task = kTaskFolder;
  if (rest.starts_with('/')) {
    if (!rest.starts_with(task) || (rest.size() > task.size() && rest[task.size()] != '/')) {
      return Refuse(fmt::format("{} is outside {}; give a path below it, or use bash for what else you may read",
                                Shown(path), kTaskFolder));
    }
    rest.remove_prefix(task.size());
  }
  if (path.size() > kLongestPath || !IsPlain(path)) {
    return Refuse(fmt::format("a path has at most {} bytes, is in UTF-8 and has no control characters", kLongestPath));
  }
  std::string normal;
  size_t parts = 0;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") return Refuse(fmt::format("{} has a .. in it; give the path from {} on", path, kTaskFolder));
    if (++parts > kDeepest) return Refuse(fmt::format("{} lies in more than {} folders", path, kDeepest));
    normal += (normal.empty() ? "" : "/") + std::string(name);
  }
  return normal.empty() ? "." : normal;
}

std::string KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "no regular file";
}

// What errno of opening `path` tells a model.
Error WhyNot(const std::string& path, int error) {
  std::string text;
  switch (error) {
    case ENOENT:
      text = fmt::format("there is no {}; list the folder to see what there is", path);
      break;
    case ELOOP:
      text = fmt::format("{} is a symbolic link or lies behind one, and links are not followed; name the file itself",
                         path);
      break;
    case ENOTDIR:
      text = fmt::format("{}: a part of the path is a file, not a folder", path);
      break;
    case EXDEV:
      text = fmt::format("{} leads out of {}", path, kTaskFolder);
      break;
    case EACCES:
    case EPERM:
      text = fmt::format("{} may not be opened; change its permissions with bash (chmod u+rwX)", path);
      break;
    case ENXIO:
      text = fmt::format("{} is a socket or a pipe, not a regular file", path);
      break;
    case ENAMETOOLONG:
      text = fmt::format("{}: a name in the path is too long", path);
      break;
    default:
      text = fmt::format("{} cannot be opened: {}", path, strerror(error));
  }
  return {ErrorCode::kUsage, std::move(text)};
}

// At most `most` bytes; nothing if there are more.
std::optional<std::string> ReadUpTo(int fd, size_t most) {
  std::string text;
  char part[1 << 16];
  for (;;) {
    const ssize_t got = read(fd, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    if (text.size() + static_cast<size_t>(got) > most) return std::nullopt;
    text.append(part, static_cast<size_t>(got));
  }
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

// "3 (lines 1, 7 and more)" for a list of three.
std::string Places(std::string_view text, std::string_view wanted) {
  constexpr size_t kNamed = 5;
  size_t count = 0, line = 1, counted = 0;
  std::string lines;
  for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) {
    line += static_cast<size_t>(
        std::count(text.begin() + static_cast<ptrdiff_t>(counted), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
    counted = at;
    if (count++ < kNamed) lines += fmt::format("{}{}", lines.empty() ? "" : ", ", line);
  }
  return fmt::format("{} times (lines {}{})", count, lines, count > kNamed ? " and more" : "");
}

}  // namespace

Folder::Folder(Fd root, uid_t user, FolderLimits limits) : root_(std::move(root)), user_(user), limits_(limits) {}

// `path` is normal.
Result<Fd> Folder::Open(const std::string& path, int flags) const {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  constexpr int kRaces = 100;  // the kernel gives up where a rename comes between
  for (int attempt = 0;; ++attempt) {
    Fd fd(static_cast<int>(syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how)));
    if (fd.valid()) return fd;
    if (errno != EAGAIN || attempt == kRaces) return tl::make_unexpected(WhyNot(path, errno));
  }
}

Result<Folder::Opened> Folder::OpenFile(const std::string& path, const std::string& name) const {
  KB_ASSIGN_OR_RETURN(Fd fd, Open(path, O_RDONLY));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return tl::make_unexpected(WhyNot(name, errno));
  if (!S_ISREG(info.st_mode)) {
    return Refuse(fmt::format("{} is {}, not a file{}", name, KindOf(info.st_mode),
                              S_ISDIR(info.st_mode) ? "; list it to see what it holds" : ""));
  }
  return Opened{std::move(fd), static_cast<uint64_t>(info.st_size), info.st_mode & kPermissions,
                static_cast<unsigned>(info.st_nlink)};
}

Result<std::string> Folder::ReadText(const std::string& path, size_t most, unsigned* mode) const {
  KB_ASSIGN_OR_RETURN(const Opened file, OpenFile(path, path));
  std::optional<std::string> text;
  if (file.bytes <= most) text = ReadUpTo(file.fd.get(), most);
  if (!text) {
    return Refuse(fmt::format("{} has {} bytes, and at most {} are read; use bash (head, tail, sed -n) for parts of it",
                              path, file.bytes, most));
  }
  *mode = file.mode;
  return std::move(*text);
}

Result<std::string> Folder::List(const std::string& given) const {
  const AsUser as_user(user_);
  KB_ASSIGN_OR_RETURN(const std::string path, Normal(given));
  KB_ASSIGN_OR_RETURN(Fd folder, Open(path, O_RDONLY));
  struct stat info {};
  if (fstat(folder.get(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Refuse(fmt::format("{} is {}; read it, or list the folder that it is in", path,
                              S_ISREG(info.st_mode) ? "a file" : KindOf(info.st_mode)));
  }
  std::string text;
  size_t shown = 0, hidden = 0;
  const std::string prefix = IsFolderItself(path) ? "" : path + "/";
  const Walked walked = Walk(std::move(folder), limits_.visited, [&](const WalkEntry& entry) {
    if (shown == limits_.listed || text.size() > limits_.shown_bytes) {
      ++hidden;
      return;
    }
    ++shown;
    const std::string name = Shown(prefix + entry.path);
    if (S_ISREG(entry.info.st_mode)) {
      text += fmt::format("{:>10} {}\n", entry.info.st_size, name);
    } else if (S_ISDIR(entry.info.st_mode)) {
      text += fmt::format("{:>10} {}/\n", "", name);
    } else {
      text += fmt::format("{:>10} {} ({})\n", "", name, KindOf(entry.info.st_mode));
    }
  });
  if (shown == 0) text = fmt::format("{} is empty\n", IsFolderItself(path) ? kTaskFolder : path);
  if (hidden > 0 || walked.too_many) {
    text += fmt::format("[{} more{} not shown; list a folder of it, or use bash]\n", hidden,
                        walked.too_many ? ", and others that were not looked at," : "");
  }
  if (walked.too_deep) text += fmt::format("[folders deeper than {} are not shown]\n", kDeepest);
  if (walked.unreadable) text += "[some folders may not be opened; change that with bash (chmod -R u+rwX)]\n";
  return text;
}

Result<std::string> Folder::Read(const std::string& given, size_t first, size_t lines) const {
  const AsUser as_user(user_);
  KB_ASSIGN_OR_RETURN(const std::string path, Normal(given));
  unsigned mode = 0;
  KB_ASSIGN_OR_RETURN(const std::string text, ReadText(path, limits_.read_bytes, &mode));
  if (text.find('\0') != text.npos) {
    return Refuse(
        fmt::format("{} is binary, {} bytes; use bash (file, xxd, objdump) to look at it", path, text.size()));
  }
  if (text.empty()) return fmt::format("{} is empty\n", path);
  const size_t count = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + (text.back() == '\n' ? 0 : 1);
  first = std::max<size_t>(first, 1);
  if (first > count) return Refuse(fmt::format("{} has {} lines; begin at one of them", path, count));
  size_t begin = 0, last = first - 1;
  for (size_t line = 1; line < first; ++line) begin = text.find('\n', begin) + 1;
  std::string shown;
  bool cut = false;
  while (begin < text.size() && last - (first - 1) < std::max<size_t>(lines, 1) && shown.size() < limits_.shown_bytes) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    shown += ValidUtf8(line.substr(0, limits_.line_bytes));
    if (line.size() > limits_.line_bytes) {
      shown += fmt::format(" [{} more bytes]", line.size() - limits_.line_bytes);
      cut = true;
    }
    if (end < text.size()) shown += '\n';
    begin = end + 1;
    ++last;
  }
  std::string head = fmt::format("{}: lines {} to {} of {}", path, first, last, count);
  if (last < count) head += fmt::format("; go on at {}", last + 1);
  if (cut) head += "; long lines are cut";
  return head + "\n" + shown;
}

Error Folder::Full(const std::string& path) const {
  struct statvfs info {};
  fstatvfs(root_.get(), &info);
  return {
      ErrorCode::kUsage,
      fmt::format("no room for {}: {} has {} of {} bytes and {} of {} files and folders; remove what you do not need",
                  path, kTaskFolder, (info.f_blocks - info.f_bfree) * info.f_frsize, info.f_blocks * info.f_frsize,
                  info.f_files - info.f_ffree, info.f_files)};
}

// The folder that a normal path lies in, made where it is not there.
Result<Fd> Folder::MakeFolders(const std::string& path) const {
  KB_ASSIGN_OR_RETURN(Fd folder, Open(".", O_RDONLY | O_DIRECTORY));
  for (size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
    const std::string above = path.substr(0, end);
    if (mkdirat(folder.get(), above.substr(above.rfind('/') + 1).c_str(), 0755) != 0 && errno != EEXIST) {
      if (errno == ENOSPC || errno == EDQUOT) return tl::make_unexpected(Full(path));
      return tl::make_unexpected(WhyNot(above, errno));
    }
    KB_ASSIGN_OR_RETURN(folder, Open(above, O_RDONLY | O_DIRECTORY));
  }
  return folder;
}

// Another file takes the name, so what else leads to the old one, a link or an open descriptor, stays as it is.
Status Folder::WriteFile(const std::string& path, std::string_view contents, unsigned mode) const {
  KB_ASSIGN_OR_RETURN(const Fd folder, MakeFolders(path));
  const std::string name = path.substr(path.rfind('/') + 1);
  struct stat before {};
  if (fstatat(folder.get(), name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(before.st_mode)) {
    return Refuse(fmt::format("{} is a folder; write to a file in it, or choose another name", path));
  }
  const std::string part = fmt::format(".kernelbench-{:016x}", RandomBits());
  const Fd file(openat(folder.get(), part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  bool done = file.valid() && WriteAll(file.get(), contents) && fchmod(file.get(), mode) == 0 &&
              renameat(folder.get(), part.c_str(), folder.get(), name.c_str()) == 0;
  if (done) return {};
  const int error = errno;
  if (file.valid()) unlinkat(folder.get(), part.c_str(), 0);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) return tl::make_unexpected(Full(path));
  return tl::make_unexpected(WhyNot(path, error));
}

Status Folder::Write(const std::string& given, std::string_view contents) {
  const AsUser as_user(user_);
  KB_ASSIGN_OR_RETURN(const std::string path, Normal(given));
  if (IsFolderItself(path)) return Refuse(fmt::format("{} is the folder itself; name a file in it", kTaskFolder));
  if (contents.size() > limits_.file_bytes) {
    return Refuse(fmt::format("{} would have {} bytes, and a file may have {}; split it, or make it with a program",
                              path, contents.size(), limits_.file_bytes));
  }
  unsigned mode = 0644;
  if (const auto before = OpenFile(path, path)) mode = before->mode | 0600;
  return WriteFile(path, contents, mode);
}

Status Folder::Edit(const std::string& given, std::string_view before, std::string_view after) {
  const AsUser as_user(user_);
  KB_ASSIGN_OR_RETURN(const std::string path, Normal(given));
  unsigned mode = 0;
  KB_ASSIGN_OR_RETURN(std::string text, ReadText(path, limits_.file_bytes, &mode));
  if (before.empty()) return Refuse("the text to replace is empty; use write_file to make a file anew");
  if (before == after) return Refuse("the text to replace and the new text are the same");
  const size_t at = text.find(before);
  if (at == text.npos) {
    return Refuse(
        fmt::format("the text to replace does not occur in {}; read the file again, spaces and line ends count", path));
  }
  if (text.find(before, at + 1) != text.npos) {
    return Refuse(fmt::format("the text to replace occurs {} in {}; give more of the lines around the one you mean",
                              Places(text, before), path));
  }
  text.replace(at, before.size(), after);
  if (text.size() > limits_.file_bytes) {
    return Refuse(fmt::format("{} would have {} bytes, and a file may have {}", path, text.size(), limits_.file_bytes));
  }
  return WriteFile(path, text, mode | 0600);
}

Result<CandidateText> Folder::Candidate(const std::string& given) const {
  const AsUser as_user(user_);
  KB_ASSIGN_OR_RETURN(const std::string path, Normal(given));
  KB_ASSIGN_OR_RETURN(Fd fd, Open(path, O_RDONLY));
  struct stat info {};
  if (fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    KB_ASSIGN_OR_RETURN(CandidateText packed, ReadCandidateFolder(std::move(fd), path));
    if (!packed.rejection.empty()) return Refuse(fmt::format("{}: {}", path, packed.rejection));
    return packed;
  }
  KB_ASSIGN_OR_RETURN(const Opened file, OpenFile(path, path));
  if (file.links > 1) return Refuse(fmt::format("{} is a link; a candidate has one name: copy it", path));
  std::optional<std::string> text;
  if (file.bytes <= kMaxPackedBytes) text = ReadUpTo(file.fd.get(), kMaxPackedBytes);
  if (!text)
    return Refuse(fmt::format("{} has {} bytes; a candidate may have {}", path, file.bytes, kMaxCandidateBytes));
  CandidateText candidate = CandidateFile(std::move(*text));
  if (!candidate.rejection.empty()) return Refuse(fmt::format("{}: {}", path, candidate.rejection));
  return candidate;
}

Result<Snapshot> Folder::Take() const {
  const AsUser as_user(user_);
  KB_ASSIGN_OR_RETURN(Fd folder, Open(".", O_RDONLY | O_DIRECTORY));
  Snapshot snapshot;
  size_t room = limits_.snapshot_bytes;
  const auto leave_out = [&](const std::string& path, std::string why) {
    if (snapshot.left_out.size() < limits_.listed) snapshot.left_out.push_back({Shown(path), std::move(why)});
  };
  std::multimap<off_t, std::string> by_size;  // the more files there is room for
  const Walked walked = Walk(std::move(folder), limits_.visited, [&](const WalkEntry& entry) {
    if (S_ISDIR(entry.info.st_mode)) return;
    if (!S_ISREG(entry.info.st_mode)) return leave_out(entry.path, KindOf(entry.info.st_mode));
    if (!IsPlain(entry.path)) return leave_out(entry.path, "its name is not plain text");
    by_size.emplace(entry.info.st_size, entry.path);
  });
  for (const auto& [size, path] : by_size) {
    const auto file = OpenFile(path, path);
    if (!file) {
      leave_out(path, file.error().message);
      continue;
    }
    std::optional<std::string> text;
    if (file->bytes <= room) text = ReadUpTo(file->fd.get(), room);
    if (!text) {
      snapshot.left_out.push_back(
          {path, fmt::format("{} bytes are too many", file->bytes), std::max<uint64_t>(file->bytes, 1)});
      continue;
    }
    room -= text->size();
    std::string hash = Sha256(*text);
    snapshot.files.push_back({path, file->mode, text->size(), hash});
    snapshot.contents.emplace(std::move(hash), std::move(*text));
  }
  if (walked.too_many) leave_out(".", fmt::format("there are more than {} files and folders", limits_.visited));
  if (walked.too_deep) leave_out(".", fmt::format("folders deeper than {}", kDeepest));
  if (walked.unreadable) leave_out(".", "folders that may not be opened");
  std::sort(snapshot.files.begin(), snapshot.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return snapshot;
}

Status Folder::Restore(const Snapshot& snapshot) {
  const AsUser as_user(user_);
  KB_ASSIGN_OR_RETURN(const Fd folder, Open(".", O_RDONLY | O_DIRECTORY));
  EmptyDirectory(folder.get());
  for (const Snapshot::File& file : snapshot.files) {
    KB_ASSIGN_OR_RETURN(const std::string path, Normal(file.path));
    const auto contents = snapshot.contents.find(file.sha256);
    KB_CHECK(contents != snapshot.contents.end());
    KB_RETURN_IF_ERROR(WriteFile(path, contents->second, file.mode & kPermissions));
  }
  return {};
}

}  // namespace kb

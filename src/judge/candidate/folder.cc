#include "judge/candidate/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <set>

#include "base/fd.h"
#include "base/file.h"
#include "base/utf8.h"
#include "judge/candidate/python_encoding.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTitle = "kernelbench folder\n";
constexpr size_t kMaxFolderNames = 2 * kMaxFolderFiles;  // of files and folders
constexpr std::string_view kBegin = "\n==> ", kComma = ", ", kEnd = " bytes <==\n";

Error Usage(std::string message) { return {ErrorCode::kUsage, std::move(message)}; }

Error TooMany() { return Usage(fmt::format("it has more than {} files or folders; leave some out", kMaxFolderFiles)); }

Error TooLarge() {
  return Usage(fmt::format("its files have more than {} bytes together; leave some out", kMaxFolderBytes));
}

// What Git, Python and editors leave in a folder. "." and ".." are among them.
bool IsLeftOut(std::string_view name) { return name.starts_with('.') || name == "__pycache__"; }

// Below the folder, in one spelling.
bool IsPath(std::string_view path) {
  if (path.empty() || path.size() > kMaxFolderPath || ValidUtf8(path) != path) return false;
  if (std::any_of(path.begin(), path.end(), [](unsigned char c) { return c < 32 || c == 127; })) return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    if (name.empty() || IsLeftOut(name)) return false;
    begin = end + 1;
  }
  return true;
}

Status CheckFile(const FolderFiles& files, const std::string& path, const std::string& text) {
  if (!IsPath(path)) {
    return tl::make_unexpected(Usage(fmt::format(
        "{} is no path of a file in it, which is relative, in UTF-8, of at most {} bytes, and has no name in it that "
        "begins with a dot or is __pycache__",
        ValidUtf8(path.substr(0, kMaxFolderPath)), kMaxFolderPath)));
  }
  for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    if (files.contains(path.substr(0, end)))
      return tl::make_unexpected(Usage(fmt::format("{} is a file and a folder", path.substr(0, end))));
  }
  if (text.find('\0') != std::string::npos || ValidUtf8(text) != text) {
    return tl::make_unexpected(Usage(fmt::format("{} is no text in UTF-8, as a candidate's files are", path)));
  }
  if (const std::string encoding = path.ends_with(".py") ? OtherEncoding(text) : ""; !encoding.empty()) {
    return tl::make_unexpected(
        Usage(fmt::format("{} says that its encoding is {}; a candidate's files are in UTF-8", path, encoding)));
  }
  return {};
}

// Folders that the paths lie in, each once.
size_t CountParents(const FolderFiles& files) {
  std::set<std::string_view> parents;
  for (const auto& [path, text] : files) {
    for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
      parents.insert(std::string_view(path).substr(0, end));
  }
  return parents.size();
}

// Reads a folder through descriptors, so that nothing in it can lead elsewhere. Its recursion ends where paths do.
class FolderReader {
 public:
  Status Read(Fd directory, const std::string& prefix) {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(directory.get()), closedir);
    if (!stream) return Failed(prefix);
    const int fd = directory.Release();
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(stream.get());
      if (entry == nullptr) return errno == 0 ? Status() : Failed(prefix);
      const std::string name = entry->d_name;
      if (IsLeftOut(name)) continue;
      KB_RETURN_IF_ERROR(Add(fd, name, prefix + name));
    }
  }

  const FolderFiles& files() const { return files_; }
  // Whether an error was of the system, and nothing is known against the folder.
  bool failed() const { return failed_; }

 private:
  Status Failed(const std::string& path) {
    failed_ = true;
    return tl::make_unexpected(Usage(fmt::format("cannot read {}: {}", path.empty() ? "it" : path, strerror(errno))));
  }

  Status Add(int directory, const std::string& name, const std::string& path) {
    if (++seen_ > kMaxFolderNames) return tl::make_unexpected(TooMany());
    KB_RETURN_IF_ERROR(CheckFile({}, path, ""));
    struct stat info {};
    if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return Failed(path);
    const bool is_folder = S_ISDIR(info.st_mode);
    if (!is_folder && !S_ISREG(info.st_mode)) return NoFile(path);
    Fd fd(openat(directory, name.c_str(),
                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (is_folder ? O_DIRECTORY : 0)));
    if (!fd.valid()) return Failed(path);
    return is_folder ? Read(std::move(fd), path + "/") : AddFile(fd.get(), path);
  }

  Status AddFile(int fd, const std::string& path) {
    struct stat info {};
    if (fstat(fd, &info) != 0) return Failed(path);
    if (!S_ISREG(info.st_mode) || info.st_nlink > 1) return NoFile(path);
    if (files_.size() == kMaxFolderFiles) return tl::make_unexpected(TooMany());
    std::string text;
    char part[1 << 16];
    for (;;) {
      const ssize_t got = read(fd, part, sizeof part);
      if (got < 0) return Failed(path);
      if (got == 0) break;
      bytes_ += static_cast<size_t>(got);
      if (bytes_ > kMaxFolderBytes) return tl::make_unexpected(TooLarge());
      text.append(part, static_cast<size_t>(got));
    }
    files_.emplace(path, std::move(text));
    return {};
  }

  static Status NoFile(const std::string& path) {
    return tl::make_unexpected(
        Usage(fmt::format("{} is a link, or no file at all; a candidate's files have one name each: copy it", path)));
  }

  FolderFiles files_;
  size_t seen_ = 0, bytes_ = 0;
  bool failed_ = false;
};

CandidateText Rejected(std::string why) { return {PackedNothing(), std::move(why)}; }

Result<CandidateText> ReadFolder(const fs::path& path) {
  Fd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.valid()) return ReadCandidateFolder(std::move(directory), path.string());
  if (errno == ENOTDIR) return Rejected("it is a link, and a candidate is a folder itself");
  return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: {}", path.string(), strerror(errno)));
}

CandidateText TooLong(size_t bytes, size_t most) {
  return CandidateText{"", fmt::format("the file is {} bytes long; a candidate may have {}", bytes, most)};
}

}  // namespace

bool IsPacked(std::string_view text) { return text.starts_with(kTitle); }

size_t MostBytes(std::string_view text) { return IsPacked(text) ? kMaxPackedBytes : kMaxCandidateBytes; }

std::string PackedNothing() { return std::string(kTitle); }

Result<std::string> Pack(const FolderFiles& files) {
  if (files.size() > kMaxFolderFiles || files.size() + CountParents(files) > kMaxFolderNames) {
    return tl::make_unexpected(TooMany());
  }
  if (!files.contains(kFolderEntry)) {
    return tl::make_unexpected(Usage(fmt::format("it has no {}, which defines ModelNew", kFolderEntry)));
  }
  std::string packed(kTitle);
  size_t bytes = 0;
  for (const auto& [path, text] : files) {
    bytes += text.size();
    if (bytes > kMaxFolderBytes) return tl::make_unexpected(TooLarge());
    KB_RETURN_IF_ERROR(CheckFile(files, path, text));
    packed += fmt::format("{}{}{}{}{}{}\n", kBegin, path, kComma, text.size(), kEnd, text);
  }
  return packed;
}

Result<FolderFiles> Unpack(std::string_view text) {
  const auto damaged = tl::make_unexpected(Usage("it begins as a packed folder and goes on as none"));
  if (!IsPacked(text) || text.size() > kMaxPackedBytes) return damaged;
  FolderFiles files;
  for (std::string_view rest = text.substr(kTitle.size()); !rest.empty();) {
    const size_t end = rest.find(kEnd), comma = rest.rfind(kComma, end);
    if (!rest.starts_with(kBegin) || end == rest.npos || comma == rest.npos || comma < kBegin.size()) return damaged;
    const std::string_view path = rest.substr(kBegin.size(), comma - kBegin.size());
    const std::string_view number = rest.substr(comma + kComma.size(), end - comma - kComma.size());
    size_t size = 0;
    std::from_chars(number.data(), number.data() + number.size(), size);
    rest.remove_prefix(end + kEnd.size());
    if (size >= rest.size()) return damaged;
    files.emplace(path, rest.substr(0, size));
    rest.remove_prefix(size + 1);
    if (files.size() > kMaxFolderFiles) return tl::make_unexpected(TooMany());
  }
  KB_ASSIGN_OR_RETURN(const std::string again, Pack(files));
  if (again != text) return damaged;  // numbers, order and what stands between have one form each
  return files;
}

Result<CandidateText> ReadCandidateText(const fs::path& path) {
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  if (there && S_ISDIR(info.st_mode)) return ReadFolder(path.has_filename() ? path : path.parent_path());
  if (there && !S_ISREG(info.st_mode)) {  // a pipe would be waited for
    return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: it is no regular file", path.string()));
  }
  const auto bytes = there ? static_cast<size_t>(info.st_size) : 0;
  if (bytes > kMaxPackedBytes) return TooLong(bytes, kMaxCandidateBytes);
  KB_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMaxPackedBytes));
  return CandidateFile(std::move(text));
}

Result<CandidateText> ReadCandidateFolder(Fd directory, const std::string& name) {
  FolderReader reader;
  Result<std::string> packed =
      reader.Read(std::move(directory), "").and_then([&]() -> Result<std::string> { return Pack(reader.files()); });
  if (packed) return CandidateText{std::move(*packed), ""};
  if (!reader.failed()) return Rejected(packed.error().message);
  return Fail(ErrorCode::kUsage, fmt::format("{}: {}", name, packed.error().message));
}

CandidateText CandidateFile(std::string text) {
  if (text.size() > MostBytes(text)) return TooLong(text.size(), MostBytes(text));
  return {std::move(text), ""};
}

}  // namespace kb

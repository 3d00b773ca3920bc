#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>

#include "base/fd.h"

namespace kb {

namespace fs = std::filesystem;

Result<std::string> ReadFile(const fs::path& path, size_t limit) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: {}", path.string(), strerror(errno)));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || S_ISDIR(info.st_mode)) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: it is a directory, a file is needed", path.string()));
  }
  std::string contents;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: {}", path.string(), strerror(errno)));
    if (got == 0) return contents;
    contents.append(buffer, static_cast<size_t>(got));
    if (contents.size() > limit) {
      return Fail(ErrorCode::kUsage, fmt::format("{} is longer than {} bytes", path.string(), limit));
    }
  }
}

void RaiseOpenFiles() {
  constexpr rlim_t kReason = 1 << 16;  // some programs walk through all numbers that could be open
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kReason));
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // a build may still do with what there is
}

Status WriteFileAtomic(const fs::path& path, std::string_view contents, unsigned mode) {
  std::string temporary = path.string() + ".XXXXXX";
  Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  const auto fail = [&](const char* what) {
    const int error = errno;
    if (fd.valid()) ::unlink(temporary.c_str());
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot {} {}: {}", what, path.string(), strerror(error)));
  };
  if (!fd.valid()) return fail("write");
  for (size_t done = 0; done < contents.size();) {
    const ssize_t put = ::write(fd.get(), contents.data() + done, contents.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail("write");
    done += static_cast<size_t>(put);
  }
  if (::fchmod(fd.get(), mode) != 0) return fail("set the mode of");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail("put in place");
  return {};
}

std::optional<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? std::optional(fs::absolute(name).string()) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string program = directory + "/" + name;
    if (directory.starts_with('/') && access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

fs::path ConfigDirectory() {
  if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg && *xdg) return fs::path(xdg) / "kernelbench";
  const char* home = std::getenv("HOME");
  return home && *home ? fs::path(home) / ".config" / "kernelbench" : fs::path();
}

fs::path CacheDirectory() {
  if (const char* set = std::getenv("KERNELBENCH_CACHE"); set && *set) return set;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return fs::path(xdg) / "kernelbench";
  const char* home = std::getenv("HOME");
  return fs::path(home && *home ? home : "/tmp") / ".cache" / "kernelbench";
}

Result<Installation> FindInstallation() {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return Fail(ErrorCode::kEngine, "cannot read /proc/self/exe: mount /proc");
  const fs::path directory = executable.parent_path();
  const fs::path prefix = directory.parent_path();
  if (const fs::path share = prefix / "share" / "kernelbench"; fs::exists(share / "protocols")) {
    return Installation{prefix / "libexec" / "kernelbench",
                        prefix / "include",
                        share / "python",
                        share / "problems",
                        share / "protocols",
                        share / "prompts",
                        share / "examples",
                        share / "models",
                        share / "calibrations",
                        share / "published",
                        share / "rewards",
                        share / "web"};
  }
  // A build directory: executables lie in BUILD/bin, and BUILD is somewhere below the source tree.
  for (fs::path root = prefix; root.has_relative_path(); root = root.parent_path()) {
    if (fs::exists(root / "protocols") && fs::exists(root / "python" / "kernelbench_torch")) {
      return Installation{directory,          root / "include",   root / "python",
                          root / "problems",  root / "protocols", root / "prompts",
                          root / "examples",  root / "models",    root / "calibrations",
                          root / "published", root / "rewards",   root / "web" / "dist"};
    }
  }
  return Fail(ErrorCode::kEngine,
              fmt::format("{} finds neither share/kernelbench beside it nor a source tree above it; "
                          "install with cmake --install",
                          executable.string()));
}

}  // namespace kb

#include "runner/landlock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/barriers.h"
#include "base/fd.h"

namespace kb::runner {
namespace {

// linux/landlock.h of Debian 12 ends at ABI 2, so the interface is spelled out; bits by Documentation/userspace-api.
struct RulesetAttributes {
  uint64_t handled_access_fs, handled_access_net, scoped;
};
struct [[gnu::packed]] PathBeneath {
  uint64_t allowed_access;
  int32_t parent_fd;
};
constexpr uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadDir = 1 << 3, kRefer = 1 << 13,
                   kTruncate = 1 << 14;
constexpr uint64_t kRemoveAndMake = 0x1ff0;  // bits 4 to 12: removing and making entries of every kind
constexpr uint64_t kBindTcp = 1 << 0, kConnectTcp = 1 << 1;
constexpr uint64_t kScopeAbstractSockets = 1 << 0, kScopeSignals = 1 << 1;
constexpr int kRulePathBeneath = 1;

Status Refused(const char* what) {
  return Fail(ErrorCode::kUnavailable, fmt::format("landlock: {}: {}", what, strerror(errno)));
}

Status Allow(int ruleset, const std::string& path, uint64_t access) {
  const Fd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid()) return {};  // what is not there needs no rule
  struct stat info {};
  if (fstat(fd.get(), &info) == 0 && !S_ISDIR(info.st_mode)) access &= kExecute | kWriteFile | kReadFile | kTruncate;
  const PathBeneath rule{access, fd.get()};
  if (syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &rule, 0) != 0) return Refused(path.c_str());
  return {};
}

}  // namespace

Status RestrictByLandlock(const std::vector<std::string>& readable, const std::vector<std::string>& writable,
                          bool signals) {
  const int abi = LandlockAbi();
  if (abi == 0) return {};
  const uint64_t write =
      kWriteFile | kRemoveAndMake | (abi >= 2 ? kRefer : uint64_t{0}) | (abi >= 3 ? kTruncate : uint64_t{0});
  const uint64_t read = readable.empty() ? 0 : kExecute | kReadFile | kReadDir;
  const RulesetAttributes attributes{write | read, abi >= 4 ? kBindTcp | kConnectTcp : 0,
                                     abi >= 6 ? kScopeAbstractSockets | (signals ? uint64_t{0} : kScopeSignals) : 0};
  // Older kernels know a shorter structure.
  const size_t size = abi >= 6 ? sizeof attributes : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
  const Fd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset.valid()) return Refused("creating a ruleset");
  for (const std::string& path : readable) KB_RETURN_IF_ERROR(Allow(ruleset.get(), path, read));
  for (const std::string& path : writable) KB_RETURN_IF_ERROR(Allow(ruleset.get(), path, write | read));
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return Refused("restricting");
  return {};
}

}  // namespace kb::runner

// What bubblewrap shows of the machine, whoever is inside: the system read-only, and of /proc and /sys what programs
// need. And where bubblewrap is.
#ifndef JUDGE_SANDBOX_SYSTEM_VIEW_H_
#define JUDGE_SANDBOX_SYSTEM_VIEW_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace kb {

// Directories of the system.
inline constexpr const char* kSystem[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"};
// The few files of /etc that loaders and compilers need.
inline constexpr const char* kEtc[] = {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"};
inline constexpr const char* kCpuFacts = "/sys/devices/system/cpu";

// Appends the arguments that show `from` at `to`, below directories that are open to everybody: bubblewrap would make
// them for its own user alone.
void ShowAt(const char* how, const std::filesystem::path& from, const std::filesystem::path& to,
            std::vector<std::string>* argv);

// Appends those that show the system and a /proc. `opt`: with /opt, where users keep things of their own, too. Returns
// the build cache, with a slash, if it lies below and has been hidden under an empty directory; otherwise nothing.
std::string ShowSystem(bool opt, std::vector<std::string>* argv);

// The build cache, with a slash, if it is below a directory of the system; empty otherwise.
std::string CacheInSystem();

// The bubblewraps of this machine: the one that came with us first, for some machines grant namespaces only to theirs.
std::vector<std::string> Bubblewraps(const Installation& installation);

// An error if another user than root cannot come to what is at `paths`. `on_the_way`: the directories above must be
// open, too.
Status CheckOpenToOthers(const std::vector<std::filesystem::path>& paths, bool on_the_way);

}  // namespace kb

#endif  // JUDGE_SANDBOX_SYSTEM_VIEW_H_

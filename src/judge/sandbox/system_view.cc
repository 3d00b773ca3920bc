#include "judge/sandbox/system_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace kb {
namespace {

namespace fs = std::filesystem;

// What of /proc is the machine's.
constexpr const char* kMachineFacts[] = {"/proc/sys", "/proc/irq",  "/proc/bus",
                                         "/proc/fs",  "/proc/acpi", "/proc/sysrq-trigger"};

}  // namespace

void ShowAt(const char* how, const fs::path& from, const fs::path& to, std::vector<std::string>* argv) {
  fs::path above;
  for (const fs::path& name : to.parent_path()) {
    above /= name;
    if (above.has_relative_path()) argv->insert(argv->end(), {"--dir", above.string()});
  }
  argv->insert(argv->end(), {how, from.string(), to.string()});
}

std::string ShowSystem(bool opt, std::vector<std::string>* argv) {
  std::error_code ignored;
  for (const char* path : kSystem) {
    if (!opt && path == std::string_view("/opt")) continue;
    if (fs::is_symlink(path, ignored)) {
      argv->insert(argv->end(), {"--symlink", fs::read_symlink(path, ignored).string(), path});
    } else if (fs::is_directory(path, ignored)) {
      argv->insert(argv->end(), {"--ro-bind", path, path});
    }
  }
  // A cache below these would show what was built of others, and a build could lock it.
  const std::string cache = CacheInSystem();
  const bool shown = !cache.empty() && (opt || !cache.starts_with("/opt/"));
  const bool covered = shown && fs::is_directory(cache, ignored);
  if (covered) argv->insert(argv->end(), {"--tmpfs", cache});
  for (const char* path : kEtc) ShowAt("--ro-bind-try", path, path, argv);
  ShowAt("--ro-bind-try", kCpuFacts, kCpuFacts, argv);
  argv->insert(argv->end(), {"--proc", "/proc"});
  for (const char* path : kMachineFacts) argv->insert(argv->end(), {"--ro-bind-try", path, path});
  return covered ? cache : "";
}

std::string CacheInSystem() {
  std::error_code ignored;
  const std::string cache = fs::weakly_canonical(CacheDirectory(), ignored).string() + "/";
  const auto is_above = [&](const char* path) { return cache.starts_with(std::string(path) + "/"); };
  return std::any_of(std::begin(kSystem), std::end(kSystem), is_above) ? cache : "";
}

std::vector<std::string> Bubblewraps(const Installation& installation) {
  std::vector<std::string> found;
  for (const std::string& name : {(installation.libexec / "bwrap").string(), std::string("bwrap")}) {
    if (const auto bwrap = FindProgram(name)) found.push_back(*bwrap);
  }
  return found;
}

Status CheckOpenToOthers(const std::vector<fs::path>& paths, bool on_the_way) {
  for (const fs::path& path : paths) {
    fs::path part;
    for (const fs::path& name : path) {
      part /= name;
      std::error_code error;
      const fs::perms open = fs::status(part, error).permissions();
      const bool closed = (open & fs::perms::others_exec) == fs::perms::none;
      if (!error && closed && (on_the_way || part == path)) {
        return Fail(
            ErrorCode::kUnavailable,
            fmt::format("candidates never run as the machine's root, and {} is closed to every other user; open it "
                        "(chmod o+rx), or keep {} elsewhere, or start kernelbench as an ordinary user",
                        part.string(), path.string()));
      }
    }
  }
  return {};
}

}  // namespace kb

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/judge_flags.h"
#include "judge/compile/build_cache.h"
#include "judge/compile/cache_room.h"
#include "report/text.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct CacheFlags {
  BuildFlags builds;
  bool json = false;
};

// The folder of the builds, if it is one: looking after a cache makes none, and empties nothing else.
Result<std::filesystem::path> FindCache() {
  constexpr const char* kOther = "KERNELBENCH_CACHE names another directory";
  const std::filesystem::path folder = BuildCache::DefaultDirectory();
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return Fail(ErrorCode::kUsage, fmt::format("there is no build cache in {}: {}; the first build makes one, and {}",
                                               folder.parent_path().string(),
                                               error ? error.message() : "it has no folder \"builds\"", kOther));
  }
  if (!std::filesystem::is_directory(folder, error)) {
    return Fail(ErrorCode::kUsage, fmt::format("{} is no directory; {}", folder.string(), kOther));
  }
  if (access(folder.c_str(), R_OK | X_OK) != 0) {
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot read {}: {}", folder.string(), strerror(errno)));
  }
  const std::vector<std::string> foreign = ForeignNames(folder);
  if (!foreign.empty() && CachedEntries(folder).empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("{} is no build cache: it holds no build, but \"{}\"; {}",
                                               folder.string(), foreign.front(), kOther));
  }
  return folder;
}

std::string Date(const CachedEntry& entry) { return UtcText(entry.used_ns / 1'000'000'000, kIso8601); }

int Show(const CacheFlags& flags) {
  const auto folder = FindCache();
  if (!folder) return PrintError(folder.error());
  const std::vector<CachedEntry> entries = CachedEntries(*folder);
  uint64_t bytes = 0;
  for (const CachedEntry& entry : entries) bytes += entry.bytes;
  const uint64_t quota = Gigabytes(flags.builds.cache_gb);
  if (flags.json) {
    fmt::print("{}", JsonLine({{"folder", folder->string()},
                               {"entries", entries.size()},
                               {"bytes", bytes},
                               {"quota_bytes", quota > 0 ? json(quota) : json()},
                               {"oldest_use", entries.empty() ? json() : json(Date(entries.front()))},
                               {"newest_use", entries.empty() ? json() : json(Date(entries.back()))}}));
    return kAllCorrect;
  }
  fmt::print("folder      {}\n", CleanText(folder->string()));
  fmt::print("entries     {}\n", CountText(static_cast<int64_t>(entries.size())));
  fmt::print("size        {}\n", FormatMemory(bytes));
  fmt::print("quota       {}\n", quota > 0 ? FormatMemory(quota) : "none");
  fmt::print("oldest use  {}\n", entries.empty() ? kDash : FormatDate(Date(entries.front())));
  fmt::print("newest use  {}\n", entries.empty() ? kDash : FormatDate(Date(entries.back())));
  return kAllCorrect;
}

// Entries go, least recently used first, until all take at most `bytes`.
int Remove(const CacheFlags& flags, uint64_t bytes) {
  const auto folder = FindCache();
  if (!folder) return PrintError(folder.error());
  const RemovedEntries removed = RemoveEntries(*folder, bytes);
  if (flags.json) {
    fmt::print("{}", JsonLine({{"folder", folder->string()},
                               {"removed", removed.entries},
                               {"removed_bytes", removed.bytes},
                               {"in_use", removed.in_use},
                               {"in_use_bytes", removed.in_use_bytes},
                               {"bytes", removed.left_bytes}}));
  } else {
    const auto count = [](uint64_t entries) {
      return fmt::format("{} {}", CountText(static_cast<int64_t>(entries)), entries == 1 ? "entry" : "entries");
    };
    fmt::print("removed {}, {}\n", count(removed.entries), FormatMemory(removed.bytes));
    if (removed.in_use > 0)
      fmt::print("left {} in use, {}\n", count(removed.in_use), FormatMemory(removed.in_use_bytes));
    fmt::print("{} in the cache now\n", FormatMemory(removed.left_bytes));
  }
  if (removed.failure.empty()) return kAllCorrect;
  return PrintError({ErrorCode::kUnavailable,
                     fmt::format("not all could be removed from {}: {}", folder->string(), removed.failure)});
}

int Clear(const CacheFlags& flags) { return Remove(flags, 0); }

int Trim(const CacheFlags& flags) {
  const uint64_t quota = Gigabytes(flags.builds.cache_gb);
  return Remove(flags, quota > 0 ? quota : UINT64_MAX);
}

}  // namespace

void AddCache(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<CacheFlags>();
  CLI::App* command = app->add_subcommand("cache", "how full the build cache is");
  command->require_subcommand(0, 1);
  const auto add = [&](CLI::App* sub, bool quota, int (*run)(const CacheFlags&)) {
    if (quota) AddCacheFlag(sub, &flags->builds.cache_gb);
    sub->add_flag("--json", flags->json, "one line of JSON (docs/reference/cli.md)");
    sub->callback([flags, exit_code, sub, run] {
      if (sub->get_subcommands().empty()) *exit_code = run(*flags);
    });
  };
  add(command, true, Show);
  add(command->add_subcommand("clear", "empty it, but for what is in use"), false, Clear);
  add(command->add_subcommand("trim", "remove what was not used for longest, until it fits its quota"), true, Trim);
}

}  // namespace kb::cli

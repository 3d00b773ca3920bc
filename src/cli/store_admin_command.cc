#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct AdminFlags {
  std::string store = DefaultStore();
  GarbageOptions garbage;
  bool json = false;
};

// Looking after a store must not make one.
Result<Store> OpenThere(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return Fail(ErrorCode::kUsage, "the store " + path + " does not exist; --store names another");
  }
  return Store::Open(path, {.create = false});
}

int CheckStore(const AdminFlags& flags) {
  const auto store = OpenThere(flags.store);
  if (!store) return PrintError(store.error());
  const auto health = store->Check();
  if (!health) return PrintError(health.error());
  const bool sound = health->wrong.empty();
  if (flags.json) {
    fmt::print("{}", JsonLine({{"store", flags.store},
                               {"sound", sound},
                               {"wrong", health->wrong},
                               {"stranded", health->stranded},
                               {"rows", health->rows},
                               {"jobs", health->states}}));
    return sound ? kAllCorrect : kNotAllCorrect;
  }
  for (const std::string& each : health->wrong) fmt::print("wrong: {}\n", OneLine(each, 500));
  for (const std::string& each : health->stranded) fmt::print("note: {}\n", OneLine(each, 500));
  for (const auto& [table, rows] : health->rows) fmt::print("{:<19} {:>9}\n", table, rows);
  for (const auto& [state, jobs] : health->states) fmt::print("{:<19} {:>9}\n", "jobs " + state, jobs);
  fmt::print("{} is {}\n", flags.store,
             sound ? "sound" : fmt::format("damaged: {} things are wrong", health->wrong.size()));
  return sound ? kAllCorrect : kNotAllCorrect;
}

int Collect(const AdminFlags& flags) {
  auto store = OpenThere(flags.store);
  if (!store) return PrintError(store.error());
  const auto garbage = store->CollectGarbage(flags.garbage);
  if (!garbage) return PrintError(garbage.error());
  if (flags.json) {
    fmt::print("{}", JsonLine({{"store", flags.store},
                               {"dry_run", flags.garbage.dry_run},
                               {"removed", garbage->rows},
                               {"bytes_before", garbage->bytes_before},
                               {"bytes_after", garbage->bytes_after ? json(*garbage->bytes_after) : json()}}));
  } else {
    const char* verb = flags.garbage.dry_run ? "would remove" : "removed";
    for (const auto& [table, rows] : garbage->rows) fmt::print("{} {:>7} of {}\n", verb, rows, table);
    if (garbage->bytes_after) {
      fmt::print("{} bytes before, {} now\n", FormatCount(static_cast<double>(garbage->bytes_before)),
                 FormatCount(static_cast<double>(*garbage->bytes_after)));
    }
  }
  if (garbage->not_shrunk.empty()) return kAllCorrect;
  return PrintError({ErrorCode::kStore, "removed, but the file stays as large as it was: " + garbage->not_shrunk});
}

}  // namespace

void AddStore(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("store", "look after the file that holds results");
  command->require_subcommand(1);
  auto flags = std::make_shared<AdminFlags>();
  const auto add = [&](const char* name, const char* help, int (*run)(const AdminFlags&)) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->add_option("--store", flags->store, "where results are kept")->capture_default_str();
    sub->add_flag("--json", flags->json, "one line of JSON (docs/reference/store.md)");
    sub->callback([flags, exit_code, run] { *exit_code = run(*flags); });
    return sub;
  };
  add("check", "is all of it there and whole? Exit code 1 if something is wrong", CheckStore);
  CLI::App* gc = add("gc", "remove what nothing refers to any more, and make the file smaller", Collect);
  CLI::Option* older = gc->add_option("--older-than", flags->garbage.older_than_days,
                                      "also evaluations older than so many days; never a run's newest of a job")
                           ->check(CLI::Range(0, 100'000));
  gc->add_flag("--keep-newest", flags->garbage.keep_newest, "of these not the newest of each candidate")->needs(older);
  gc->add_flag("--dry-run", flags->garbage.dry_run, "only say what would go");
}

}  // namespace kb::cli

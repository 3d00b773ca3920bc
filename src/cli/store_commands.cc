#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/number_checks.h"
#include "cli/run_table.h"
#include "cli/screen.h"
#include "cli/stored_selection.h"
#include "report/terminal.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct StoreFlags {
  std::string store = DefaultStore();
  std::string id;
  StoredSelection selection;
  int limit = 0;
  bool json = false;
};

// The default store holds nothing before the first evaluation; reading must not create it. Another one that was named
// has to be there.
Result<std::optional<Store>> OpenExisting(const std::string& path) {
  if (path == DefaultStore() && !std::filesystem::exists(path)) return std::optional<Store>();
  KB_ASSIGN_OR_RETURN(Store store, Store::Open(path, {.create = false}));
  return std::optional<Store>(std::move(store));
}

// The newest that is selected, and how many others are.
Result<json> NewestOf(const Store& store, const StoredSelection& selection) {
  KB_ASSIGN_OR_RETURN(const std::vector<json> selected, SelectStored(store, selection));
  if (selected.empty()) return Fail(ErrorCode::kUsage, "no stored evaluation is selected by these flags");
  if (selected.size() > 1) {
    fmt::print(stderr, "the newest of {} that are selected; kernelbench list with the same flags lists them\n",
               selected.size());
  }
  return store.Get(selected.front().at("id").get<std::string>());
}

int Show(const StoreFlags& flags) {
  if (flags.id.empty() == !flags.selection.any()) {
    return PrintError({ErrorCode::kUsage, "give an id, or flags that select: --run, --problem, --sample and others"});
  }
  const auto store = OpenExisting(flags.store);
  if (!store) return PrintError(store.error());
  if (!*store)
    return PrintError(
        {ErrorCode::kUsage, "the store " + flags.store + " does not exist yet; kernelbench eval fills it"});
  const auto evaluation = flags.id.empty() ? NewestOf(**store, flags.selection) : (*store)->Get(flags.id);
  if (!evaluation) return PrintError(evaluation.error());
  fmt::print("{}", flags.json ? JsonLine(*evaluation) : Describe(*evaluation, OnScreen()));
  return kAllCorrect;
}

Result<std::vector<json>> Evaluations(const StoreFlags& flags) {
  KB_ASSIGN_OR_RETURN(const auto store, OpenExisting(flags.store));
  if (!store) return std::vector<json>();
  KB_ASSIGN_OR_RETURN(std::vector<json> selected, SelectStored(*store, flags.selection));
  if (flags.limit > 0 && selected.size() > static_cast<size_t>(flags.limit)) {
    selected.resize(static_cast<size_t>(flags.limit));
  }
  return selected;
}

int List(const StoreFlags& flags) {
  const auto evaluations = Evaluations(flags);
  if (!evaluations) return PrintError(evaluations.error());
  if (flags.json) {
    for (const json& evaluation : *evaluations) fmt::print("{}", JsonLine(evaluation));
  } else if (evaluations->empty()) {
    fmt::print("no evaluations{} in {}\n", flags.selection.any() ? " that these flags select" : "", flags.store);
  } else {
    TerminalOptions options = OnScreen();
    options.ids = true;
    fmt::print("{}", TerminalTable(*evaluations, options));
  }
  return kAllCorrect;
}

int Runs(const StoreFlags& flags) {
  const auto store = OpenExisting(flags.store);
  if (!store) return PrintError(store.error());
  std::vector<RunRow> rows;
  if (*store) {
    auto read = RunRows(**store);
    if (!read) return PrintError(read.error());
    rows = *std::move(read);
  }
  if (flags.json) {
    for (const RunRow& row : rows) fmt::print("{}", JsonLine(RunRowJson(row)));
  } else if (rows.empty()) {
    fmt::print("no runs in {}; kernelbench run and generate make them\n", flags.store);
  } else {
    fmt::print("{}", RunTable(rows, ColumnsOf(STDOUT_FILENO)));
  }
  return kAllCorrect;
}

std::shared_ptr<StoreFlags> AddFlags(CLI::App* command) {
  auto flags = std::make_shared<StoreFlags>();
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  return flags;
}

}  // namespace

void AddShow(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("show", "one stored evaluation in full");
  auto flags = AddFlags(command);
  command->add_option("id", flags->id,
                      "its id, or the unique beginning of it; without it the newest that flags select");
  AddStoredSelection(command, &flags->selection);
  command->add_flag("--json", flags->json, "as eval --json printed it");
  command->callback([flags, exit_code] { *exit_code = Show(*flags); });
}

void AddList(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("list", "stored evaluations, newest first");
  auto flags = AddFlags(command);
  AddStoredSelection(command, &flags->selection);
  command->add_option("--limit", flags->limit, "at most so many, newest first; 0: all")->check(AtLeast(0));
  command->add_flag("--json", flags->json, "one line of JSON for each");
  command->callback([flags, exit_code] { *exit_code = List(*flags); });
}

void AddRuns(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("runs", "stored runs, newest first: how far they are and what came of them");
  auto flags = AddFlags(command);
  command->add_flag("--json", flags->json, "one line of JSON for each (docs/reference/cli.md)");
  command->callback([flags, exit_code] { *exit_code = Runs(*flags); });
}

}  // namespace kb::cli

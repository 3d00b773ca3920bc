#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/number_checks.h"
#include "cli/screen.h"
#include "report/terminal.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct StoreFlags {
  std::string store = DefaultStore();
  std::string id;
  StoreFilter filter;
  bool json = false;
};

// The default store holds nothing before the first evaluation; reading must not create it. Another one that was named
// has to be there.
Result<std::optional<Store>> OpenExisting(const std::string& path) {
  if (path == DefaultStore() && !std::filesystem::exists(path)) return std::optional<Store>();
  KB_ASSIGN_OR_RETURN(Store store, Store::Open(path, {.create = false}));
  return std::optional<Store>(std::move(store));
}

Result<std::vector<json>> Evaluations(const StoreFlags& flags) {
  KB_ASSIGN_OR_RETURN(const auto store, OpenExisting(flags.store));
  return store ? store->List(flags.filter) : std::vector<json>();
}

int Show(const StoreFlags& flags) {
  const auto store = OpenExisting(flags.store);
  if (!store) return PrintError(store.error());
  if (!*store)
    return PrintError(
        {ErrorCode::kUsage, "the store " + flags.store + " does not exist yet; kernelbench eval fills it"});
  const auto evaluation = (*store)->Get(flags.id);
  if (!evaluation) return PrintError(evaluation.error());
  fmt::print("{}", flags.json ? JsonLine(*evaluation) : Describe(*evaluation, OnScreen()));
  return kAllCorrect;
}

int List(const StoreFlags& flags) {
  const auto evaluations = Evaluations(flags);
  if (!evaluations) return PrintError(evaluations.error());
  if (flags.json) {
    for (const json& evaluation : *evaluations) fmt::print("{}", JsonLine(evaluation));
  } else if (evaluations->empty()) {
    fmt::print("no evaluations in {}\n", flags.store);
  } else {
    TerminalOptions options = OnScreen();
    options.ids = true;
    fmt::print("{}", TerminalTable(*evaluations, options));
  }
  return kAllCorrect;
}

std::shared_ptr<StoreFlags> AddFlags(CLI::App* command, bool filtered) {
  auto flags = std::make_shared<StoreFlags>();
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  if (!filtered) return flags;
  command->add_option("--problem", flags->filter.problem, "only this problem, as in 1/19");
  command->add_option("--verdict", flags->filter.verdict, "only this verdict");
  command->add_option("--limit", flags->filter.limit, "at most so many, newest first; 0: all")->check(AtLeast(0));
  return flags;
}

}  // namespace

void AddShow(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("show", "one stored evaluation in full");
  auto flags = AddFlags(command, false);
  command->add_option("id", flags->id, "its id, or the unique beginning of it")->required();
  command->add_flag("--json", flags->json, "as eval --json printed it");
  command->callback([flags, exit_code] { *exit_code = Show(*flags); });
}

void AddList(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("list", "stored evaluations, newest first");
  auto flags = AddFlags(command, true);
  command->add_flag("--json", flags->json, "one line of JSON for each");
  command->callback([flags, exit_code] { *exit_code = List(*flags); });
}

}  // namespace kb::cli

// Which stored evaluations a command is about: --run, --model, --problem, --sample, --verdict, --authorship.
#ifndef CLI_STORED_SELECTION_H_
#define CLI_STORED_SELECTION_H_

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace kb::cli {

// Empty texts, and no sample, restrict nothing.
struct StoredSelection {
  std::string run, model, problem, verdict, authorship;
  std::optional<int64_t> sample;
  bool any() const;
};

void AddStoredSelection(CLI::App* command, StoredSelection* selection);

// As Store::List() gives them, newest first. A name that nothing can have is a usage error, which suggests others: a
// verdict or authorship that does not exist, a problem that neither is here nor in the store, a run or model that is
// not stored.
Result<std::vector<nlohmann::json>> SelectStored(const Store& store, const StoredSelection& selection);

// A usage error that suggests others unless `name` is empty or one of `known`. `what`: "run"; `where`: " in the store
// S".
Status CheckName(const std::string& what, const std::string& name, const std::vector<std::string>& known,
                 const std::string& where = "");
Status CheckVerdict(const std::string& verdict);

}  // namespace kb::cli

#endif  // CLI_STORED_SELECTION_H_

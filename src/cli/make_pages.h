// Pages (pages/pages.h) of a store that a flag names.
#ifndef CLI_MAKE_PAGES_H_
#define CLI_MAKE_PAGES_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/score_flags.h"
#include "pages/pages.h"
#include "store/store.h"

namespace kb::cli {

struct OpenPages {
  // A default store that does not exist yet holds nothing, and is not made. `scope`: PagesOptions::scope.
  static Result<OpenPages> Open(const std::string& store, const std::string& scope);
  // kUsage unless all of them are there.
  Status CheckRuns(const std::vector<std::string>& wanted) const;

  std::string name;  // of the store
  std::unique_ptr<Store> store;
  std::unique_ptr<Pages> pages;
};

// One page that opens at the scores which the flags select, to the file of --output.
Status WriteScorePage(const ScoreFlags& flags);

}  // namespace kb::cli

#endif  // CLI_MAKE_PAGES_H_

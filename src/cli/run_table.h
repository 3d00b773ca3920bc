// The runs of a store, a line each.
#ifndef CLI_RUN_TABLE_H_
#define CLI_RUN_TABLE_H_

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace kb::cli {

struct RunRow {
  std::string name, created, newest;  // times in UTC; of the newest evaluation, empty: there is none
  std::set<std::string> models, devices, protocols, sizes;
  std::set<std::string> levels;                             // "1", "v3:4", "modern", "other"
  int64_t candidates = 0;                                   // jobs, or evaluations where it has none
  int64_t judged = 0, failed = 0, correct = 0, faster = 0;  // faster: the whole interval of a correct one is above 1
};

// Newest first.
Result<std::vector<RunRow>> RunRows(const Store& store);
nlohmann::json RunRowJson(const RunRow& row);
std::string RunTable(const std::vector<RunRow>& rows, size_t columns);

}  // namespace kb::cli

#endif  // CLI_RUN_TABLE_H_

// What others published, and baselines that this project measured, to stand beside a score. Never mixed into one.
#ifndef REPORT_PUBLISHED_H_
#define REPORT_PUBLISHED_H_

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/text.h"

namespace kb {

struct PublishedResult {
  std::string name;           // a model, or a kind of torch.compile
  double value = 0;           // geometric mean of the speedups over eager PyTorch
  int64_t problems = 0;       // over so many
  bool scored = false;        // over those of them alone that count here
  std::optional<double> cap;  // a larger speedup counted as this
  std::string device, torch;  // empty: not said
  std::string published;      // when the source came out; empty: not known
  std::string source, date;   // and when it was read
};

struct Published {
  std::string description;
  std::vector<PublishedResult> results;
};

// Of published/level3.toml and its like. kUsage names what is missing or of another type.
Result<Published> ReadPublished(const std::filesystem::path& path);

// Adds for each compiled kind the geometric means over eager of measured baselines (rows of `baseline list --json`, all
// at one size and precision): over all problems that have both, and over those but `unscored`. `source`: where they
// are.
void AddMeasured(std::span<const nlohmann::json> rows, const std::set<std::string>& unscored, const std::string& source,
                 Published* published);

nlohmann::ordered_json PublishedJson(const Published& published);
// A table with its sources below; "" where there is nothing.
std::string PublishedText(const Published& published, size_t columns = kNoLimit);

}  // namespace kb

#endif  // REPORT_PUBLISHED_H_

// What others published, to stand beside a score. It is never mixed into one.
#ifndef REPORT_PUBLISHED_H_
#define REPORT_PUBLISHED_H_

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

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

nlohmann::ordered_json PublishedJson(const Published& published);
// A table with its sources below; "" where there is nothing.
std::string PublishedText(const Published& published);

}  // namespace kb

#endif  // REPORT_PUBLISHED_H_

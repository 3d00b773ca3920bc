// What a problem file says about itself. Read from its text: nothing is executed, and PyTorch need not be there.
#ifndef JUDGE_PROBLEM_METADATA_H_
#define JUDGE_PROBLEM_METADATA_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// The constants of docs/reference/problems.md; what a file does not declare, or not as a plain literal, keeps its
// default.
struct ProblemMetadata {
  std::string family;              // "convolution"; empty: not declared
  std::vector<std::string> sizes;  // "standard", then those of SIZES, in order
  std::vector<std::string> distributions;
  std::vector<std::string> precisions = {"fp32", "fp16", "bf16"};
  bool needs_torch_rng = false;
  std::string collapses;  // why algebra removes most of the work; empty: it does not
  std::string unscored;   // why the problem counts for no score; empty: it may count
  nlohmann::ordered_json facts_differ = nlohmann::ordered_json::object();  // part: why it differs from KernelBench's
};

ProblemMetadata ReadMetadata(const std::string& source);

// The values of the module-level constants of a Python text that are plain literals: strings, numbers, booleans, None,
// and tuples, lists (both arrays) and dicts with string keys of such. The last assignment counts.
nlohmann::ordered_json ReadConstants(const std::string& source);

}  // namespace kb

#endif  // JUDGE_PROBLEM_METADATA_H_

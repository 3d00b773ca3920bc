// Pairs of a PyTorch module and its Triton as lines of JSON, with the fields of the data set KernelBook and some of our
// own. docs/reference/kernelbook.md has them.
#ifndef INTEROP_KERNELBOOK_H_
#define INTEROP_KERNELBOOK_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/result.h"

namespace kb {

struct KernelBookPair {
  std::string entry_point;  // the name of the module's class
  std::string python_code, triton_code, original_triton_code;
  nlohmann::json versions;  // of what made and judged it, by name; "torch" is among them
};

// The row of a pair whose candidate has this evaluation.
nlohmann::ordered_json KernelBookRow(const KernelBookPair& pair, const nlohmann::json& evaluation);

class KernelBookFile {
 public:
  // One that is not there is made. A last line that was cut off is removed: its pair is made again. Errors are kUsage.
  static Result<KernelBookFile> Open(const std::filesystem::path& path);

  // What a pair is of: the problem's text, its size and precision, the protocol, the device's name and PyTorch.
  using Key = std::array<std::string, 6>;
  bool Holds(const Key& key) const { return keys_.contains(key); }
  size_t size() const { return keys_.size(); }
  // At the end, at once.
  Status Add(const nlohmann::ordered_json& row);

 private:
  explicit KernelBookFile(std::filesystem::path path) : path_(std::move(path)) {}
  Status Read();
  Status CutOff(int64_t end) const;
  Status Append(const std::string& text) const;

  std::filesystem::path path_;
  std::set<Key> keys_;
};

}  // namespace kb

#endif  // INTEROP_KERNELBOOK_H_

// Who did the work of a call: code objects seen under the program counters of a runner, told apart by what they are.
// Pure functions; what takes the samples is code_watch.h.
#ifndef DEVICE_AUTHORSHIP_H_
#define DEVICE_AUTHORSHIP_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

// An executable range of a process. `path` as /proc/PID/maps has it; empty: memory without a file.
struct Mapping {
  uint64_t start = 0, end = 0;
  std::string path;
};

// The executable lines of /proc/PID/maps, in its order (rising addresses). Lines of another form are left out.
std::vector<Mapping> ParseMaps(std::string_view text);
// The mapping that holds an address, or null. `mappings` rise.
const Mapping* FindMapping(const std::vector<Mapping>& mappings, uint64_t address);

enum class Origin {
  kCustom,   // the candidate's own compiled code
  kLibrary,  // torch, BLAS and the like
  kPython,   // the interpreter
  kOther,    // C and C++ runtime, and what a candidate loaded past the engine
  kNeutral,  // waiting at barriers, the loader, our own runner: nobody's work
};

struct OriginRules {
  std::map<std::string, std::string> custom;  // file name of a candidate's object -> its name in results
  Origin anonymous = Origin::kCustom;         // what executable memory without a file is
};

struct CodeObject {
  Origin origin = Origin::kOther;
  std::string name;
};
CodeObject Identify(const std::string& path, const OriginRules& rules);

// One thread in user mode when the runner was stopped.
struct CodeSample {
  int64_t stop = 0;    // which, from 1
  int64_t ran_ns = 0;  // CPU time that the thread has had since the stop before
  std::string path;    // of the mapping under the program counter
};

// Samples of some calls, added up.
class Authorship {
 public:
  static constexpr int64_t kLeastSamples = 30;

  void AddCall(const std::vector<CodeSample>& samples, const OriginRules& rules);
  int64_t samples() const { return samples_; }

  // See docs/reference/evaluation.md; `class` is null, and `why` a reason, if this is too little to tell.
  nlohmann::json ToJson() const;

 private:
  int64_t RanNs(Origin origin) const;
  int64_t samples_ = 0;
  std::map<Origin, std::map<std::string, int64_t>> ran_ns_;
};

}  // namespace kb

#endif  // DEVICE_AUTHORSHIP_H_

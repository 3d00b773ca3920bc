// What a module asks load_inline or load for, as python/kernelbench_torch/extensions.py describes it. The process that
// wrote the description had imported the module, so every byte of it is hostile.
#ifndef JUDGE_COMPILE_EXTENSION_REQUEST_H_
#define JUDGE_COMPILE_EXTENSION_REQUEST_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

inline constexpr size_t kMaxExtensions = 16;
inline constexpr size_t kMaxCaptureBytes = size_t{16} << 20;
// All flags and paths of one extension: they become words of a command, and a command may not be much longer.
inline constexpr size_t kMaxFlagBytes = size_t{32} << 10;
// Of one extension that is built of files (`load`), all together.
inline constexpr size_t kMaxFiles = 200;
inline constexpr size_t kMaxFileBytes = 5'000'000;

// A request whose description holds exactly the fields that the builder reads, each of the type that it reads.
// Sources are texts; or, where there are "files", names of some of these, each of which is a unit of its own.
struct ExtensionRequest {
  std::string key;
  nlohmann::json description;
};

// The usable ones among the requests of {"extensions": [...]}, in order, the first kMaxExtensions. What is left out the
// runner will ask for again, in vain.
std::vector<ExtensionRequest> ReadCapture(std::string_view text);

// The one that a runner asked for in a report: an object as the list above holds them. Nothing where it is not usable.
std::optional<ExtensionRequest> ReadAsked(std::string_view text);

}  // namespace kb

#endif  // JUDGE_COMPILE_EXTENSION_REQUEST_H_

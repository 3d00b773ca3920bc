#include <fmt/format.h>

#include <map>

#include "base/file.h"
#include "base/json.h"
#include "interop/atif.h"
#include "store/store.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// Names of models that differ in what no file name holds get a number.
std::string Numbered(const std::string& name, std::map<std::string, int>* names) {
  const int taken = ++(*names)[name];
  return taken == 1 ? name : fmt::format("{}_{}.json", fs::path(name).stem().string(), taken);
}

}  // namespace

Result<WrittenAtif> WriteAtif(const Store& store, const std::string& run, const fs::path& output,
                              const std::string& version) {
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests, store.Requests(run));
  std::vector<const GenerationRequest*> episodes;
  for (const GenerationRequest& request : requests) {
    KB_ASSIGN_OR_RETURN(const std::optional<Episode> episode, store.FindEpisode(request.id));
    if (episode) episodes.push_back(&request);
  }
  if (episodes.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("no agent has worked in a run {}; kernelbench generate --strategy agent "
                                               "makes such a run",
                                               run));
  }
  std::error_code error;
  const bool file = output.extension() == ".json" && !fs::is_directory(output, error);
  if (file && episodes.size() > 1) {
    return Fail(ErrorCode::kUsage, fmt::format("the run has {} episodes, each of which becomes a file: give -o a "
                                               "directory instead of {}",
                                               episodes.size(), output.string()));
  }
  if (!file) fs::create_directories(output, error);
  if (!file && error)
    return Fail(ErrorCode::kUsage, fmt::format("cannot make {}: {}", output.string(), error.message()));

  WrittenAtif written;
  std::map<std::string, int> names;
  for (const GenerationRequest* request : episodes) {
    KB_ASSIGN_OR_RETURN(const std::optional<Transcript> transcript, ReadTranscript(store, run, *request));
    if (!transcript) continue;
    const nlohmann::ordered_json trajectory = AtifJson(*transcript, version);
    const fs::path path = file ? output : output / Numbered(AtifFileName(*request), &names);
    KB_RETURN_IF_ERROR(WriteFileAtomic(path, Dump(trajectory) + "\n"));
    written.files.push_back(path);
    written.steps += static_cast<int64_t>(trajectory.at("steps").size());
  }
  return written;
}

}  // namespace kb

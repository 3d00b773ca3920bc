// Agents' transcripts in the Agent Trajectory Interchange Format, version 1.7, as Harbor and trainers read it. What the
// format has no field for goes into its `extra` (docs/reference/transcripts.md).
#ifndef INTEROP_ATIF_H_
#define INTEROP_ATIF_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate/transcript.h"

namespace kb {

class Store;

// `version`: of this program, for episodes of our own loop.
nlohmann::ordered_json AtifJson(const Transcript& transcript, const std::string& version);

// Its name in a directory: problem, model and sample.
std::string AtifFileName(const GenerationRequest& request);

struct WrittenAtif {
  std::vector<std::filesystem::path> files;
  int64_t steps = 0;
};

// One file for each episode of the run, into the directory, which is made if it is not there; or, where `output` ends
// in .json, the only episode into that file. A file takes the place of an earlier one. kUsage: no agent worked in that
// run, or there is more than one episode for a file.
Result<WrittenAtif> WriteAtif(const Store& store, const std::string& run, const std::filesystem::path& output,
                              const std::string& version);

}  // namespace kb

#endif  // INTEROP_ATIF_H_

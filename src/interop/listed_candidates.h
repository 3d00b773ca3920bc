// Candidates that a file lists, an object for each. Not for others: ReadCandidates() is.
#ifndef INTEROP_LISTED_CANDIDATES_H_
#define INTEROP_LISTED_CANDIDATES_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "interop/candidates.h"

namespace kb {

struct FoundCandidate {
  RunCandidate candidate;
  std::string place;  // for messages: the file, and the line in it
};

// Entries without a model are `model`'s. Paths are relative to the file's directory and stay in it.
Result<std::vector<FoundCandidate>> ReadCandidateArray(const std::filesystem::path& path, const std::string& model);
Result<std::vector<FoundCandidate>> ReadCandidateLines(const std::filesystem::path& path, const std::string& model);

// The source in one line of JSON.
Result<std::string> InlineSource(std::string_view line);

// "py", "cpp" or "cu"; empty for a file that is no candidate by its name.
std::string LanguageOf(const std::filesystem::path& file);

}  // namespace kb

#endif  // INTEROP_LISTED_CANDIDATES_H_

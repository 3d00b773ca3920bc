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

// Entries without a model are `model`'s. Paths are relative to the file's directory and stay in it. An entry is judged
// by itself: one that cannot be used is left out, and a note says where it is and what is wrong with it.
Result<std::vector<RunCandidate>> ReadCandidateArray(const std::filesystem::path& path, const std::string& model,
                                                     std::vector<std::string>* notes);
Result<std::vector<RunCandidate>> ReadCandidateLines(const std::filesystem::path& path, const std::string& model,
                                                     std::vector<std::string>* notes);

// The source in one line of JSON; a folder in it may be rejected.
Result<CandidateText> InlineSource(std::string_view line);

// "py", "cpp" or "cu"; empty for a file that is no candidate by its name.
std::string LanguageOf(const std::filesystem::path& file);

}  // namespace kb

#endif  // INTEROP_LISTED_CANDIDATES_H_

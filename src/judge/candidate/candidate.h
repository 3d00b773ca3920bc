// A candidate as it comes from the user: one source file, or a folder of them; nothing executed.
#ifndef JUDGE_CANDIDATE_CANDIDATE_H_
#define JUDGE_CANDIDATE_CANDIDATE_H_

#include <filesystem>
#include <string>

#include "base/result.h"
#include "judge/candidate/folder.h"

namespace kb {

enum class CandidateKind { kModule, kNative };

struct Candidate {
  std::filesystem::path path;
  CandidateKind kind = CandidateKind::kModule;
  std::string source;   // the file's text, or the folder's packed form (folder.h)
  std::string sha256;   // of that
  std::string backend;  // upstream's names: "cpp", "cuda", "triton", ...; "native" for our own ABI; "torch" otherwise

  // Why it cannot be a candidate, known from its text alone; empty if nothing is known against it.
  std::string rejection;
};

// Errors: it cannot be read, or a file's name tells no language. What can be read but is no candidate (a file that is
// empty, binary, too long or in another language, a folder that Pack() does not take) comes back with a rejection.
// `device`: cpu, cuda or cuda:N.
Result<Candidate> ReadCandidate(const std::filesystem::path& path, const std::string& device);

// The same for a text that lies elsewhere than in a file of that name. A packed text is a folder, whatever its name.
Result<Candidate> MakeCandidate(const std::filesystem::path& path, std::string source, const std::string& device);

}  // namespace kb

#endif  // JUDGE_CANDIDATE_CANDIDATE_H_

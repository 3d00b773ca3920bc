// A candidate as it comes from the user: one source file, nothing executed.
#ifndef JUDGE_CANDIDATE_CANDIDATE_H_
#define JUDGE_CANDIDATE_CANDIDATE_H_

#include <filesystem>
#include <string>

#include "base/result.h"

namespace kb {

enum class CandidateKind { kModule, kNative };

struct Candidate {
  std::filesystem::path path;
  CandidateKind kind = CandidateKind::kModule;
  std::string source;
  std::string sha256;
  std::string backend;  // upstream's names: "cpp", "cuda", "triton", ...; "native" for our own ABI; "torch" otherwise

  // Why it cannot be a candidate, known from its text alone; empty if nothing is known against it.
  std::string rejection;
};

inline constexpr size_t kMaxCandidateBytes = size_t{4} << 20;

// Errors: the file cannot be read, or its name tells no language. A file that can be read but is no candidate (empty,
// binary, too long, another language) comes back with a rejection. `device`: cpu, cuda or cuda:N.
Result<Candidate> ReadCandidate(const std::filesystem::path& path, const std::string& device);

// The same for a text that lies elsewhere than in a file of that name.
Result<Candidate> MakeCandidate(const std::filesystem::path& path, std::string source, const std::string& device);

}  // namespace kb

#endif  // JUDGE_CANDIDATE_CANDIDATE_H_

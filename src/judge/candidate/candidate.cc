#include "judge/candidate/candidate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/file.h"
#include "base/hash.h"
#include "judge/devices/device_kind.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

bool Contains(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

// Which of upstream's backends a module uses, from the names it mentions. For display only.
std::string GuessBackend(const std::string& source) {
  constexpr std::pair<const char*, const char*> kSigns[] = {
      {"import tilelang", "tilelang"}, {"import cutlass", "cute"}, {"import triton", "triton"},
      {"from triton", "triton"},       {"cuda_sources", "cuda"},   {"load_inline", "cpp"},
  };
  for (const auto& [sign, backend] : kSigns) {
    if (Contains(source, sign)) return backend;
  }
  return "torch";
}

bool LooksBinary(const std::string& source) {
  if (source.find('\0') != std::string::npos) return true;
  const auto control =
      std::count_if(source.begin(), source.end(), [](unsigned char c) { return c < 32 && !isspace(c); });
  return control * 20 > static_cast<long>(source.size());
}

std::string Rejection(const Candidate& candidate, const std::string& device) {
  const std::string& source = candidate.source;
  if (std::all_of(source.begin(), source.end(), [](unsigned char c) { return isspace(c); })) return "the file is empty";
  if (LooksBinary(source)) return "the file is binary, not source text";
  const DeviceKind *kind = KindOfDevice(device), *written_for = KindOfSource(candidate.path);
  if (kind != nullptr && written_for != nullptr && kind != written_for) {
    const std::string rename = kind->on_host() ? "" : "; call it " + kind->extensions[0] + " if it launches kernels";
    return fmt::format("{} cannot run on device {}{}", written_for->writes, kind->name, rename);
  }
  if (candidate.kind == CandidateKind::kModule && !Contains(source, "ModelNew")) {
    return "the file defines no class ModelNew";
  }
  if (candidate.kind == CandidateKind::kNative && !Contains(source, "kb_forward")) {
    return Contains(source, "import torch") ? "the file holds Python under a C++ name; call it .py"
                                            : "the file defines no kb_forward (see kernelbench/kernel.h)";
  }
  return "";
}

Result<CandidateKind> KindOf(const fs::path& path) {
  if (path.extension() == ".py") return CandidateKind::kModule;
  if (KindOfSource(path) != nullptr) return CandidateKind::kNative;
  return Fail(
      ErrorCode::kUsage,
      fmt::format("{}: a candidate is a .py file (ModelNew), or a .cpp or .cu file (kb_forward)", path.string()));
}

}  // namespace

Result<Candidate> ReadCandidate(const fs::path& path, const std::string& device) {
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  const auto kind = KindOf(path);
  if (!kind && !there) return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: no such file", path.string()));
  if (!kind) return tl::make_unexpected(kind.error());
  if (there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {  // a pipe would be waited for
    return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: it is no regular file", path.string()));
  }
  if (there && S_ISREG(info.st_mode) && static_cast<size_t>(info.st_size) > kMaxCandidateBytes) {
    Candidate candidate;
    candidate.path = path;
    candidate.kind = *kind;
    candidate.sha256 = Sha256("");
    candidate.rejection =
        fmt::format("the file is {} bytes long; a candidate may have {}", info.st_size, kMaxCandidateBytes);
    return candidate;
  }
  KB_ASSIGN_OR_RETURN(std::string source, ReadFile(path, kMaxCandidateBytes));
  return MakeCandidate(path, std::move(source), device);
}

Result<Candidate> MakeCandidate(const fs::path& path, std::string source, const std::string& device) {
  Candidate candidate;
  candidate.path = path;
  KB_ASSIGN_OR_RETURN(candidate.kind, KindOf(path));
  candidate.source = std::move(source);
  candidate.sha256 = Sha256(candidate.source);
  candidate.backend = candidate.kind == CandidateKind::kNative ? "native" : GuessBackend(candidate.source);
  candidate.rejection = Rejection(candidate, device);
  return candidate;
}

}  // namespace kb

#include "judge/candidate/candidate.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/hash.h"
#include "judge/devices/device_kind.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

bool Contains(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

// Which of upstream's backends a module uses, from the names it and its files mention. Decides nothing but that hip
// cannot be judged.
std::string GuessBackend(const std::string& source, const FolderFiles& files) {
  constexpr std::pair<const char*, const char*> kSigns[] = {
      {"import tilelang", "tilelang"},   {"from tilelang", "tilelang"},
      {"import cutlass", "cute"},        {"from cutlass", "cute"},
      {"import triton", "triton"},       {"from triton", "triton"},
      {"kittens.cuh", "thunderkittens"}, {"#include <hip/", "hip"},
      {"cuda_sources", "cuda"},          {"load_inline", "cpp"},
  };
  // What compiles without HIP, too, is none of its own.
  const bool hip_or_cuda = Contains(source, "__HIP") || Contains(source, "cuda_runtime");
  for (const auto& [sign, backend] : kSigns) {
    if (Contains(source, sign) && !(hip_or_cuda && backend == std::string_view("hip"))) return backend;
  }
  for (const char* extension : {".cu", ".cpp"}) {
    for (const auto& [path, text] : files) {
      if (path.ends_with(extension)) return extension == std::string_view(".cu") ? "cuda" : "cpp";
    }
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
  if (candidate.kind == CandidateKind::kModule)
    return Contains(source, "ModelNew") ? "" : "the file defines no class ModelNew";
  const DeviceKind *kind = KindOfDevice(device), *written_for = KindOfSource(candidate.path);
  if (kind != nullptr && written_for != nullptr && kind != written_for) {
    const std::string rename = kind->on_host() ? "" : "; call it " + kind->extensions[0] + " if it launches kernels";
    return fmt::format("{} cannot run on device {}{}", written_for->writes, kind->name, rename);
  }
  if (Contains(source, "kb_forward")) return "";
  return Contains(source, "import torch") ? "the file holds Python under a C++ name; call it .py"
                                          : "the file defines no kb_forward (see kernelbench/kernel.h)";
}

Result<CandidateKind> KindOf(const fs::path& path) {
  if (path.extension() == ".py") return CandidateKind::kModule;
  if (KindOfSource(path) != nullptr) return CandidateKind::kNative;
  return Fail(
      ErrorCode::kUsage,
      fmt::format("{}: a candidate is a .py file (ModelNew), a .cpp or .cu file (kb_forward), or a folder with {}",
                  path.string(), kFolderEntry));
}

}  // namespace

Result<Candidate> ReadCandidate(const fs::path& path, const std::string& device) {
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  const auto kind = KindOf(path);
  if (!kind && !there) return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: no such file", path.string()));
  if (!kind && !S_ISDIR(info.st_mode)) return tl::make_unexpected(kind.error());
  KB_ASSIGN_OR_RETURN(CandidateText read, ReadCandidateText(path));
  KB_ASSIGN_OR_RETURN(Candidate candidate,
                      MakeCandidate(path.has_filename() ? path : path.parent_path(), std::move(read.text), device));
  if (!read.rejection.empty()) candidate.rejection = std::move(read.rejection);
  return candidate;
}

Result<Candidate> MakeCandidate(const fs::path& path, std::string source, const std::string& device) {
  Candidate candidate;
  candidate.path = path;
  FolderFiles files;
  if (!IsPacked(source)) {
    KB_ASSIGN_OR_RETURN(candidate.kind, KindOf(path));
  } else if (auto unpacked = Unpack(source)) {
    files = std::move(*unpacked);
  } else {
    candidate.rejection = unpacked.error().message;
  }
  candidate.source = std::move(source);
  candidate.sha256 = Sha256(candidate.source);
  candidate.backend = candidate.kind == CandidateKind::kNative ? "native" : GuessBackend(candidate.source, files);
  if (candidate.rejection.empty()) candidate.rejection = Rejection(candidate, device);
  return candidate;
}

}  // namespace kb

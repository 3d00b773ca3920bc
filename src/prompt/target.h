// In what a candidate is to be written, and for which kind of device.
#ifndef PROMPT_TARGET_H_
#define PROMPT_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kb {

enum class Backend { kNative, kCpp, kCuda, kTriton, kTilelang, kCute, kThunderkittens, kHip };

struct Target {
  Backend backend = Backend::kNative;
  bool gpu = false;  // of a native candidate: CUDA (.cu) rather than C++ (.cpp); all others have one kind of device
};

std::string_view Name(Backend backend);   // "native", "cuda", ...
std::string_view Title(const Target& t);  // for people: "CUDA C++ against kernelbench/kernel.h"
std::vector<std::string> BackendNames();

// `backend`: one of BackendNames(). `device`: cpu, cuda or cuda:N; empty: what the backend runs on, the CPU for native.
// Errors (usage): an unknown backend, or one that does not run on this device.
Result<Target> MakeTarget(const std::string& backend, const std::string& device);

// ".py" for a module, ".cpp" or ".cu" for a native candidate.
std::string_view FileExtension(const Target& target);
// What the file is called where somebody is asked to write one: "model_new.py", "kernel.cpp" or "kernel.cu".
std::string SolutionName(const Target& target);
// What a candidate must define: "ModelNew" or "kb_forward".
std::string_view EntryPoint(const Target& target);

}  // namespace kb

#endif  // PROMPT_TARGET_H_

#include "judge/static/rules.h"

#include <algorithm>

namespace kb {
namespace {

constexpr Severity kW = Severity::kWarning, kE = Severity::kError;

}  // namespace

std::string_view SeverityName(Severity severity) {
  return severity == Severity::kError ? "error" : severity == Severity::kWarning ? "warning" : "off";
}

std::optional<Severity> SeverityFromName(std::string_view name) {
  for (const Severity severity : {Severity::kOff, Severity::kWarning, Severity::kError}) {
    if (name == SeverityName(severity)) return severity;
  }
  return std::nullopt;
}

// Errors by default are only what no honest kernel has a use for: whatever else is wrong with a candidate the rounds
// find out, and a false rejection cannot be made good.
const std::vector<StaticRule>& StaticRules() {
  static const std::vector<StaticRule> rules = {
      {"code_bypass", kW, "try with a fallback, or pass where a computation belongs"},
      {"timing_event_patch", kE, "a timer, an event or a synchronisation is replaced"},
      {"thread_injection", kW, "Python threads, executors or processes"},
      {"lazy_eval", kW, "tensor subclasses and dispatch hooks, which may compute only when looked at"},
      {"cuda_impl", kW, "backend cuda without a CUDA kernel that is launched"},
      {"triton_impl", kW, "backend triton without a Triton kernel that is launched"},
      {"tilelang_impl", kW, "backend tilelang without a TileLang kernel"},
      {"cute_impl", kW, "backend cute without a CuTe kernel"},
      {"tk_impl", kW, "backend thunderkittens without a ThunderKittens kernel"},
      {"hip_impl", kW, "backend hip without a HIP kernel that is launched"},
      {"cpp_impl", kW, "backend cpp without a loop in C++"},
      {"pytorch_wrap", kW, "a torch.nn module does the computation"},
      {"torch_computation_ops", kW, "PyTorch operators do the computation"},
      {"stream_injection", kW, "work on streams of its own"},
      {"precision_downgrade", kW, "a narrower type than the problem's"},
      {"monkey_patch", kE, "parts of torch, the standard library or the interpreter are replaced"},
      {"frame_access", kE, "frames, live objects or the main program are searched"},
      {"torch_compile", kW, "torch.compile or the JIT does the work"},
      {"library_call", kW, "a library (cuBLAS, cuDNN, oneDNN, ATen) does the computation in native code"},
      {"native_threads", kW, "native code starts threads of its own"},
      {"dynamic_code", kW, "code is made at run time: exec, eval, compile"},
      {"dynamic_loading", kW, "libraries are loaded or searched for symbols at run time: ctypes, dlopen, dlsym"},
      {"environment", kW, "environment variables are written"},
      {"process_control", kW, "processes, signals, priorities or limits"},
      {"network", kW, "network access"},
      {"file_access", kW, "files are read or written"},
      {"foreign_memory", kW, "memory of other processes, or shared memory"},
      {"global_flags", kW, "settings that hold for all of PyTorch or for the device"},
      {"no_kernel", kW, "no kernel in any backend"},
      {"not_analysed", kW, "too long or too involved to be analysed"},
      {"too_involved", kE, "files that are too involved together"},
  };
  return rules;
}

bool IsStaticRule(std::string_view name) {
  const auto& rules = StaticRules();
  return std::any_of(rules.begin(), rules.end(), [&](const StaticRule& rule) { return name == rule.name; });
}

std::map<std::string, std::string> DefaultSeverities() {
  std::map<std::string, std::string> severities;
  for (const StaticRule& rule : StaticRules()) severities[rule.name] = SeverityName(rule.severity);
  return severities;
}

}  // namespace kb

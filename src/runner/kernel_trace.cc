#include "runner/kernel_trace.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace kb::runner {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20, kBufferAlignment = 8;
constexpr size_t kMostLaunches = size_t{1} << 18;  // of one call: what follows is not looked at

// CUPTI's callbacks carry nothing of ours, and it calls them from threads of its own.
struct Recording {
  std::mutex mutex;
  int (*next)(uint8_t* buffer, size_t valid, void** record) = nullptr;
  std::vector<KernelLaunch> launches;
};
Recording& TheRecording() {
  static auto* recording = new Recording;  // CUPTI may call until the process ends
  return *recording;
}

uint32_t Unsigned(int32_t value) { return value < 0 ? 0 : static_cast<uint32_t>(value); }

KernelLaunch LaunchOf(const CuptiKernel& record) {
  KernelLaunch launch;
  if (record.name != nullptr) launch.name = record.name;
  launch.start = record.start;
  launch.end = std::max(record.start, record.end);
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = Unsigned(record.grid[i]);
    launch.block[i] = Unsigned(record.block[i]);
  }
  launch.registers = record.registers;
  launch.static_shared = Unsigned(record.static_shared);
  launch.dynamic_shared = Unsigned(record.dynamic_shared);
  launch.local = record.local;
  return launch;
}

// The function's own name: what stands at the outermost level before the parameters, without the return type.
std::string WithoutSurroundings(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  int depth = 0;
  size_t begin = 0, end = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, kAnonymous.size()) == kAnonymous) {
      i += kAnonymous.size() - 1;
    } else if (text[i] == '<') {
      ++depth;
    } else if (text[i] == '>') {
      depth = std::max(depth - 1, 0);
    } else if (depth == 0 && text[i] == ' ') {
      begin = i + 1;
    } else if (depth == 0 && text[i] == '(') {
      end = i;
      break;
    }
  }
  return std::string(begin < end ? text.substr(begin, end - begin) : text);
}

}  // namespace

std::string ReadableName(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  std::string name = status == 0 && text && mangled.starts_with("_Z") ? WithoutSurroundings(text.get()) : mangled;
  name.resize(std::min(name.size(), kMaxKernelName));
  return name;
}

TracedKernels AddUp(const std::vector<KernelLaunch>& launches) {
  using Key = std::tuple<std::string, std::vector<uint32_t>>;
  std::map<Key, KernelUse> uses;
  TracedKernels traced;
  uint64_t first = UINT64_MAX, last = 0;
  for (const KernelLaunch& launch : launches) {
    std::vector<uint32_t> form(launch.grid, launch.grid + 3);
    form.insert(form.end(), launch.block, launch.block + 3);
    form.push_back(launch.dynamic_shared);
    KernelUse& use = uses[{launch.name, std::move(form)}];
    if (use.calls++ == 0) {
      use.name = ReadableName(launch.name);
      if (use.name.empty()) use.name = "?";  // no name at all stands for what there was no room for
      std::copy_n(launch.grid, 3, use.grid);
      std::copy_n(launch.block, 3, use.block);
      use.registers = launch.registers;
      use.static_shared = launch.static_shared;
      use.dynamic_shared = launch.dynamic_shared;
      use.local = launch.local;
    }
    use.total_ns += launch.end - launch.start;
    if (launch.start > 0) first = std::min(first, launch.start);
    last = std::max(last, launch.end);
  }
  for (auto& [key, use] : uses) traced.kernels.push_back(std::move(use));
  std::stable_sort(traced.kernels.begin(), traced.kernels.end(),
                   [](const KernelUse& a, const KernelUse& b) { return a.total_ns > b.total_ns; });
  if (traced.kernels.size() > kMaxKernels) {
    KernelUse rest;
    for (size_t i = kMaxKernels - 1; i < traced.kernels.size(); ++i) {
      rest.calls += traced.kernels[i].calls;
      rest.total_ns += traced.kernels[i].total_ns;
    }
    traced.kernels.resize(kMaxKernels - 1);
    traced.kernels.push_back(rest);
  }
  traced.span_ns = last > first ? last - first : 0;
  return traced;
}

void KernelTrace::Requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as there is room for
}

void KernelTrace::Completed(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  Recording& recording = TheRecording();
  const std::lock_guard lock(recording.mutex);
  void* record = nullptr;
  while (valid > 0 && recording.launches.size() < kMostLaunches && recording.next(buffer, valid, &record) == 0 &&
         record != nullptr) {
    const auto* kernel = static_cast<const CuptiKernel*>(record);
    if (kernel->kind == kCuptiConcurrentKernel || kernel->kind == kCuptiKernel) {
      recording.launches.push_back(LaunchOf(*kernel));
    }
  }
  std::free(buffer);
}

Status KernelTrace::Check(int code, const char* what) const {
  if (code == 0) return {};
  const char* text = nullptr;
  functions_.cuptiGetResultString(code, &text);
  return Fail(ErrorCode::kUnavailable,
              fmt::format("CUPTI: {}: {}", what, text != nullptr ? std::string(text) : std::to_string(code)));
}

Status KernelTrace::Prepare(const std::string& library) {
  KB_RETURN_IF_ERROR(Prepared(library));
  return {};
}

Result<KernelTrace> KernelTrace::Prepared(const std::string& library) {
  if (library.empty()) {
    return Fail(ErrorCode::kUnavailable,
                "CUPTI was found neither beside PyTorch (nvidia-cuda-cupti) nor in a CUDA toolkit");
  }
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    const char* why = dlerror();
    return Fail(ErrorCode::kUnavailable, fmt::format("CUPTI: {}", why != nullptr ? why : "it cannot be loaded"));
  }
  Functions functions{};
  bool found = true;
#define KB_FIND(name)                                                                \
  functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(loaded, #name)); \
  found = found && functions.name != nullptr
  KB_FIND(cuptiActivityRegisterCallbacks);
  KB_FIND(cuptiActivityEnable);
  KB_FIND(cuptiActivityDisable);
  KB_FIND(cuptiActivityFlushAll);
  KB_FIND(cuptiActivityGetNextRecord);
  KB_FIND(cuptiGetResultString);
#undef KB_FIND
  if (!found) return Fail(ErrorCode::kUnavailable, "CUPTI: " + library + " lacks a function");
  {
    Recording& recording = TheRecording();
    const std::lock_guard lock(recording.mutex);
    recording.next = functions.cuptiActivityGetNextRecord;
    recording.launches.clear();
  }
  const KernelTrace trace(functions);
  KB_RETURN_IF_ERROR(trace.Check(functions.cuptiActivityRegisterCallbacks(Requested, Completed), "callbacks"));
  return trace;
}

// Callbacks are handed over once more: the candidate may have used CUPTI with others.
Result<KernelTrace> KernelTrace::Start(const std::string& library) {
  KB_ASSIGN_OR_RETURN(const KernelTrace trace, Prepared(library));
  KB_RETURN_IF_ERROR(trace.Check(trace.functions_.cuptiActivityEnable(kCuptiConcurrentKernel), "tracing kernels"));
  return trace;
}

Result<TracedKernels> KernelTrace::Stop() const {
  const Status flushed = Check(functions_.cuptiActivityFlushAll(kCuptiFlushForced), "reading the records");
  (void)functions_.cuptiActivityDisable(kCuptiConcurrentKernel);
  if (!flushed) return tl::make_unexpected(flushed.error());
  std::vector<KernelLaunch> launches;
  {
    Recording& recording = TheRecording();
    const std::lock_guard lock(recording.mutex);
    launches.swap(recording.launches);
  }
  return AddUp(launches);
}

}  // namespace kb::runner

#include "cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "cuda/library.h"

namespace kb::cuda {
namespace {

namespace fs = std::filesystem;

// NVRTC's functions, as far as they are needed.
struct Nvrtc {
  int (*nvrtcCreateProgram)(void** program, const char* source, const char* name, int headers, const char* const* texts,
                            const char* const* names);
  int (*nvrtcAddNameExpression)(void* program, const char* expression);
  int (*nvrtcCompileProgram)(void* program, int options, const char* const* texts);
  int (*nvrtcGetLoweredName)(void* program, const char* expression, const char** name);
  int (*nvrtcGetCUBINSize)(void* program, size_t* size);
  int (*nvrtcGetCUBIN)(void* program, char* text);
  int (*nvrtcGetProgramLogSize)(void* program, size_t* size);
  int (*nvrtcGetProgramLog)(void* program, char* text);
  int (*nvrtcDestroyProgram)(void** program);
};

// NVRTC looks for its companion by name alone; one that lies beside it is found if it is loaded already.
void LoadBuiltins(const fs::path& library) {
  if (!library.has_parent_path()) return;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(library.parent_path(), ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("libnvrtc-builtins.so.")) (void)dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
}

Result<Nvrtc> LoadNvrtc(const std::string& given) {
  std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"};
  if (!given.empty()) {
    LoadBuiltins(given);
    names.insert(names.begin(), given);
  }
  void* library = nullptr;
  for (const std::string& name : names) {
    if (library == nullptr) library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  Nvrtc nvrtc{};
  const bool found = library != nullptr && Find(library, "nvrtcCreateProgram", &nvrtc.nvrtcCreateProgram) &&
                     Find(library, "nvrtcAddNameExpression", &nvrtc.nvrtcAddNameExpression) &&
                     Find(library, "nvrtcCompileProgram", &nvrtc.nvrtcCompileProgram) &&
                     Find(library, "nvrtcGetLoweredName", &nvrtc.nvrtcGetLoweredName) &&
                     Find(library, "nvrtcGetCUBINSize", &nvrtc.nvrtcGetCUBINSize) &&
                     Find(library, "nvrtcGetCUBIN", &nvrtc.nvrtcGetCUBIN) &&
                     Find(library, "nvrtcGetProgramLogSize", &nvrtc.nvrtcGetProgramLogSize) &&
                     Find(library, "nvrtcGetProgramLog", &nvrtc.nvrtcGetProgramLog) &&
                     Find(library, "nvrtcDestroyProgram", &nvrtc.nvrtcDestroyProgram);
  if (found) return nvrtc;
  return Fail(ErrorCode::kUnavailable,
              "no NVRTC: PyTorch for CUDA brings it (libnvrtc.so.12 or .13), and so does the CUDA toolkit");
}

// One of NVRTC's texts: its size first, the final 0 counted.
template <typename SizeOf, typename Get>
std::string Text(void* program, SizeOf size_of, Get get) {
  size_t size = 0;
  if (size_of(program, &size) != 0) return "";
  std::string text(size, '\0');
  if (get(program, text.data()) != 0) return "";
  return text;
}

}  // namespace

Result<DeviceCode> CompileDeviceProgram(const DeviceProgram& program, const std::string& library) {
  KB_ASSIGN_OR_RETURN(const Nvrtc nvrtc, LoadNvrtc(library));
  void* handle = nullptr;
  if (nvrtc.nvrtcCreateProgram(&handle, program.source.c_str(), program.name.c_str(), 0, nullptr, nullptr) != 0) {
    return Fail(ErrorCode::kEngine, "NVRTC takes no program");
  }
  std::vector<const char*> options;
  for (const std::string& option : program.options) options.push_back(option.c_str());
  DeviceCode code;
  code.ok = true;
  for (const std::string& expression : program.expressions) {
    code.ok = code.ok && nvrtc.nvrtcAddNameExpression(handle, expression.c_str()) == 0;
  }
  code.ok = code.ok && nvrtc.nvrtcCompileProgram(handle, static_cast<int>(options.size()), options.data()) == 0;
  code.log = Text(handle, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog);
  code.log.erase(std::find(code.log.begin(), code.log.end(), '\0'), code.log.end());
  for (const std::string& expression : program.expressions) {
    const char* name = nullptr;
    code.ok = code.ok && nvrtc.nvrtcGetLoweredName(handle, expression.c_str(), &name) == 0 && name != nullptr;
    code.names.emplace_back(code.ok ? name : "");
  }
  if (code.ok) code.image = Text(handle, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN);
  code.ok = code.ok && !code.image.empty();
  nvrtc.nvrtcDestroyProgram(&handle);
  return code;
}

}  // namespace kb::cuda

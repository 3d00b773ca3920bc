#include "judge/compile/lean_headers.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace kb {
namespace {

constexpr const char* kBindings = "#include <torch/csrc/Exceptions.h>\n#include <torch/csrc/utils/pybind.h>\n";

// `bindings`: what it takes to bind functions to Python.
std::string Header(const char* bindings) {
  return std::string(
             "#ifndef KB_LEAN_TORCH_EXTENSION_H\n#define KB_LEAN_TORCH_EXTENSION_H\n#include <torch/types.h>\n") +
         "#include <torch/cuda.h>\n#include <torch/utils.h>\n" + bindings + "#endif\n";
}

constexpr std::string_view kOfTheFrontend[] = {"torch::nn",       "torch::optim",  "torch::data",    "torch::jit",
                                               "torch::autograd", "torch::fft",    "torch::special", "torch::linalg",
                                               "torch::sparse",   "torch::nested", "torch::save",    "torch::load",
                                               "torch::python"};
constexpr std::string_view kOfTheBindings[] = {"pybind11", "py::", "PYBIND11_", "THP", "wrap_pybind_function"};

template <size_t N>
bool NamesAny(const nlohmann::json& sources, const std::string_view (&names)[N]) {
  return std::any_of(sources.begin(), sources.end(), [&](const nlohmann::json& source) {
    const auto& text = source.get_ref<const std::string&>();
    return std::any_of(std::begin(names), std::end(names),
                       [&](std::string_view name) { return text.find(name) != std::string::npos; });
  });
}

}  // namespace

bool MayDoWithLess(const nlohmann::json& extension) {
  const nlohmann::json &cpp = extension.at("cpp"), &cuda = extension.at("cuda");
  return extension.at("implicit_headers") && !NamesAny(cpp, kOfTheFrontend) && !NamesAny(cuda, kOfTheFrontend) &&
         !NamesAny(cuda, kOfTheBindings);
}

Result<CacheEntry> LeanHeaders(const BuildCache& cache) {
  const std::string host = Header(kBindings), device = Header("");
  const std::string name = "lean-" + Sha256(host + device).substr(0, 16);
  const std::vector<CacheFile> files = {{"host/torch/extension.h", host}, {"device/torch/extension.h", device}};
  if (auto held = cache.Hold(name, files.front().first)) return *std::move(held);
  return cache.Keep(name, files);
}

}  // namespace kb

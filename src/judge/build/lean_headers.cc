#include "judge/build/lean_headers.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/hash.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDeviceHeader = R"(#ifndef KB_LEAN_TORCH_EXTENSION_H
#define KB_LEAN_TORCH_EXTENSION_H
#include <torch/types.h>

#include <torch/cuda.h>
#include <torch/utils.h>
#endif
)";
constexpr std::string_view kHostHeader = R"(#ifndef KB_LEAN_TORCH_EXTENSION_H
#define KB_LEAN_TORCH_EXTENSION_H
#include <torch/types.h>

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/cuda.h>
#include <torch/utils.h>
#endif
)";

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

Result<fs::path> LeanHeaders(const fs::path& cache) {
  const std::string name = Sha256(std::string(kHostHeader) + std::string(kDeviceHeader)).substr(0, 16);
  const fs::path directory = cache / ("lean-" + name);
  for (const auto& [part, text] : {std::pair("host", kHostHeader), std::pair("device", kDeviceHeader)}) {
    const fs::path header = directory / part / "torch" / "extension.h";
    std::error_code error;
    if (fs::exists(header, error)) continue;
    fs::create_directories(header.parent_path(), error);
    KB_RETURN_IF_ERROR(WriteFileAtomic(header, std::string(text)));
  }
  return directory;
}

}  // namespace kb

#include "device/cuda/kernel_image.h"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "cuda/nvrtc.h"

namespace kb::cuda {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChecksumDigits = 64;

// Changes with the library, so far as a path was given.
std::string CompilerOf(const std::string& nvrtc) {
  std::error_code none;
  const auto size = fs::file_size(nvrtc, none);
  const auto written = fs::last_write_time(nvrtc, none);
  return none ? "" : fmt::format("{} {} {}", nvrtc, size, written.time_since_epoch().count());
}

std::optional<std::string> Kept(const fs::path& file) {
  auto text = ReadFile(file, size_t{64} << 20);
  if (!text || text->size() <= kChecksumDigits) return std::nullopt;
  std::string image = text->substr(kChecksumDigits);
  if (Sha256(image) != text->substr(0, kChecksumDigits)) return std::nullopt;
  return image;
}

}  // namespace

Result<std::string> KernelImage(const std::string& source, int major, int minor, const std::string& nvrtc,
                                const fs::path& directory) {
  const DeviceProgram program{
      .source = source,
      .options = {fmt::format("--gpu-architecture=sm_{}{}", major, minor), "--std=c++17", "--fmad=false"},
      .expressions = {}};
  Hasher key;
  key.Add(source).Add(CompilerOf(nvrtc));
  for (const std::string& option : program.options) key.Add(option);
  const fs::path file = directory / (key.Hex() + ".cubin");
  if (!directory.empty()) {
    if (auto kept = Kept(file)) return std::move(*kept);
  }
  KB_ASSIGN_OR_RETURN(DeviceCode code, CompileDeviceProgram(program, nvrtc));
  if (!code.ok) return Fail(ErrorCode::kEngine, "NVRTC refuses the device library's kernels: " + code.log);
  if (!directory.empty()) {
    std::error_code ignored;
    fs::create_directories(directory, ignored);
    (void)WriteFileAtomic(file, Sha256(code.image) + code.image);
  }
  return std::move(code.image);
}

}  // namespace kb::cuda

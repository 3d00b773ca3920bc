#include "judge/floors.h"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace kb {
namespace {

namespace fs = std::filesystem;

// At most 10 ms, and less than the whole ratio.
std::optional<Floor> ReadFloor(const toml::table& table, std::string_view kind) {
  const auto number = [&](std::string_view key) { return table[kind][key].value<double>().value_or(NAN); };
  const Floor floor{number("us"), number("relative")};
  const bool fits = floor.us >= 0 && floor.us <= 1e4 && floor.relative >= 0 && floor.relative < 1;
  return fits ? std::optional(floor) : std::nullopt;
}

Result<Floors> ReadFloors(const fs::path& path, const std::string& kind) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 1 << 16));
  const auto odd = [&](const std::string& what) {
    return Fail(
        ErrorCode::kUsage,
        fmt::format(
            "{}: {}; kernelbench doctor --calibrate writes it anew, and without the file the shipped ones serve",
            path.string(), what));
  };
  try {
    const toml::table table = toml::parse(text);
    if (table["device"].value_or(std::string()) != kind) return odd(fmt::format("device is not \"{}\"", kind));
    const auto native = ReadFloor(table, "native"), module = ReadFloor(table, "module");
    if (!native || !module)
      return odd("[native] and [module] have `us`, at least 0, and `relative`, from 0 to below 1");
    return Floors{*native, *module, table["origin"].value_or(std::string())};
  } catch (const toml::parse_error& error) {
    return odd(std::string(error.description()));
  }
}

}  // namespace

fs::path OwnFloors(const std::string& kind, const std::string& name) {
  std::string file;
  for (const char c : kind + "-" + name) {
    file += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '-';
  }
  fs::path directory;
  if (const char* set = std::getenv("KERNELBENCH_CALIBRATIONS"); set && *set) {
    directory = set;
  } else {
    directory = ConfigDirectory() / "calibrations";
  }
  return directory / (file + ".toml");
}

Result<Floors> FindFloors(const Installation& installation, const std::string& kind, const std::string& name,
                          bool own) {
  std::error_code error;
  const fs::path path = OwnFloors(kind, name);
  const bool there = own && fs::exists(path, error);
  if (own && error) return Fail(ErrorCode::kUsage, fmt::format("{}: {}", path.string(), error.message()));
  return ReadFloors(there ? path : installation.calibrations / (kind + ".toml"), kind);
}

Status CanKeepFloors(const std::string& kind, const std::string& name) {
  const fs::path directory = OwnFloors(kind, name).parent_path();
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error && access(directory.c_str(), W_OK) == 0) return {};
  return Fail(ErrorCode::kUsage, fmt::format("{} cannot be written; KERNELBENCH_CALIBRATIONS names another directory",
                                             directory.string()));
}

Status KeepFloors(const Floors& floors, const std::string& kind, const std::string& name) {
  KB_RETURN_IF_ERROR(CanKeepFloors(kind, name));
  const fs::path path = OwnFloors(kind, name);
  const auto part = [](const char* of, const Floor& floor) {
    return fmt::format("\n[{}]\nus = {:.1f}\nrelative = {:.4f}\n", of, floor.us, floor.relative);
  };
  std::ostringstream origin;
  origin << toml::value<std::string>(floors.origin);
  return WriteFileAtomic(path, fmt::format("device = \"{}\"\norigin = {}\n{}{}", kind, origin.str(),
                                           part("native", floors.native), part("module", floors.module)));
}

}  // namespace kb

#include "agents/harness_install.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace kb {
namespace {

namespace fs = std::filesystem;

// Where the box has what is the user's.
constexpr const char *kPackages = "/kb/agent", *kInterpreter = "/kb/interpreter";

bool IsBelow(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// The box shows this by itself.
bool IsSystem(const fs::path& path) { return IsBelow(path, "/usr"); }

fs::path Real(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

// The words behind #!, if a script begins with that.
std::vector<std::string> Interpreter(const fs::path& program) {
  std::ifstream file(program);
  std::string line(2, '\0');
  if (!file.read(line.data(), 2) || line != "#!" || !std::getline(file, line) || line.size() > 1000) return {};
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  if (!words.empty() && fs::path(words[0]).filename() == "env") {
    words.erase(words.begin());
    while (!words.empty() && (words[0].starts_with('-') || words[0].find('=') != std::string::npos)) {
      words.erase(words.begin());  // env -S
    }
  }
  return words;
}

// The outermost folder of packages that holds the program: those that it uses lie there or below.
std::optional<fs::path> NodeModules(const fs::path& program) {
  fs::path folder;
  for (const fs::path& part : program) {
    folder /= part;
    if (part == "node_modules") return folder;
  }
  return std::nullopt;
}

std::optional<fs::path> VirtualEnvironment(const fs::path& program) {
  const fs::path root = program.parent_path().parent_path();
  std::error_code error;
  return fs::exists(root / "pyvenv.cfg", error) ? std::optional(root) : std::nullopt;
}

Result<HarnessInstallation> OfNode(HarnessInstallation found, const fs::path& modules, const Harness& harness) {
  fs::path inside = found.program;
  if (!IsSystem(modules)) {
    found.shown.push_back({modules, fs::path(kPackages) / "node_modules"});
    inside = fs::path(kPackages) / "node_modules" / found.program.lexically_relative(modules);
  }
  const std::vector<std::string> words = Interpreter(found.program);
  if (words.empty()) {  // what npm has installed may be a binary
    found.command = {inside};
    return found;
  }
  const std::string name = fs::path(words[0]).filename();
  const auto node = FindProgram(name);
  if (!node) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} needs {}, which is not in PATH; install it, or put it there", harness.program, name));
  }
  fs::path runs = Real(*node);
  if (!IsSystem(runs)) {
    found.shown.push_back({runs, fs::path(kInterpreter) / name});
    runs = fs::path(kInterpreter) / name;
  }
  found.command = {runs, inside};
  return found;
}

Result<HarnessInstallation> OfPython(HarnessInstallation found, const fs::path& root) {
  const fs::path python = root / "bin" / "python";
  const fs::path base = Real(python);
  // A virtual environment names the Python that it is made of by its whole path.
  if (!IsSystem(base)) {
    const fs::path there = base.parent_path().parent_path();
    found.shown.push_back({there, there});
  }
  const fs::path inside = IsSystem(root) ? root : fs::path(kPackages);
  if (!IsSystem(root)) found.shown.push_back({root, inside});
  // A script names its Python by the path outside.
  if (!Interpreter(found.program).empty()) found.command.push_back(inside / "bin" / "python");
  found.command.push_back(inside / "bin" / found.program.filename());
  return found;
}

}  // namespace

Result<HarnessInstallation> FindHarnessProgram(const Harness& harness) {
  const auto path = FindProgram(harness.program);
  if (!path) {
    return Fail(ErrorCode::kUsage, fmt::format("the harness {} needs {}, which is not in PATH: {}", harness.name,
                                               harness.program, harness.install));
  }
  HarnessInstallation found{.program = Real(*path)};
  if (const auto modules = NodeModules(found.program)) return OfNode(std::move(found), *modules, harness);
  if (const auto root = VirtualEnvironment(found.program)) return OfPython(std::move(found), *root);
  fs::path inside = found.program;
  if (!IsSystem(inside)) {
    inside = fs::path(kPackages) / found.program.filename();
    found.shown.push_back({found.program, inside});
  }
  found.command = {inside};
  return found;
}

}  // namespace kb

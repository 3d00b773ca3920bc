// Drives a fuzz target without libFuzzer: its seeds, every truncation and many one-byte changes of them, and the files
// named (or in the directories named) on the command line. With --write DIR it writes the seeds there instead.

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "fuzz_target.h"

namespace {

namespace fs = std::filesystem;

int runs = 0;

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  ++runs;
}

void RunVariations(const std::string& seed) {
  constexpr size_t kPlaces = 200;  // of a long seed only the first and the last
  for (size_t at = 0; at < seed.size(); ++at) {
    if (at >= kPlaces && at + kPlaces < seed.size()) continue;
    Run(seed.substr(0, at));
    for (const char value :
         {'\x00', '\x7f', '\xff', static_cast<char>(seed[at] + 1), static_cast<char>(seed[at] ^ 128)}) {
      std::string changed = seed;
      changed[at] = value;
      Run(changed);
    }
  }
  Run(seed + seed);
}

int WriteSeeds(const fs::path& directory) {
  fs::create_directories(directory);
  int number = 0;
  for (const std::string& seed : kb::fuzz::Seeds()) {
    if (!kb::WriteFileAtomic(directory / ("seed" + std::to_string(number++)), seed)) return 1;
  }
  return number > 0 ? 0 : 1;
}

bool RunFile(const fs::path& path) {
  const auto contents = kb::ReadFile(path);
  if (contents) Run(*contents);
  return contents.has_value();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) return WriteSeeds(argv[2]);
  for (const std::string& seed : kb::fuzz::Seeds()) {
    Run(seed);
    RunVariations(seed);
  }
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      if (!RunFile(argv[i])) return 1;
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argv[i])) {
      if (!RunFile(entry.path())) return 1;
    }
  }
  std::printf("%d inputs\n", runs);
  return runs > 0 ? 0 : 1;
}

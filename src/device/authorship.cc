#include "device/authorship.h"

#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <span>

namespace kb {
namespace {

constexpr size_t kObjectsShown = 8;

// File names by their beginning. What a candidate writes itself could bear any of these names; it would gain nothing by
// them, for none of them makes code custom.
constexpr std::string_view kNeutral[] = {"libgomp", "libiomp", "libomp", "ld-linux", "kb-runner", "libkernelbench_"};
constexpr std::string_view kRuntime[] = {"libc.so",   "libc-",      "libm.so", "libm-",      "libmvec",
                                         "libstdc++", "libgcc",     "libdl.",  "libpthread", "librt.",
                                         "[vdso]",    "[vsyscall]", "libc++",  "libffi"};
constexpr std::string_view kPython[] = {"python", "libpython"};
constexpr std::string_view kLibraries[] = {"libtorch", "libc10",   "libmkl",    "libdnnl", "libopenblas",
                                           "libblas",  "libcblas", "liblapack", "libsleef"};

bool StartsWithOneOf(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view one) { return name.starts_with(one); });
}

bool IsAnonymous(std::string_view path) {
  return path.empty() || path == "[heap]" || path.starts_with("[stack") || path.starts_with("[anon") ||
         path.starts_with("/memfd:") || path.starts_with("/dev/zero");
}

}  // namespace

std::vector<Mapping> ParseMaps(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    Mapping mapping;
    char access[5] = "";
    int fixed = 0;  // bytes before the path, blanks included
    const int fields = std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %*u %n", &mapping.start,
                                   &mapping.end, access, &fixed);
    if (fields != 3 || fixed == 0 || access[2] != 'x') continue;
    mapping.path = line.substr(static_cast<size_t>(fixed));
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

const Mapping* FindMapping(const std::vector<Mapping>& mappings, uint64_t address) {
  const auto after = std::upper_bound(mappings.begin(), mappings.end(), address,
                                      [](uint64_t value, const Mapping& mapping) { return value < mapping.end; });
  return after != mappings.end() && address >= after->start ? &*after : nullptr;
}

CodeObject Identify(const std::string& path, const OriginRules& rules) {
  constexpr std::string_view kDeleted = " (deleted)";
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(kDeleted)) name.resize(name.size() - kDeleted.size());
  if (name.starts_with("memfd:")) name.erase(0, 6);  // the engine hands kernels out as sealed memory files
  if (const auto own = rules.custom.find(name); own != rules.custom.end()) return {Origin::kCustom, own->second};
  if (IsAnonymous(path)) return {rules.anonymous, "memory without a file"};
  if (StartsWithOneOf(name, kNeutral)) return {Origin::kNeutral, name};
  if (StartsWithOneOf(name, kRuntime)) return {Origin::kOther, name};
  if (StartsWithOneOf(name, kPython) || path.find("/lib-dynload/") != std::string::npos) {
    return {Origin::kPython, name};
  }
  if (StartsWithOneOf(name, kLibraries)) return {Origin::kLibrary, name};
  if (path.starts_with("/tmp/") || path.starts_with("/dev/shm/")) return {Origin::kOther, name};
  return {Origin::kLibrary, name};
}

void Authorship::AddCall(const std::vector<CodeSample>& samples, int64_t ran_ns, int64_t tail_ns,
                         const OriginRules& rules) {
  std::vector<CodeObject> objects;
  for (const CodeSample& sample : samples) objects.push_back(Identify(sample.path, rules));
  bool copying = true;
  for (size_t i = objects.size(); i-- > 0;) {
    copying = copying && samples[i].at_ns >= ran_ns - tail_ns && objects[i].origin != Origin::kCustom;
    if (objects[i].origin == Origin::kNeutral || (copying && objects[i].origin == Origin::kLibrary)) continue;
    ++counts_[objects[i].origin][objects[i].name];
  }
}

int64_t Authorship::Count(Origin origin) const {
  const auto found = counts_.find(origin);
  if (found == counts_.end()) return 0;
  int64_t sum = 0;
  for (const auto& [name, count] : found->second) sum += count;
  return sum;
}

int64_t Authorship::samples() const {
  return Count(Origin::kCustom) + Count(Origin::kLibrary) + Count(Origin::kPython) + Count(Origin::kOther);
}

nlohmann::json Authorship::ToJson() const {
  using nlohmann::json;
  const int64_t all = samples();
  const auto share = [&](int64_t count) {
    return all == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(all);
  };
  const int64_t custom = Count(Origin::kCustom), library = Count(Origin::kLibrary);
  json out = {{"class", nullptr},
              {"custom", share(custom)},
              {"library", share(library)},
              {"python", share(Count(Origin::kPython))},
              {"other", share(Count(Origin::kOther))},
              {"samples", all},
              {"kernels", nullptr},  // of a GPU
              {"kernels_span_us", nullptr}};
  if (all < kLeastSamples) {
    out["why"] = fmt::format("only {} samples, {} are needed", all, kLeastSamples);
  } else if (custom + library == 0) {
    out["why"] = "neither code of the candidate nor a library was seen";
  } else {
    const int64_t both = custom + library;
    out["class"] = 10 * custom >= 9 * both ? "custom" : 10 * library >= 9 * both ? "library" : "mixed";
  }
  std::vector<std::pair<int64_t, std::string>> objects;
  for (const auto& [origin, names] : counts_) {
    for (const auto& [name, count] : names) objects.emplace_back(count, name);
  }
  std::sort(objects.rbegin(), objects.rend());
  objects.resize(std::min(objects.size(), kObjectsShown));
  out["by_object"] = json::array();
  for (const auto& [count, name] : objects) out["by_object"].push_back({{"object", name}, {"share", share(count)}});
  return out;
}

}  // namespace kb

#include "device/authorship.h"

#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <utility>

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

void Authorship::AddCall(const std::vector<CodeSample>& samples, const OriginRules& rules) {
  for (const CodeSample& sample : samples) {
    const CodeObject object = Identify(sample.path, rules);
    if (object.origin == Origin::kNeutral) continue;
    ++samples_;
    ran_ns_[object.origin][object.name] += sample.ran_ns;
  }
}

int64_t Authorship::RanNs(Origin origin) const {
  const auto found = ran_ns_.find(origin);
  if (found == ran_ns_.end()) return 0;
  int64_t sum = 0;
  for (const auto& [name, ns] : found->second) sum += ns;
  return sum;
}

nlohmann::json Authorship::ToJson() const {
  using nlohmann::json;
  const int64_t custom = RanNs(Origin::kCustom), library = RanNs(Origin::kLibrary);
  const int64_t python = RanNs(Origin::kPython), other = RanNs(Origin::kOther);
  const int64_t all = custom + library + python + other;
  const auto share = [&](int64_t ns) { return all == 0 ? 0.0 : static_cast<double>(ns) / static_cast<double>(all); };
  json out = {{"class", nullptr},        {"custom", share(custom)},   {"library", share(library)},
              {"python", share(python)}, {"other", share(other)},     {"samples", samples_},
              {"arithmetic", nullptr},  // these are of a GPU
              {"kernels", nullptr},      {"kernels_span_us", nullptr}};
  if (samples_ < kLeastSamples) {
    out["why"] = fmt::format("only {} samples, {} are needed", samples_, kLeastSamples);
  } else if (custom + library == 0) {
    out["why"] = "neither code of the candidate nor a library was seen";
  } else {
    const int64_t both = custom + library;
    out["class"] = 10 * custom >= 9 * both ? "custom" : 10 * library >= 9 * both ? "library" : "mixed";
  }
  std::vector<std::pair<int64_t, std::string>> objects;
  for (const auto& [origin, names] : ran_ns_) {
    for (const auto& [name, ns] : names) objects.emplace_back(ns, name);
  }
  std::sort(objects.rbegin(), objects.rend());
  objects.resize(std::min(objects.size(), kObjectsShown));
  out["by_object"] = json::array();
  for (const auto& [ns, name] : objects) out["by_object"].push_back({{"object", name}, {"share", share(ns)}});
  return out;
}

}  // namespace kb

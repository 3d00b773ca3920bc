#include "report/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "report/text.h"
#include "report/view.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr size_t kKernelColumns = 60;

std::string Extents(const json& kernel, const char* key) {
  std::vector<std::string> numbers;
  for (const json& extent : MemberAt(kernel, key)) {
    if (extent.is_number()) numbers.push_back(fmt::format("{}", extent.get<int64_t>()));
  }
  while (numbers.size() > 1 && numbers.back() == "1") numbers.pop_back();
  return fmt::format("{}", fmt::join(numbers, "x"));
}

std::string Percent(const json& object, const char* key) {
  const auto share = NumberAt(object, key);
  return share ? fmt::format("{:.0f}%", 100 * *share) : kDash;
}

std::string KernelName(const json& kernel) {
  const std::string name = TextAt(kernel, "name");
  return name.empty() ? "(other kernels)" : OneLine(name, kKernelColumns);
}

std::string KernelRow(const json& kernel) {
  const auto number = [&](const char* key) { return NumberAt(kernel, key).value_or(0); };
  return fmt::format("{:>5} {:>10.1f} {:>6.0f} {:>14} {:>10} {:>5.0f} {:>8.0f} {:>6} {:<14} {:<8} {}\n",
                     Percent(kernel, "share"), number("us"), number("calls"), Extents(kernel, "grid"),
                     Extents(kernel, "block"), number("registers"), number("static_shared") + number("dynamic_shared"),
                     Percent(kernel, "occupancy"), TextAt(kernel, "occupancy_limit"), TextAt(kernel, "origin"),
                     KernelName(kernel));
}

// What a warp does most of its time, "selected" left out, for then it issues.
std::string LongestWaits(const json& stalls) {
  constexpr size_t kMost = 3;
  std::vector<std::pair<double, std::string>> waits;
  if (!stalls.is_object()) return kDash;
  for (const auto& [reason, share] : stalls.items()) {
    if (share.is_number() && reason != "selected") waits.emplace_back(share.get<double>(), reason);
  }
  std::sort(waits.rbegin(), waits.rend());
  std::vector<std::string> words;
  for (size_t i = 0; i < std::min(kMost, waits.size()); ++i) {
    words.push_back(fmt::format("{} {:.0f}%", OneLine(waits[i].second, 30), 100 * waits[i].first));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string CountersRow(const json& kernel) {
  const json& counters = MemberAt(kernel, "counters");
  if (!counters.is_object()) return "";
  return fmt::format("{:>7} {:>5} {:>5} {:>6} {:>6} {:>6}  {:<58} {}\n", Percent(counters, "occupancy"),
                     Percent(counters, "dram"), Percent(counters, "sm"), Percent(counters, "issue"),
                     Percent(counters, "l1_hits"), Percent(counters, "l2_hits"),
                     LongestWaits(MemberAt(counters, "stalls")), KernelName(kernel));
}

std::string CountersTable(const json& profile) {
  std::string rows;
  for (const json& kernel : MemberAt(profile, "kernels")) rows += CountersRow(kernel);
  if (rows.empty()) return "";
  return fmt::format("\n{:>7} {:>5} {:>5} {:>6} {:>6} {:>6}  {:<58} {}\n", "reached", "dram", "sm", "issue", "L1 hit",
                     "L2 hit", "what warps wait for", "kernel") +
         rows;
}

}  // namespace

std::string DescribeProfile(const json& profile) {
  const auto number = [&](const char* key) { return NumberAt(profile, key).value_or(0); };
  std::string out = fmt::format("{:.1f} us from the first kernel to the last, {:.1f} us in kernels, {:.0f} launches\n",
                                number("span_us"), number("busy_us"), number("launches"));
  if (NumberAt(profile, "gb_s")) {
    out += fmt::format("{:.0f} GB/s of the {:.1f} MB that must be moved, {:.2f} TFLOP/s\n", number("gb_s"),
                       number("bytes") / 1e6, number("tflops"));
  }
  if (const json& light = MemberAt(profile, "speed_of_light"); light.is_object()) {
    out += fmt::format("{} of the roofline: {:.1f} us by {}\n", Percent(light, "fraction"),
                       NumberAt(light, "us").value_or(0), OneLine(TextAt(light, "bound"), 20));
  }
  out += fmt::format("\n{:>5} {:>10} {:>6} {:>14} {:>10} {:>5} {:>8} {:>6} {:<14} {:<8} {}\n", "share", "us", "calls",
                     "grid", "block", "regs", "shared", "occup.", "limited by", "whose", "kernel");
  for (const json& kernel : MemberAt(profile, "kernels")) out += KernelRow(kernel);
  const std::string counters = CountersTable(profile);
  out += counters + "\n";
  for (const json& hint : MemberAt(profile, "hints")) out += "  " + OneLine(hint.get<std::string>(), 1000) + "\n";
  out += "one call from cold caches; occupancy is what fits\n";
  if (counters.empty()) return out + fmt::format("no counters: {}\n", OneLine(TextAt(profile, "no_counters"), 1000));
  return out +
         "counters are of another call, on made-up inputs, as Nsight Compute reads them: shares of what the device "
         "can do, and of a warp's time\n";
}

}  // namespace kb

#include "report/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::string KernelRow(const json& kernel) {
  const auto number = [&](const char* key) { return NumberAt(kernel, key).value_or(0); };
  const std::string name = TextAt(kernel, "name");
  return fmt::format("{:>5} {:>10.1f} {:>6.0f} {:>14} {:>10} {:>5.0f} {:>8.0f} {:>6} {:<14} {:<8} {}\n",
                     Percent(kernel, "share"), number("us"), number("calls"), Extents(kernel, "grid"),
                     Extents(kernel, "block"), number("registers"), number("static_shared") + number("dynamic_shared"),
                     Percent(kernel, "occupancy"), TextAt(kernel, "occupancy_limit"), TextAt(kernel, "origin"),
                     name.empty() ? "(other kernels)" : OneLine(name, kKernelColumns));
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
  out += "\n";
  for (const json& hint : MemberAt(profile, "hints")) out += "  " + OneLine(hint.get<std::string>(), 1000) + "\n";
  return out + "one call from cold caches; occupancy is what fits, not what was reached; stalls are not measured\n";
}

}  // namespace kb

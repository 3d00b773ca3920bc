#include "judge/devices/cuda/kernel_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "judge/devices/cuda/occupancy.h"
#include "judge/speed_of_light.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr double kOfNote = 0.1;  // share of the time from which a kernel is worth a hint
constexpr double kLowOccupancy = 0.3;
constexpr double kMuchIdle = 0.2;
constexpr double kLateWave = 0.35;  // of the multiprocessors, in a last wave that leaves the others idle
constexpr double kNearTheRoof = 0.8;
constexpr double kMuchWaiting = 0.3;  // of a warp's time, for one reason
constexpr double kFarFromFull = 0.7;  // of the occupancy that fits

double Product(const json& extents) {
  double product = 1;
  for (const json& extent : extents) product *= extent.get<double>();
  return product;
}

// One row of the trace with what follows from it.
json Kernel(const json& row, const json& device_info) {
  json out = row;
  const double blocks = Product(row.at("grid")), threads = Product(row.at("block"));
  const double calls = std::max(1.0, row.at("calls").get<double>()), cores = device_info.value("cores", 0.0);
  out["us_each"] = row.at("us").get<double>() / calls;
  out["threads"] = threads;
  out["occupancy"] = out["occupancy_limit"] = out["waves"] = out["counters"] = nullptr;
  // What has no configuration stands for many kernels.
  if (threads <= 0 || threads > 1024) return out;
  const int64_t shared = row.at("static_shared").get<int64_t>() + row.at("dynamic_shared").get<int64_t>();
  const auto occupancy = TheoreticalOccupancy({static_cast<int64_t>(threads), row.at("registers"), shared},
                                              device_info.value("compute_capability", ""));
  if (!occupancy || occupancy->blocks == 0) return out;
  out["occupancy"] = occupancy->share;
  out["occupancy_limit"] = occupancy->limit;
  if (cores > 0) out["waves"] = blocks / (cores * static_cast<double>(occupancy->blocks));
  return out;
}

std::string Name(const json& kernel) {
  const std::string name = kernel.at("name");
  return name.empty() ? "the kernels without a row" : name.substr(0, name.find('<'));
}

double NumberOr0(const json& object, const char* key) {
  return object.at(key).is_number() ? object[key].get<double>() : 0;
}

bool AtThePeak(const json& kernel) {
  const json& counters = kernel.at("counters");
  return counters.is_object() &&
         (NumberOr0(counters, "dram") >= kNearTheRoof || NumberOr0(counters, "sm") >= kNearTheRoof);
}

void HintOnKernel(const json& kernel, double cores, json* hints) {
  if (kernel.at("share").get<double>() < kOfNote || kernel.at("name") == "") return;
  const std::string name = Name(kernel);
  const double blocks = Product(kernel.at("grid"));
  if (cores > 0 && blocks < cores) {
    hints->push_back(
        fmt::format("{}: {:.0f} blocks for {:.0f} multiprocessors; the others are idle", name, blocks, cores));
  } else if (kernel.at("waves").is_number()) {
    const double waves = kernel["waves"], last = waves - std::floor(waves);
    if (waves > 1 && waves < 4 && last > 0 && last < kLateWave) {
      hints->push_back(
          fmt::format("{}: {:.2f} waves of blocks; the last one fills {:.0f}% of the device", name, waves, 100 * last));
    }
  }
  // A kernel that is near the device's peak rates needs no more warps.
  if (kernel.at("occupancy").is_number() && kernel["occupancy"].get<double>() < kLowOccupancy && !AtThePeak(kernel)) {
    hints->push_back(
        fmt::format("{}: occupancy of at most {:.0f}%, limited by {} ({} registers a thread, {} bytes of shared "
                    "memory and {:.0f} threads a block)",
                    name, 100 * kernel["occupancy"].get<double>(), kernel.at("occupancy_limit").get<std::string>(),
                    kernel.at("registers").get<int64_t>(),
                    kernel.at("static_shared").get<int64_t>() + kernel.at("dynamic_shared").get<int64_t>(),
                    kernel.at("threads").get<double>()));
  }
  if (kernel.at("local").get<int64_t>() > 0) {
    hints->push_back(
        fmt::format("{}: {} bytes of local memory a thread: registers are spilled, or an array is indexed at "
                    "run time",
                    name, kernel["local"].get<int64_t>()));
  }
}

// What a warp waits for, by ncu's name for it, and what helps.
struct Wait {
  std::string_view reason;
  const char *what, *help;
};
constexpr Wait kWaits[] = {
    {"long_scoreboard", "data from global or local memory", "keep more loads in flight, or load less"},
    {"short_scoreboard", "shared memory or special functions", "look for bank conflicts and slow functions"},
    {"lg_throttle", "room for more accesses to global memory", "make them fewer and wider"},
    {"mio_throttle", "room for more accesses to shared memory", "make them fewer and wider"},
    {"tex_throttle", "the texture unit", "make accesses fewer and wider"},
    {"math_pipe_throttle", "an arithmetic unit", "it is busy with arithmetic: use other units, or do less"},
    {"gmma", "warp group matrix products", "keep more of them in flight"},
    {"barrier", "other warps at a barrier", "divide the work more evenly, or use smaller blocks"},
    {"membar", "a memory fence", "use fewer or narrower ones"},
    {"wait", "results of fixed latency", "give each thread more independent work"},
    {"no_instruction", "instructions", "the code is long or jumps much, or the kernel is short"},
    {"imc_miss", "constants", "they miss their cache"},
    {"drain", "its last stores", "make them fewer and wider"},
    {"branch_resolving", "branches", "branch less"},
    {"sleeping", "the end of a sleep", "it puts itself to sleep"},
};

// Where counters say more than the form of the launch does.
void HintOnCounters(const json& kernel, json* hints) {
  const json& counters = kernel.at("counters");
  if (!counters.is_object() || kernel.at("share").get<double>() < kOfNote || kernel.at("name") == "") return;
  const std::string name = Name(kernel);
  if (const json& stalls = counters.at("stalls"); stalls.is_object()) {
    for (const Wait& wait : kWaits) {
      const double share = stalls.value(std::string(wait.reason), 0.0);
      if (!(share >= kMuchWaiting)) continue;
      hints->push_back(fmt::format("{}: a warp waits {:.0f}% of its time for {} ({}); {}", name, 100 * share, wait.what,
                                   wait.reason, wait.help));
    }
  }
  for (const char* unit : {"dram", "sm"}) {
    if (NumberOr0(counters, unit) < kNearTheRoof) continue;
    hints->push_back(fmt::format("{}: at {:.0f}% of the peak of {}", name, 100 * NumberOr0(counters, unit),
                                 unit == std::string_view("dram") ? "the device's memory" : "the multiprocessors"));
  }
  const json &fits = kernel.at("occupancy"), &reached = counters.at("occupancy");
  if (fits.is_number() && reached.is_number() && reached.get<double>() < kFarFromFull * fits.get<double>()) {
    hints->push_back(
        fmt::format("{}: occupancy of {:.0f}% where {:.0f}% fits: too few blocks, or some take much longer", name,
                    100 * reached.get<double>(), 100 * fits.get<double>()));
  }
}

// The stalls of all kernels that were counted, by their time; null: none was.
json AllStalls(const json& kernels) {
  double time = 0;
  std::map<std::string, double> sums;
  for (const json& kernel : kernels) {
    const json& counters = kernel.at("counters");
    if (!counters.is_object() || !counters.at("stalls").is_object()) continue;
    const double us = kernel.at("us");
    time += us;
    for (const auto& [reason, share] : counters["stalls"].items()) sums[reason] += us * share.get<double>();
  }
  if (time <= 0) return nullptr;
  json stalls = json::object();
  for (const auto& [reason, sum] : sums) stalls[reason] = sum / time;
  return stalls;
}

json Hints(const json& profile, double cores) {
  json hints = json::array();
  const double span = profile.at("span_us"), idle = profile.at("idle_us");
  const auto launches = profile.at("launches").get<int64_t>();
  if (launches > 1 && idle > kMuchIdle * span) {
    hints.push_back(
        fmt::format("{:.0f}% of the time lies between {} launches; fuse kernels, or record them in a CUDA graph",
                    100 * idle / span, launches));
  }
  for (const json& kernel : profile.at("kernels")) {
    HintOnKernel(kernel, cores, &hints);
    HintOnCounters(kernel, &hints);
  }
  if (const json& light = profile.at("speed_of_light"); light.is_object()) {
    const double fraction = light.at("fraction");
    const std::string bound = light.at("bound");
    hints.push_back(fraction >= kNearTheRoof
                        ? fmt::format("it reaches {:.0f}% of what the device's {} rate allows", 100 * fraction, bound)
                        : fmt::format("the device's {} rate would allow {:.1f} us; it takes {:.1f} us, {:.1f} times as "
                                      "long",
                                      bound, light.at("us").get<double>(), span, 1 / fraction));
  }
  return hints;
}

}  // namespace

void AddCounters(const json& counters, const json& device_info, json* profile) {
  bool joined = false;
  for (json& kernel : profile->at("kernels")) {
    for (const json& counted : counters.at("kernels")) {
      const auto same = [&](const char* key) { return counted.at(key) == kernel.at(key); };
      if (!same("name") || !same("grid") || !same("block")) continue;
      joined = true;
      kernel["counters"] = counted;
      for (const char* key : {"name", "grid", "block"}) kernel["counters"].erase(key);
    }
  }
  (*profile)["stalls"] = AllStalls(profile->at("kernels"));
  (*profile)["hints"] = Hints(*profile, device_info.value("cores", 0.0));
  const std::string why = counters.at("why");
  (*profile)["no_counters"] = joined ? "" : why.empty() ? "ncu counted other kernels than were traced" : why;
}

json KernelProfile(const json& evaluation, const json& figures) {
  const json& authorship = evaluation.at("authorship");
  if (!authorship.is_object() || !authorship.at("kernels").is_array() || authorship["kernels"].empty()) return nullptr;
  const json& device_info = evaluation.at("device_info");
  json out = {
      {"kernels", json::array()}, {"speed_of_light", nullptr}, {"gb_s", nullptr},   {"tflops", nullptr},
      {"bytes", nullptr},         {"flops", nullptr},          {"stalls", nullptr}, {"no_counters", "not asked for"}};
  double busy = 0;
  for (const json& row : authorship["kernels"]) {
    busy += row.at("us").get<double>();
    out["kernels"].push_back(Kernel(row, device_info));
  }
  const double span = std::max(authorship.at("kernels_span_us").get<double>(), 1e-3);
  out["launches"] = authorship.at("samples");
  out["busy_us"] = busy;
  out["span_us"] = span;
  out["idle_us"] = std::max(0.0, span - busy);  // kernels of several streams overlap
  if (figures.contains("input_bytes")) {
    const std::string precision = evaluation.at("protocol_keys").value("precision", "fp32");
    const double bytes = (precision == "fp32" ? 1 : 0.5) *
                         (figures.at("input_bytes").get<double>() + figures.at("parameter_bytes").get<double>() +
                          figures.at("output_bytes").get<double>());
    out["bytes"] = bytes;
    out["flops"] = figures.value("flops", 0.0);
    out["gb_s"] = bytes / span / 1e3;
    out["tflops"] = out["flops"].get<double>() / span / 1e6;
    out["speed_of_light"] = SpeedOfLight(figures, device_info, precision, span);
  }
  out["hints"] = Hints(out, device_info.value("cores", 0.0));
  return out;
}

}  // namespace kb

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/cores.h"
#include "judge/doctor/doctor.h"
#include "judge/seating.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const fs::path& file) {
  std::string line;
  std::ifstream stream(file);
  std::getline(stream, line);
  return line;
}

Check Ok(const char* group, const char* name, std::string detail) { return {group, name, "ok", std::move(detail), ""}; }

// Ticks of all cores since boot, from the first line of /proc/stat.
struct CpuTicks {
  int64_t idle = 0, stolen = 0, all = 0;
};

CpuTicks ReadTicks() {
  std::istringstream line(FirstLine("/proc/stat"));
  std::string name;
  line >> name;
  CpuTicks ticks;
  int64_t value = 0;
  for (int field = 0; field < 8 && line >> value; ++field) {  // user nice system idle iowait irq softirq steal
    ticks.all += value;
    if (field == 3 || field == 4) ticks.idle += value;
    if (field == 7) ticks.stolen = value;
  }
  return ticks;
}

Check Governor() {
  const std::string governor = FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (governor.empty()) return Ok("timing", "frequency governor", "not visible (a virtual machine?)");
  if (governor == "performance") return Ok("timing", "frequency governor", governor);
  return {"timing", "frequency governor", "warning", governor + ": clocks follow the load, so short calls look slow",
          "cpupower frequency-set --governor performance"};
}

// Watches the cores for half a second in which this process sleeps.
std::vector<Check> OtherLoad() {
  const CpuTicks before = ReadTicks();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const CpuTicks after = ReadTicks();
  const double all = static_cast<double>(std::max<int64_t>(1, after.all - before.all));
  const double busy = 1 - static_cast<double>(after.idle - before.idle) / all;
  const double stolen = static_cast<double>(after.stolen - before.stolen) / all;
  std::vector<Check> checks;
  const std::string load = fmt::format("{:.0f}% of the cores' time over half a second", 100 * busy);
  if (busy > 0.1) {
    checks.push_back({"timing", "other load", "warning", load + "; rounds will be void or say machine_busy",
                      "end other programs, or wait"});
  } else {
    checks.push_back(Ok("timing", "other load", load));
  }
  if (stolen > 0.01) {
    checks.push_back({"timing", "stolen time", "warning",
                      fmt::format("{:.0f}%: the host gives these cores to others", 100 * stolen),
                      "use cores that are not shared"});
  }
  return checks;
}

// Whether what is timed may go before other programs (Seat::nice). A priority belongs to a thread, so one tries it.
Check Priority() {
  bool may = false;
  std::thread([&] { may = setpriority(PRIO_PROCESS, 0, kBeforeOthers) == 0; }).join();
  if (may) return Ok("timing", "priority", fmt::format("nice {} where a GPU has cores of its own", kBeforeOthers));
  return {"timing", "priority", "warning",
          "this user may not raise it, not even on a GPU's own cores: beside other programs more candidates have no "
          "speedup (machine_busy)",
          "start kernelbench as root, or with CAP_SYS_NICE or ulimit -e 40"};
}

Check ClockSource() {
  const std::string source = FirstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (source.empty() || source == "tsc" || source == "kvm-clock" || source == "arch_sys_counter") {
    return Ok("timing", "clock source", source.empty() ? "not visible" : source);
  }
  return {"timing", "clock source", "warning", source + ": reading the time enters the kernel",
          "boot with clocksource=tsc if the processor has an invariant one"};
}

Check CalendarClock() {
  const std::time_t now = std::time(nullptr);
  constexpr std::time_t kEarliest = 1'735'689'600;  // 2025-01-01
  if (now >= kEarliest) return Ok("timing", "calendar clock", "set");
  return {"timing", "calendar clock", "warning", "it shows a year before 2025; results would carry wrong dates",
          "set it (timedatectl set-ntp true)"};
}

Check Memory() {
  const double gib = static_cast<double>(AvailableMemory()) / (1 << 30);
  if (gib >= 4) return Ok("resources", "memory", fmt::format("{:.1f} GiB available", gib));
  return {"resources", "memory", "warning", fmt::format("{:.1f} GiB available", gib),
          "sizes other than small may not fit; end other programs"};
}

Check Writable(const char* name, const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  const fs::space_info space = fs::space(directory, error);
  if (access(directory.c_str(), W_OK) != 0) {
    return {"resources", name, "missing", directory.string() + " cannot be written",
            "choose another one (KERNELBENCH_CACHE, KERNELBENCH_STORE, TMPDIR)"};
  }
  const double gib = static_cast<double>(space.available) / (1 << 30);
  const std::string detail = fmt::format("{}, {:.1f} GiB free", directory.string(), gib);
  if (gib >= 1) return Ok("resources", name, detail);
  return {"resources", name, "warning", detail, "make room: builds and results need about 1 GiB"};
}

Check OpenFiles() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= 256) return Ok("resources", "open files", fmt::format("{} allowed", limit.rlim_cur));
  return {"resources", "open files", "warning", fmt::format("only {} allowed", limit.rlim_cur), "ulimit -n 1024"};
}

}  // namespace

std::vector<Check> TimingChecks() {
  std::vector<Check> checks = {Ok("timing", "cores", fmt::format("{} usable", CoreCount())), Priority(), Governor(),
                               ClockSource(), CalendarClock()};
  for (Check& check : OtherLoad()) checks.push_back(std::move(check));
  return checks;
}

std::vector<Check> ResourceChecks(const fs::path& state_directory) {
  return {Memory(), OpenFiles(), Writable("results", state_directory), Writable("build cache", CacheDirectory()),
          Writable("temporary files", fs::temp_directory_path())};
}

}  // namespace kb

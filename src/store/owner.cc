#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"
#include "store/job.h"

namespace kb {
namespace {

// When process `pid` started, in ticks since the machine did; "" if there is none, or only what nobody has waited for
// yet. Fields 22 and 3 of proc(5)'s stat: what stands before the last parenthesis is a name that may hold anything.
std::string StartOf(long pid) {
  const auto stat = ReadFile(fmt::format("/proc/{}/stat", pid));
  if (!stat) return "";
  size_t at = stat->rfind(')');
  if (at == std::string::npos || stat->compare(at, 4, ") Z ") == 0 || stat->compare(at, 4, ") X ") == 0) return "";
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat->find(' ', at + 1);
  if (at == std::string::npos) return "";
  return stat->substr(at + 1, stat->find(' ', at + 1) - at - 1);
}

std::string Boot() {
  std::string boot = ReadFile("/proc/sys/kernel/random/boot_id").value_or("unknown");
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  return boot;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace

std::string OwnerName(const std::string& part) {
  const std::string name = fmt::format("{} {} {} {}", HostName(), Boot(), getpid(), StartOf(getpid()));
  return part.empty() ? name : name + " " + part;
}

bool OwnerLives(const std::string& owner) {
  const std::string here = HostName() + " ";
  if (!owner.starts_with(here)) return true;
  const std::string boot = here + Boot() + " ";
  if (!owner.starts_with(boot)) return false;  // this machine was started again since
  const long pid = std::strtol(owner.c_str() + boot.size(), nullptr, 10);
  const std::string start = StartOf(pid);
  return !start.empty() && (owner + " ").starts_with(fmt::format("{}{} {} ", boot, pid, start));
}

}  // namespace kb

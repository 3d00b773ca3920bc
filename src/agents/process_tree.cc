#include "agents/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace kb {
namespace {

struct Facts {
  pid_t parent = 0;
  char state = '?';
};

std::optional<Facts> FactsOf(const char* pid) {
  const Fd file(open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  char line[1024];
  const ssize_t got = file.valid() ? read(file.get(), line, sizeof line - 1) : -1;
  if (got <= 0) return std::nullopt;
  line[got] = '\0';
  const char* name_end = std::strrchr(line, ')');
  Facts facts;
  if (name_end == nullptr || std::sscanf(name_end, ") %c %d", &facts.state, &facts.parent) != 2) return std::nullopt;
  return facts;
}

// The processes below both keepers, whose ancestors are there: a PID namespace's first process adopts the others.
std::vector<std::pair<pid_t, Facts>> BelowKeepers(pid_t keeper) {
  std::multimap<pid_t, std::pair<pid_t, Facts>> by_parent;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(opendir("/proc"), closedir);
  while (const dirent* entry = processes ? readdir(processes.get()) : nullptr) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto facts = FactsOf(entry->d_name);
    if (facts) by_parent.emplace(facts->parent, std::pair(std::atoi(entry->d_name), *facts));
  }
  std::vector<std::pair<pid_t, Facts>> below;
  const auto children_of = [&](pid_t parent, auto take) {
    for (auto [at, end] = by_parent.equal_range(parent); at != end; ++at) take(at->second);
  };
  children_of(keeper, [&](const auto& inner) {
    children_of(inner.first, [&](const auto& command) { below.push_back(command); });
  });
  for (size_t i = 0; i < below.size(); ++i) {
    children_of(below[i].first, [&](const auto& child) { below.push_back(child); });
  }
  return below;
}

// The number may be another process's by now: what a descriptor holds is the same as long as its parent is.
void Signal(pid_t pid, pid_t parent, int signal) {
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const auto facts = FactsOf(std::to_string(pid).c_str());
  if (process.valid() && facts && facts->parent == parent) {
    syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
  }
}

bool Rests(char state) { return state == 'T' || state == 't' || state == 'Z' || state == 'X'; }

}  // namespace

bool StopBelowKeepers(pid_t keeper) {
  const auto below = BelowKeepers(keeper);
  bool all = !below.empty();
  for (const auto& [pid, facts] : below) {
    if (Rests(facts.state)) continue;
    all = false;
    Signal(pid, facts.parent, SIGSTOP);
  }
  return all;
}

void ContinueBelowKeepers(pid_t keeper) {
  for (const auto& [pid, facts] : BelowKeepers(keeper)) Signal(pid, facts.parent, SIGCONT);
}

}  // namespace kb

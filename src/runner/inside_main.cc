// kb-inside [--join FD]... [--scratch JSON] [--user UID] [--confine JSON] COMMAND...: joins control groups (FD: their
// cgroup.procs, to be written), mounts a /tmp that holds little ("bytes", "keep", "proc_read_only"), becomes another
// user, gives up its powers (runner/confine.h), and is COMMAND. It is how root starts what may hold a candidate's code,
// and how compilers are confined.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "runner/confine.h"
#include "runner/namespaces.h"

namespace {

constexpr int kNotStarted = 127;

// The descriptor is a way out of the group too, so nobody after this may have it.
kb::Status Join(int group) {
  const kb::Fd door(group);
  if (write(door.get(), "0", 1) == 1) return {};
  return kb::Fail(kb::ErrorCode::kUnavailable, std::string("joining a control group: ") + std::strerror(errno));
}

int Stop(const char* why) {
  std::fprintf(stderr, "kb-inside: %s\n", why);
  return kNotStarted;
}

}  // namespace

int main(int argc, char** argv) {
  int next = 1;
  for (; next + 1 < argc; next += 2) {
    const std::string_view name = argv[next];
    kb::Status done;
    if (name == "--join") {
      done = Join(static_cast<int>(std::strtol(argv[next + 1], nullptr, 10)));
    } else if (name == "--user") {
      done = kb::runner::BecomeUser(static_cast<uid_t>(std::strtoul(argv[next + 1], nullptr, 10)));
    } else if (name == "--scratch") {
      const auto wanted = nlohmann::json::parse(argv[next + 1]);
      done = kb::runner::BoundScratch(wanted.at("bytes"), wanted.at("keep"), wanted.at("proc_read_only"));
    } else if (name == "--confine") {
      done = kb::runner::Confine(nlohmann::json::parse(argv[next + 1]).get<kb::Confinement>());
    } else {
      break;
    }
    if (!done) return Stop(done.error().message.c_str());
  }
  if (next >= argc) return Stop("it is started by kernelbench, not by hand (no command)");
  execvp(argv[next], argv + next);
  std::fprintf(stderr, "kb-inside: cannot start %s: %s\n", argv[next], std::strerror(errno));
  return kNotStarted;
}

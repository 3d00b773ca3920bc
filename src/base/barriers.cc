#include "base/barriers.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace kb {

int LandlockAbi() {
  constexpr unsigned kVersion = 1;  // LANDLOCK_CREATE_RULESET_VERSION
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersion);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

}  // namespace kb

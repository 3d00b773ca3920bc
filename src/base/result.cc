#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace kb {

void CheckFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "kernelbench: internal error at %s:%d: %s\n", file, line, expression);
  std::abort();
}

}  // namespace kb

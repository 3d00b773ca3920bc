// Random bits from the kernel: what no candidate can guess.
#ifndef BASE_RANDOM_H_
#define BASE_RANDOM_H_

#include <sys/random.h>

#include <cstdint>

#include "base/result.h"

namespace kb {

inline uint64_t RandomBits() {
  uint64_t bits = 0;
  KB_CHECK(getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return bits;
}

}  // namespace kb

#endif  // BASE_RANDOM_H_

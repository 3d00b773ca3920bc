// Zstandard frames with a checksum, so that damage is noticed instead of being read.
#ifndef STORE_COMPRESS_H_
#define STORE_COMPRESS_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace kb {

std::string Compress(std::string_view bytes);

// Fails with kStore on anything that Compress did not make, and on contents above 1 GiB.
Result<std::string> Decompress(std::string_view frame);

}  // namespace kb

#endif  // STORE_COMPRESS_H_

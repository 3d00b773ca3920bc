// Zstandard frames with a checksum, so that damage is noticed instead of being read.
#ifndef STORE_COMPRESS_H_
#define STORE_COMPRESS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kb {

std::string Compress(std::string_view bytes);

inline constexpr size_t kMaxContents = size_t{1} << 30;

// Fails with kStore on anything that Compress did not make, and on contents above `limit`.
Result<std::string> Decompress(std::string_view frame, size_t limit = kMaxContents);

// How many bytes Decompress() would give, by the first 18 of a frame or more. Nothing: it is no frame.
std::optional<uint64_t> ContentsBytes(std::string_view frame);

// Whole files, of any size, in little memory. `to` appears at once or not at all.
Status CompressFile(const std::filesystem::path& from, const std::filesystem::path& to);
// Fails with kUsage on anything that CompressFile did not make, and on contents above `limit` bytes.
Status DecompressFile(const std::filesystem::path& from, const std::filesystem::path& to, uint64_t limit);

}  // namespace kb

#endif  // STORE_COMPRESS_H_

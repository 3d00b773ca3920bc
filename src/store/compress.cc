#include "store/compress.h"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

namespace kb {
namespace {

constexpr unsigned long long kMaxContents = 1ull << 30;

}  // namespace

std::string Compress(std::string_view bytes) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  KB_CHECK(context != nullptr);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
  KB_CHECK(!ZSTD_isError(size));
  frame.resize(size);
  return frame;
}

Result<std::string> Decompress(std::string_view frame) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxContents) {
    return Fail(ErrorCode::kStore, "the store holds a damaged record: it is no compressed data");
  }
  std::string bytes(size, '\0');
  const size_t got = ZSTD_decompress(bytes.data(), bytes.size(), frame.data(), frame.size());
  if (ZSTD_isError(got) || got != size) {
    return Fail(ErrorCode::kStore, fmt::format("the store holds a damaged record: {}",
                                               ZSTD_isError(got) ? ZSTD_getErrorName(got) : "it is too short"));
  }
  return bytes;
}

}  // namespace kb

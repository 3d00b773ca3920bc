#include "store/compress.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <fstream>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace kb {

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

Result<std::string> Decompress(std::string_view frame, size_t limit) {
  const std::optional<uint64_t> size = ContentsBytes(frame);
  if (!size) return Fail(ErrorCode::kStore, "the store holds a damaged record: it is no compressed data");
  if (*size > limit) {
    return Fail(ErrorCode::kStore,
                fmt::format("a record says that it has {} bytes, and {} are the most", *size, limit));
  }
  std::string bytes(*size, '\0');
  const size_t got = ZSTD_decompress(bytes.data(), bytes.size(), frame.data(), frame.size());
  if (ZSTD_isError(got) || got != *size) {
    return Fail(ErrorCode::kStore, fmt::format("the store holds a damaged record: {}",
                                               ZSTD_isError(got) ? ZSTD_getErrorName(got) : "it is too short"));
  }
  return bytes;
}

std::optional<uint64_t> ContentsBytes(std::string_view frame) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return std::nullopt;
  return size;
}

namespace {

namespace fs = std::filesystem;

// A file that appears under its name when it is whole.
class NewFile {
 public:
  explicit NewFile(fs::path path)
      : path_(std::move(path)),
        part_(fmt::format("{}.{}.part", path_.string(), getpid())),
        stream_(part_, std::ios::binary) {}
  NewFile(const NewFile&) = delete;  // removes the part
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    std::error_code ignored;
    fs::remove(part_, ignored);
  }
  void Write(const std::vector<char>& bytes, size_t size) {
    stream_.write(bytes.data(), static_cast<std::streamsize>(size));
  }
  Status Commit() {
    stream_.close();
    std::error_code error;
    if (stream_) fs::rename(part_, path_, error);
    if (stream_ && !error) return {};
    return Fail(ErrorCode::kUnavailable,
                fmt::format("cannot write {}: look at its directory's permissions and free space", path_.string()));
  }

 private:
  fs::path path_, part_;
  std::ofstream stream_;
};

Result<std::ifstream> OpenFile(const fs::path& path) {
  std::error_code ignored;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || !fs::is_regular_file(path, ignored)) {
    return Fail(ErrorCode::kUsage,
                fmt::format("cannot read {}: there is no such file, or it may not be read", path.string()));
  }
  return stream;
}

// At most buffer->size() bytes; 0 at the end.
size_t Read(std::ifstream& stream, std::vector<char>* buffer) {
  stream.read(buffer->data(), static_cast<std::streamsize>(buffer->size()));
  return static_cast<size_t>(stream.gcount());
}

}  // namespace

Status CompressFile(const fs::path& from, const fs::path& to) {
  KB_ASSIGN_OR_RETURN(std::ifstream source, OpenFile(from));
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  KB_CHECK(context != nullptr);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  NewFile target(to);
  std::vector<char> in(ZSTD_CStreamInSize()), out(ZSTD_CStreamOutSize());
  for (bool last = false; !last;) {
    const size_t got = Read(source, &in);
    if (source.bad()) return Fail(ErrorCode::kUnavailable, fmt::format("cannot read {}", from.string()));
    last = got < in.size();
    ZSTD_inBuffer input{in.data(), got, 0};
    for (size_t left = 1; last ? left != 0 : input.pos < input.size;) {
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      left = ZSTD_compressStream2(context.get(), &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
      KB_CHECK(!ZSTD_isError(left));
      target.Write(out, output.pos);
    }
  }
  return target.Commit();
}

Status DecompressFile(const fs::path& from, const fs::path& to, uint64_t limit) {
  KB_ASSIGN_OR_RETURN(std::ifstream source, OpenFile(from));
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  KB_CHECK(context != nullptr);
  NewFile target(to);
  std::vector<char> in(ZSTD_DStreamInSize()), out(ZSTD_DStreamOutSize());
  uint64_t total = 0;
  size_t left = 1;  // 0: the frame is whole
  while (const size_t got = Read(source, &in)) {
    for (ZSTD_inBuffer input{in.data(), got, 0}; input.pos < input.size;) {
      if (left == 0) return Fail(ErrorCode::kUsage, "something follows the compressed data");
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      left = ZSTD_decompressStream(context.get(), &output, &input);
      if (ZSTD_isError(left)) return Fail(ErrorCode::kUsage, ZSTD_getErrorName(left));
      total += output.pos;
      if (total > limit) return Fail(ErrorCode::kUsage, fmt::format("it holds more than {} bytes", limit));
      target.Write(out, output.pos);
    }
  }
  if (left != 0) return Fail(ErrorCode::kUsage, "it ends too early");
  return target.Commit();
}

}  // namespace kb

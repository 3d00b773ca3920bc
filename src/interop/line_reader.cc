#include "interop/line_reader.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace kb {

LineReader::LineReader(std::filesystem::path path, std::ifstream stream, int64_t next)
    : path_(std::move(path)),
      stream_(std::move(stream)),
      buffer_(std::make_unique_for_overwrite<char[]>(kMaxLineBytes + 1)),  // pages that no line needs stay untouched
      next_(next) {}

Result<LineReader> LineReader::Open(const std::filesystem::path& path, int64_t offset) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream || !stream.seekg(offset)) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: {}", path.string(), strerror(errno)));
  }
  return LineReader(path, std::move(stream), offset);
}

Result<std::optional<std::string_view>> LineReader::Next() {
  offset_ = next_;
  stream_.getline(buffer_.get(), kMaxLineBytes + 1);
  const int64_t got = stream_.gcount();  // with the newline, if there is one
  if (stream_.bad()) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: {}", path_.string(), strerror(errno)));
  }
  ++number_;
  next_ += got;
  too_long_ = false;
  if (stream_.eof() && got == 0) return std::optional<std::string_view>();
  if (!stream_.fail()) return std::string_view(buffer_.get(), static_cast<size_t>(stream_.eof() ? got : got - 1));
  too_long_ = true;
  stream_.clear();
  stream_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  next_ += stream_.gcount();
  return std::string_view(buffer_.get(), static_cast<size_t>(got));
}

}  // namespace kb

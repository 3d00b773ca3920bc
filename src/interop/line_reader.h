// Lines of a file of any length, one at a time.
#ifndef INTEROP_LINE_READER_H_
#define INTEROP_LINE_READER_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace kb {

// Six bytes of JSON for each of a candidate, as \u0041, and room for its other keys.
inline constexpr int64_t kMaxLineBytes = int64_t{32} << 20;

class LineReader {
 public:
  static Result<LineReader> Open(const std::filesystem::path& path, int64_t offset = 0);

  // The next line without its end, valid until the next call; absent at the end of the file. Of a line above
  // kMaxLineBytes only the beginning is given.
  Result<std::optional<std::string_view>> Next();

  int64_t offset() const { return offset_; }   // where the line that Next() gave last begins
  int number() const { return number_; }       // of that line, from 1 where reading began
  bool too_long() const { return too_long_; }  // whether it is above kMaxLineBytes

 private:
  LineReader(std::filesystem::path path, std::ifstream stream, int64_t next);

  std::filesystem::path path_;
  std::ifstream stream_;
  std::unique_ptr<char[]> buffer_;
  int64_t offset_ = 0, next_ = 0;
  int number_ = 0;
  bool too_long_ = false;
};

}  // namespace kb

#endif  // INTEROP_LINE_READER_H_

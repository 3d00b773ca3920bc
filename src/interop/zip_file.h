// A zip archive as every reader takes it: members are stored as they are, without compression.
#ifndef INTEROP_ZIP_FILE_H_
#define INTEROP_ZIP_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace kb {

// CRC-32 as zip has it (polynomial 0xEDB88320, reflected).
uint32_t Crc32(std::string_view bytes);

// Writes beside the path. The archive appears there when Commit() has succeeded; without that nothing stays.
class ZipFile {
 public:
  static Result<ZipFile> Create(const std::filesystem::path& path);

  ZipFile(const ZipFile&) = delete;  // one owner of the temporary file
  ZipFile& operator=(const ZipFile&) = delete;
  ZipFile(ZipFile&& other) noexcept;
  ZipFile& operator=(ZipFile&&) = delete;
  ~ZipFile();

  // kUsage where the archive would exceed what zip holds without its 64-bit form: 65,534 members, 4 GB.
  Status Add(std::string_view name, std::string_view contents);
  Status Commit();

  const std::filesystem::path& path() const { return path_; }

 private:
  ZipFile(std::filesystem::path path, std::string temporary, Fd fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}
  Status Write(std::string_view bytes);

  std::filesystem::path path_;
  std::string temporary_;  // empty: it was put in place
  Fd fd_;
  uint64_t written_ = 0;
  uint16_t members_ = 0;
  std::string directory_;  // the entries that follow the members
};

}  // namespace kb

#endif  // INTEROP_ZIP_FILE_H_

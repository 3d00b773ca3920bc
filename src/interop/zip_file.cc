#include "interop/zip_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace kb {
namespace {

constexpr uint64_t kMostBytes = 0xFFFFFFFE;
constexpr uint16_t kMostMembers = 0xFFFE;

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = MakeCrcTable();

// Numbers are little-endian.
void Append16(std::string* text, uint32_t value) {
  text->push_back(static_cast<char>(value & 0xFF));
  text->push_back(static_cast<char>((value >> 8) & 0xFF));
}

void Append32(std::string* text, uint64_t value) {
  Append16(text, static_cast<uint32_t>(value & 0xFFFF));
  Append16(text, static_cast<uint32_t>((value >> 16) & 0xFFFF));
}

// What the header of a member and its entry in the directory have in common.
std::string CommonHeader(std::string_view name, std::string_view contents) {
  constexpr uint32_t kVersion = 20, kNamesAreUtf8 = 1u << 11, kStored = 0;
  constexpr uint32_t kMidnight = 0, kFirstOf1980 = (1u << 5) | 1u;  // equal contents give equal archives
  std::string header;
  for (const uint32_t value : {kVersion, kNamesAreUtf8, kStored, kMidnight, kFirstOf1980}) Append16(&header, value);
  Append32(&header, Crc32(contents));
  Append32(&header, contents.size());
  Append32(&header, contents.size());
  Append16(&header, static_cast<uint32_t>(name.size()));
  Append16(&header, 0);  // no extra field
  return header;
}

}  // namespace

uint32_t Crc32(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) crc = kCrcTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF] ^ (crc >> 8);
  return crc ^ 0xFFFFFFFFu;
}

Result<ZipFile> ZipFile::Create(const std::filesystem::path& path) {
  std::string temporary = path.string() + ".XXXXXX";
  Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot write {}: {}", path.string(), strerror(errno)));
  }
  return ZipFile(path, std::move(temporary), std::move(fd));
}

ZipFile::ZipFile(ZipFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)),
      written_(other.written_),
      members_(other.members_),
      directory_(std::move(other.directory_)) {}

ZipFile::~ZipFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status ZipFile::Write(std::string_view bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      return Fail(ErrorCode::kUnavailable, fmt::format("cannot write {}: {}", path_.string(), strerror(errno)));
    }
    done += static_cast<size_t>(put);
  }
  written_ += bytes.size();
  return {};
}

Status ZipFile::Add(std::string_view name, std::string_view contents) {
  constexpr uint64_t kHeaderBytes = 30, kEntryBytes = 46;
  const uint64_t after =
      written_ + kHeaderBytes + name.size() + contents.size() + directory_.size() + kEntryBytes + name.size();
  if (members_ == kMostMembers || after > kMostBytes || name.size() > 0xFFFF) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} would be larger than a zip archive can be: 65,534 members, 4 GB", path_.string()));
  }
  const std::string common = CommonHeader(name, contents);
  directory_ += "PK\x01\x02";
  Append16(&directory_, (3u << 8) | 20u);  // made by: Unix
  directory_ += common;
  Append16(&directory_, 0);               // no comment
  Append16(&directory_, 0);               // on the first disk
  Append16(&directory_, 0);               // not known to be text
  Append32(&directory_, 0100644u << 16);  // an ordinary file
  Append32(&directory_, written_);
  directory_ += name;
  ++members_;
  KB_RETURN_IF_ERROR(Write(fmt::format("PK\x03\x04{}{}", common, name)));
  return Write(contents);
}

Status ZipFile::Commit() {
  std::string end = "PK\x05\x06";
  Append32(&end, 0);  // one disk
  Append16(&end, members_);
  Append16(&end, members_);
  Append32(&end, directory_.size());
  Append32(&end, written_);
  Append16(&end, 0);  // no comment
  KB_RETURN_IF_ERROR(Write(directory_ + end));
  if (::fchmod(fd_.get(), 0644) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot put {} in place: {}", path_.string(), strerror(errno)));
  }
  temporary_.clear();
  return {};
}

}  // namespace kb

#include "interop/kernelbook.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "base/json.h"
#include "interop/line_reader.h"

namespace kb {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

// A number, as KernelBook has it, that JSON readers with doubles keep: 52 bits of the texts' hash.
int64_t NumberOf(const KernelBookPair& pair) {
  constexpr size_t kHexDigits = 13;
  return std::stoll(Sha256(pair.python_code + '\0' + pair.triton_code).substr(0, kHexDigits), nullptr, 16);
}

template <typename Json>
std::optional<KernelBookFile::Key> KeyOf(const Json& row) {
  try {
    return KernelBookFile::Key{row.at("problem_sha256"), row.at("size"),   row.at("precision"),
                               row.at("protocol"),       row.at("device"), row.at("versions").at("torch")};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

constexpr std::string_view kBeginning = R"({"repo_name":)";  // of a line

bool IsWhole(const fs::path& path) {
  std::ifstream file(path);
  file.seekg(-1, std::ios::end);
  return !file || file.get() == '\n';
}

}  // namespace

ordered_json KernelBookRow(const KernelBookPair& pair, const json& evaluation) {
  ordered_json row = {{"repo_name", nullptr},
                      {"module_name", pair.entry_point},
                      {"entry_point", pair.entry_point},
                      {"python_code", pair.python_code},
                      {"triton_code", pair.triton_code},
                      {"original_triton_code", pair.original_triton_code},
                      {"synthetic", false},
                      {"uuid", NumberOf(pair)},
                      {"licenses", json::array()},
                      {"stars", nullptr},
                      {"sha", nullptr},
                      {"repo_link", nullptr}};
  for (const char* key : {"problem", "problem_sha256", "size", "verdict", "speedup", "speedup_interval", "no_speedup",
                          "baseline", "protocol", "created"}) {
    row[key] = evaluation.at(key);
  }
  row["precision"] = evaluation.at("protocol_keys").at("precision");
  const json& authorship = evaluation.at("authorship");
  row["authorship"] = authorship.is_object() ? authorship.at("class") : json();
  row["device"] = evaluation.at("device_info").at("name");
  row["versions"] = pair.versions;
  return row;
}

Result<KernelBookFile> KernelBookFile::Open(const fs::path& path) {
  KernelBookFile file(path);
  KB_RETURN_IF_ERROR(file.Append(""));
  KB_RETURN_IF_ERROR(file.Read());
  return file;
}

Status KernelBookFile::Read() {
  KB_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path_));
  const bool whole = IsWhole(path_);
  for (;;) {
    KB_ASSIGN_OR_RETURN(const auto line, reader.Next());
    if (!line) return whole ? Status() : Append("\n");
    const json row = json::parse(*line, nullptr, false);
    if (const auto key = KeyOf(row)) {
      keys_.insert(*key);
      continue;
    }
    const bool ours = line->substr(0, kBeginning.size()) == kBeginning.substr(0, line->size());
    const int64_t begins = reader.offset();
    const int number = reader.number();
    KB_ASSIGN_OR_RETURN(const auto next, reader.Next());
    if (row.is_discarded() && ours && !whole && !next) return CutOff(begins);
    return Fail(ErrorCode::kUsage, fmt::format("{}:{} is no pair that --keep-triton wrote; name another file, or one "
                                               "that is not there yet",
                                               path_.string(), number));
  }
}

Status KernelBookFile::CutOff(int64_t end) const {
  std::error_code error;
  fs::resize_file(path_, static_cast<uintmax_t>(end), error);
  if (!error) return {};
  return Fail(ErrorCode::kUsage, fmt::format("cannot write {}: {}", path_.string(), error.message()));
}

Status KernelBookFile::Append(const std::string& text) const {
  std::ofstream file(path_, std::ios::app);
  file << text << std::flush;
  if (file) return {};
  return Fail(ErrorCode::kUsage, fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
}

Status KernelBookFile::Add(const ordered_json& row) {
  if (Status added = Append(Dump(row) + "\n"); !added) return Fail(ErrorCode::kStore, added.error().message);
  if (const auto key = KeyOf(row)) keys_.insert(*key);
  return {};
}

}  // namespace kb

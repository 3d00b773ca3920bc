// A candidate that is a folder, as one text: its packed form. Whoever keeps, hashes, sends or shows the text of a
// candidate does the same for a folder as for a file.
//
//   kernelbench folder
//
//   ==> kernels/relu.cpp, 71 bytes <==
//   (71 bytes)
//   ==> model_new.py, 204 bytes <==
//   (204 bytes)
//
// A newline that is not its own follows each file. Files are in the order of their paths, so the same files are the
// same text, and a text is of one folder alone.
#ifndef JUDGE_CANDIDATE_FOLDER_H_
#define JUDGE_CANDIDATE_FOLDER_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace kb {

inline constexpr size_t kMaxCandidateBytes = size_t{4} << 20;  // of one file
inline constexpr size_t kMaxFolderFiles = 200;
inline constexpr size_t kMaxFolderBytes = 5'000'000;  // of its files together
inline constexpr size_t kMaxFolderPath = 200;         // bytes of a path
inline constexpr size_t kMaxPackedBytes = kMaxFolderBytes + kMaxFolderFiles * (kMaxFolderPath + 32) + 32;
inline constexpr const char* kFolderEntry = "model_new.py";  // defines ModelNew

// Texts by paths below the folder.
using FolderFiles = std::map<std::string, std::string>;

bool IsPacked(std::string_view text);
// So many bytes may the text of a candidate have, a file's or a folder's.
size_t MostBytes(std::string_view text);
// Errors are kUsage and say which file is wrong: too many or too large, no entry, a path that is none below the folder
// or that a folder on a disk leaves out, a text that is not UTF-8 or holds a NUL, Python that says it is in another
// encoding.
Result<std::string> Pack(const FolderFiles& files);
// Errors: it is no text that Pack() makes.
Result<FolderFiles> Unpack(std::string_view text);

// Begins as a folder does and is none: the text of a folder that is refused.
std::string PackedNothing();

// The text of a candidate, of a folder its packed form; or why what is there cannot be one.
struct CandidateText {
  std::string text;
  std::string rejection;  // one sentence; empty if there is a text
};

// Of the file or folder at `path`. Names that begin with a dot and __pycache__ are no part of a folder. What a user can
// only have written wrong is a rejection: too long or too many, a link, no text, what Pack() refuses. Errors are
// kUsage: it cannot be read.
Result<CandidateText> ReadCandidateText(const std::filesystem::path& path);
// The same of an open folder, which may change meanwhile; `name` is for errors. And of what a file holds.
Result<CandidateText> ReadCandidateFolder(Fd directory, const std::string& name);
CandidateText CandidateFile(std::string text);

}  // namespace kb

#endif  // JUDGE_CANDIDATE_FOLDER_H_

// Problems that users bring: a KernelBench checkout, or an export of its dataset.
#ifndef JUDGE_PROBLEM_PROBLEM_SOURCE_H_
#define JUDGE_PROBLEM_PROBLEM_SOURCE_H_

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"

namespace kb {

// The JSON Lines of a Parquet file.
using ReadParquet = std::function<Result<std::string>(const std::filesystem::path&)>;

// A directory that ListProblems() understands, from
//   a directory that holds level1/, level2/ ..., or KernelBench/level1/ ... (a checkout)
//   a file of JSON Lines, or Parquet, with the dataset's columns level, problem_id, name and code
//   a directory of such files
// Exports are unpacked below `cache`, once for each content. Errors are usage errors that name the file and the line.
Result<std::filesystem::path> OpenProblems(const std::filesystem::path& given, const std::filesystem::path& cache,
                                           const ReadParquet& read_parquet);

}  // namespace kb

#endif  // JUDGE_PROBLEM_PROBLEM_SOURCE_H_

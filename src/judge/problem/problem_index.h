// problems/index.json: what was measured of each problem of a deck (scripts/problem_index.py writes it).
#ifndef JUDGE_PROBLEM_PROBLEM_INDEX_H_
#define JUDGE_PROBLEM_PROBLEM_INDEX_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace kb {

// What the index of a problem's deck says of it: {"sha256" of the file it was measured with, "dominated_by", "sizes"};
// an empty object for a problem that no index knows.
nlohmann::json IndexEntry(const std::filesystem::path& problem_file, const std::string& name);

// {"input_bytes", "parameter_bytes", "output_bytes", "flops", "matrix_flops"} of a problem at a size, from its entry;
// an empty object if there is none.
nlohmann::json MeasuredFigures(const std::filesystem::path& problem_file, const std::string& name,
                               const std::string& size);

}  // namespace kb

#endif  // JUDGE_PROBLEM_PROBLEM_INDEX_H_

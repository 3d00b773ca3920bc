// Evaluations made up for tests of the reports: right ones, wrong ones, hostile ones.
#ifndef REPORT_SAMPLE_EVALUATIONS_H_
#define REPORT_SAMPLE_EVALUATIONS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kb {

// A correct evaluation of `problem` with this speedup, its interval `relative` wide on each side, and 20 samples.
nlohmann::json SampleCorrect(const std::string& id, const std::string& problem, double speedup, double relative = 0.02);

// One that failed with this verdict, as the engine would write it.
nlohmann::json SampleFailure(const std::string& id, const std::string& problem, const std::string& verdict);

// An incorrect one with a mismatch and its histogram.
nlohmann::json SampleIncorrect(const std::string& id, const std::string& problem);

// Markup, escape sequences and bytes that are not UTF-8 in every place that a candidate can reach.
nlohmann::json SampleHostile(const std::string& id);

// A report's worth of them, two protocols among them.
std::vector<nlohmann::json> SampleReport();

}  // namespace kb

#endif  // REPORT_SAMPLE_EVALUATIONS_H_

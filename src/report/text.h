// Text of reports. Sources, compiler output and what candidates print are hostile: they pass CleanText before they
// reach a terminal.
#ifndef REPORT_TEXT_H_
#define REPORT_TEXT_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace kb {

// Valid UTF-8 without anything that acts: bytes that are not UTF-8 become U+FFFD, control characters (escape sequences)
// their visible pictures, bidirectional overrides their code in brackets, CR and CRLF a newline. Tab and newline stay.
std::string CleanText(std::string_view bytes);

// Columns a terminal uses for clean text: wide East Asian characters and emoji take two, combining marks none.
size_t DisplayWidth(std::string_view text);

inline constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();  // columns where no terminal sets any

// CleanText on one line, cut at `columns` with an ellipsis.
std::string OneLine(std::string_view bytes, size_t columns);

// The last `bytes` of a text, from the beginning of a line on, where there is one.
std::string_view Tail(std::string_view text, size_t bytes);

inline constexpr char kDash[] = "–";  // what stands for a value that does not exist

std::string FormatSpeedup(std::optional<double> speedup);                           // "1.82×"
std::string FormatInterval(std::optional<double> low, std::optional<double> high);  // "[1.79×, 1.86×]"
std::string FormatTime(std::optional<double> microseconds);                         // "48.3 µs", "2.91 ms", "1.20 s"
std::string FormatPercent(double share);                                            // "37.5%"
std::string FormatCount(double count);                                              // "1,048,576"
std::string FormatMemory(uint64_t bytes);                                           // "1.5 MB", "8 GB", of 2^30 bytes
inline std::string CountText(int64_t count) { return FormatCount(static_cast<double>(count)); }

// "2024-05-01 10:00 UTC" of "2024-05-01T10:00:00Z"; anything else unchanged.
std::string FormatDate(std::string_view iso8601);

}  // namespace kb

#endif  // REPORT_TEXT_H_

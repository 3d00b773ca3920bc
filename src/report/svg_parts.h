// What plots are made of.
#ifndef REPORT_SVG_PARTS_H_
#define REPORT_SVG_PARTS_H_

#include <string>
#include <vector>

namespace kb::svg {

// Maps [low, high] to [from, to], linearly or by logarithm.
struct Axis {
  double low, high, from, to;
  bool logarithmic;

  double operator()(double value) const;
};

// 1, 2 and 5 times powers of ten within [low, high]; only 1s where that would be more than `most`.
std::vector<double> LogTicks(double low, double high, size_t most);
std::vector<double> LinearTicks(double low, double high);

std::string Open(double width, double height, const std::string& label);  // to be closed with </svg>
std::string Text(double x, double y, const char* attributes, const std::string& escaped);
std::string Rule(double x1, double y1, double x2, double y2, const char* style);

// "0.5×", "10×": a tick needs no trailing digits.
std::string Multiple(double value);

}  // namespace kb::svg

#endif  // REPORT_SVG_PARTS_H_

#include "cli/number_checks.h"

#include <fmt/format.h>

#include <cmath>

namespace kb::cli {

CLI::Validator AtLeast(int64_t least) {
  const auto check = [least](const std::string& text) {
    int64_t number = 0;
    if (CLI::detail::lexical_cast(text, number) && number >= least) return std::string();
    return fmt::format("\"{}\" is no whole number of at least {}", text, least);
  };
  return {check, least > 0 ? "POSITIVE" : "NONNEGATIVE"};
}

CLI::Validator AboveZero() {
  const auto check = [](const std::string& text) {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && number > 0 && std::isfinite(number)) return std::string();
    return fmt::format("\"{}\" is no number above 0", text);
  };
  return {check, "POSITIVE"};
}

}  // namespace kb::cli

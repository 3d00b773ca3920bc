// Checks of numbers on the command line whose messages are shorter than CLI11's own, which print the largest double.
#ifndef CLI_NUMBER_CHECKS_H_
#define CLI_NUMBER_CHECKS_H_

#include <CLI/CLI.hpp>
#include <cstdint>

namespace kb::cli {

// A whole number, `least` (0 or 1) or larger.
CLI::Validator AtLeast(int64_t least);
// A finite number above 0.
CLI::Validator AboveZero();

}  // namespace kb::cli

#endif  // CLI_NUMBER_CHECKS_H_

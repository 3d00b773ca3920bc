// What `score` and `compare` share: which stored evaluations they are about, and where the answer goes.
#ifndef CLI_SCORE_FLAGS_H_
#define CLI_SCORE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/selection_flags.h"
#include "pages/score_input.h"

namespace kb::cli {

struct ScoreFlags {
  std::string store;
  std::vector<std::string> runs;  // none: all
  SelectionFlags selection;
  std::vector<std::string> models, levels;  // none: all
  std::string device, protocol, size;       // empty: all; a device's kind or name
  std::optional<double> cap;
  bool audited = false;
  std::string arithmetic;      // empty: any
  std::string format, output;  // empty: by the output's extension, else for a terminal
  bool json = false;
};

void AddScoreFlags(CLI::App* command, ScoreFlags* flags, const std::vector<std::string>& formats);

// What the flags select. A store that does not exist yet holds nothing; a run that does not exist is a usage error.
Result<ScoreInput> ReadScoreInput(const ScoreFlags& flags);

// The name of the format: --json, --format, or what the extension of --output says.
Result<std::string> FormatOf(const ScoreFlags& flags, const std::vector<std::string>& formats);

// Of the window that WriteOutput() writes to; kNoLimit for a file.
size_t OutputColumns(const ScoreFlags& flags);

// To the file of --output, or else to stdout.
Status WriteOutput(const ScoreFlags& flags, const std::string& text);

}  // namespace kb::cli

#endif  // CLI_SCORE_FLAGS_H_

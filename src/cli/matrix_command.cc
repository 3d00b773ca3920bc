#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/generate_cards.h"
#include "cli/generate_run.h"
#include "cli/make_pages.h"
#include "cli/presets.h"
#include "cli/score_flags.h"
#include "cli/screen.h"
#include "report/score_formats.h"

namespace kb::cli {
namespace {

struct MatrixFlags {
  std::string file, report, store = DefaultStore();
  bool forecast_only = false, json = false, quiet = false;
};

// What `generate` would be given: `problems` are its arguments, `models` its --model, every other key its flag.
Status AddArguments(const std::string& key, const toml::node& value, const CLI::App& parser,
                    std::vector<std::string>* arguments) {
  const std::string flag = key == "models" ? "--model" : "--" + key;
  const CLI::Option* option = key == "problems" ? nullptr : parser.get_option_no_throw(flag);
  if (option == nullptr && key != "problems") {
    return Fail(ErrorCode::kUsage, fmt::format("there is no key {}: it is problems, models or a flag of kernelbench "
                                               "generate without its dashes",
                                               key));
  }
  if (option != nullptr && option->get_items_expected_max() == 0) {  // takes no value
    const auto wanted = value.value_exact<bool>();
    if (!wanted) return Fail(ErrorCode::kUsage, fmt::format("{} should be true or false", key));
    if (*wanted) arguments->push_back(flag);
    return {};
  }
  const auto add = [&](const toml::node& one) -> Status {
    KB_ASSIGN_OR_RETURN(const std::string text, ValueText(one, key));
    arguments->push_back(option == nullptr ? text : fmt::format("{}={}", flag, text));
    return {};
  };
  const toml::array* list = value.as_array();
  if (list == nullptr) return add(value);
  for (const toml::node& one : *list) KB_RETURN_IF_ERROR(add(one));
  return {};
}

// Devices are those of --devices, or cards.
Status AddDevices(const toml::node& value, GenerateFlags* flags, std::vector<std::string>* arguments) {
  std::vector<std::string> entries;
  if (const toml::array* list = value.as_array()) {
    for (const toml::node& one : *list) {
      KB_ASSIGN_OR_RETURN(entries.emplace_back(), ValueText(one, "devices"));
    }
  } else {
    KB_ASSIGN_OR_RETURN(const std::string text, ValueText(value, "devices"));
    std::istringstream stream(text);
    for (std::string entry; std::getline(stream, entry, ',');) entries.push_back(entry);
  }
  KB_ASSIGN_OR_RETURN(const DeviceList devices, ReadDeviceList(entries));
  arguments->push_back("--devices=" + devices.devices);
  flags->cards = devices.cards;
  return {};
}

Result<std::shared_ptr<GenerateFlags>> ReadMatrix(const MatrixFlags& flags) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(flags.file, size_t{1} << 20));
  const auto fail = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: {}", flags.file, what));
  };
  auto parsed = std::make_shared<GenerateFlags>();
  CLI::App parser{"matrix"};
  parser.set_help_flag();  // no key of a file
  AddGenerateFlags(&parser, parsed);
  std::vector<std::string> arguments;
  try {
    const toml::table table = toml::parse(text);
    for (const auto& [key, value] : table) {
      if (const Status added = key == "devices" ? AddDevices(value, parsed.get(), &arguments)
                                                : AddArguments(std::string(key.str()), value, parser, &arguments);
          !added) {
        return fail(added.error().message);
      }
    }
    if (!table.contains("store")) arguments.push_back("--store=" + flags.store);
    std::reverse(arguments.begin(), arguments.end());
    parser.parse(arguments);  // takes them from the end
    if (const Status set = ApplyPreset(parsed->preset, &parser); !set) return fail(set.error().message);
  } catch (const toml::parse_error& error) {
    return fail(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  } catch (const CLI::ParseError& error) {
    return fail(error.what());
  }
  parsed->json |= flags.json;
  parsed->quiet |= flags.quiet;
  parsed->forecast_only |= flags.forecast_only;
  return parsed;
}

// The run's scores, each problem with the best of all its candidates.
Status ScoreMatrix(const MatrixFlags& flags, const GenerateFlags& generated) {
  ScoreFlags wanted;
  wanted.store = generated.store;
  wanted.runs = {generated.run};
  wanted.selection.problems = generated.selection.problems;
  KB_ASSIGN_OR_RETURN(ScoreInput input, ReadScoreInput(wanted));
  if (!flags.json) DropWaitingCards(&input);
  KB_ASSIGN_OR_RETURN(const auto strategy, MakeStrategy(generated.strategy));
  ScoreOptions options;
  if (strategy->Total() > 1) options.ks = {1, strategy->Total()};
  const ScoreSheet sheet = MakeScoreSheet(input.rows, input.jobs, input.problems, options);
  fmt::print("{}", flags.json ? ScoreJson(sheet) : ScoreTerminal(sheet, ColumnsOf(STDOUT_FILENO)));
  if (flags.report.empty()) return {};
  wanted.output = flags.report;
  KB_RETURN_IF_ERROR(WriteScorePage(wanted));
  if (!flags.json) fmt::print("report: {}\n", flags.report);
  return {};
}

int Matrix(const MatrixFlags& flags) {
  const auto generated = ReadMatrix(flags);
  if (!generated) return PrintError(generated.error());
  const int code = GenerateAndJudge(**generated);
  if (code != kAllCorrect || (*generated)->forecast_only || !(*generated)->judged) return code;
  if (const Status scored = ScoreMatrix(flags, **generated); !scored) return PrintError(scored.error());
  return kAllCorrect;
}

}  // namespace

void AddMatrix(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<MatrixFlags>();
  CLI::App* command = app->add_subcommand(
      "matrix", "models times problems from a TOML file: generated, judged and scored; the same command goes on");
  command
      ->add_option("file", flags->file, "problems, models, run, and flags of generate as keys (docs/guide/generate.md)")
      ->required();
  command->add_option("--report", flags->report, "also write the run as one page that opens at its scores");
  command->add_option("--store", flags->store, "where everything is kept")->capture_default_str();
  command->add_flag("--forecast", flags->forecast_only, "say what it will take, and ask nothing");
  command->add_flag("--json", flags->json, "one line of JSON for each evaluation, one for the run, then the scores");
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->callback([flags, exit_code] { *exit_code = Matrix(*flags); });
}

}  // namespace kb::cli

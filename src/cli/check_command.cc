// kernelbench check: what static analysis says of files, without judging them.
#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "cli/commands.h"
#include "judge/candidate/candidate.h"
#include "judge/protocol/protocol.h"
#include "judge/static/candidate_check.h"
#include "prompt/extract.h"
#include "report/text.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct CheckFlags {
  std::vector<std::string> files;
  std::string protocol = "strict", precision, backend, device, rules;
  bool answer = false, json = false;
};

Result<Protocol> MakeProtocol(const CheckFlags& flags) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(Protocol protocol, Protocol::Load(installation.protocols, flags.protocol));
  // Of an answer any native candidate will do, which no protocol asks for.
  const std::string backend = flags.answer && flags.backend == "native" ? "" : flags.backend;
  const std::pair<const char*, const std::string&> keys[] = {
      {"precision", flags.precision}, {"backend", backend}, {"static", flags.rules}};
  for (const auto& [key, value] : keys) {
    if (!value.empty()) KB_RETURN_IF_ERROR(protocol.Set(key, value));
  }
  KB_RETURN_IF_ERROR(protocol.Validate());
  return protocol;
}

// On which device a candidate could run is not asked here.
constexpr const char* kAnyDevice = "";

// The candidate in a model's answer; where there is none, one with the reason as its rejection.
Result<Candidate> ReadAnswer(const std::string& file, const CheckFlags& flags) {
  KB_ASSIGN_OR_RETURN(const Target target, MakeTarget(flags.backend.empty() ? "native" : flags.backend, flags.device));
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  const Extraction found = ExtractCode(text, target);
  const std::filesystem::path path = std::filesystem::path(file).replace_extension(FileExtension(target));
  if (found.ok()) return MakeCandidate(path, found.source, kAnyDevice);
  Candidate none;
  none.path = path;
  none.rejection = found.reason;
  return none;
}

// A path in a folder; of a file that holds a folder's text, as linkers name a member of an archive.
std::string PlaceOf(const StaticFinding& finding, const std::string& name) {
  if (finding.file.empty()) return name;
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(name, ignored);
  return fmt::format("{}{}{}{}", name, is_folder ? "/" : "(", OneLine(finding.file, finding.file.size()),
                     is_folder ? "" : ")");
}

int CheckFiles(const CheckFlags& flags) {
  const auto protocol = MakeProtocol(flags);
  if (!protocol) return PrintError(protocol.error());
  int exit_code = kAllCorrect;
  for (const std::string& file : flags.files) {
    const auto candidate = flags.answer ? ReadAnswer(file, flags) : ReadCandidate(file, kAnyDevice);
    if (!candidate) {
      exit_code = std::max<int>(exit_code, PrintError(candidate.error()));
      continue;
    }
    const auto findings =
        candidate->rejection.empty() ? StaticCheckCandidate(*candidate, *protocol) : std::vector<StaticFinding>();
    if (!candidate->rejection.empty() || FirstError(findings)) exit_code = std::max<int>(exit_code, kNotAllCorrect);
    if (flags.json) {
      json line = {{"file", file},
                   {"protocol", flags.protocol},
                   {"backend", candidate->backend},
                   {"rejection", candidate->rejection},
                   {"findings", StaticFindingsJson(findings)}};
      if (flags.answer) {
        line["source"] = candidate->source;
        line["extension"] = candidate->path.extension();
      }
      fmt::print("{}", JsonLine(line));
      continue;
    }
    const std::string name = OneLine(file, file.size());
    if (!candidate->rejection.empty()) fmt::print("{}:1:1: error: no candidate: {}\n", name, candidate->rejection);
    for (const StaticFinding& each : findings) {
      fmt::print("{}:{}:{}: {}: {}: {}\n", PlaceOf(each, name), each.line, each.column, SeverityName(each.severity),
                 each.rule, each.reason);
    }
  }
  return exit_code;
}

}  // namespace

void AddCheck(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app->add_subcommand("check", "static analysis of candidates; nothing is built or run");
  command
      ->add_option("files", flags->files,
                   ".py (ModelNew), .cpp or .cu (kb_forward) files, or folders with a model_new.py")
      ->required();
  command->add_option("--protocol", flags->protocol, "whose severities hold")->capture_default_str();
  command->add_option("--precision", flags->precision, "of the problem: fp32, fp16 or bf16");
  command->add_option("--backend", flags->backend, "the backend that the candidate must be written in");
  command->add_option("--static", flags->rules, "rule=error, rule=warning or rule=off, separated by commas")
      ->multi_option_policy(CLI::MultiOptionPolicy::Join)
      ->delimiter(',');
  CLI::Option* answer = command->add_flag(
      "--answer", flags->answer,
      "the files are what models answered: the candidate in each is checked (docs/reference/prompts.md)");
  command->add_option("--device", flags->device, "with --answer: cpu or cuda; default: what the backend runs on")
      ->needs(answer);
  command->add_flag("--json", flags->json, "one line of JSON for each file");
  command->callback([flags, exit_code] { *exit_code = CheckFiles(*flags); });
}

}  // namespace kb::cli

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "server/access.h"

namespace kb::cli {
namespace {

struct TokenFlags {
  std::string file, store = DefaultStore();
  server::Client client;
  std::vector<std::string> rights = {"judge"};
  bool json = false;

  server::TokenFile File() const {
    return server::TokenFile(file.empty() ? std::filesystem::path(store).parent_path() / "tokens.json"
                                          : std::filesystem::path(file));
  }
};

Status Add(const TokenFlags& flags) {
  server::Client client = flags.client;
  client.rights = {flags.rights.begin(), flags.rights.end()};
  KB_ASSIGN_OR_RETURN(const std::string token, flags.File().Add(client));
  if (flags.json) {
    fmt::print("{}", JsonLine(nlohmann::json{{"name", client.name}, {"token", token}}));
  } else {
    fmt::print("{}\n", token);
    fmt::print(stderr, "kernelbench: this is the token of {}; it is not stored and is not shown again\n", client.name);
  }
  return {};
}

std::string Quotas(const server::Client& client) {
  std::string text = fmt::format("{:>7} open at most", client.queued);
  if (client.builds > 0) text += fmt::format(", {} builds at a time", client.builds);
  if (client.device_s > 0) text += fmt::format(", {} device seconds an hour", client.device_s);
  return text;
}

Status List(const TokenFlags& flags) {
  KB_ASSIGN_OR_RETURN(const std::vector<server::Token> tokens, flags.File().Read());
  for (const server::Token& token : tokens) {
    if (flags.json) {
      fmt::print("{}", JsonLine(nlohmann::json{{"name", token.client.name},
                                               {"rights", token.client.rights},
                                               {"queued", token.client.queued},
                                               {"builds", token.client.builds},
                                               {"device_s", token.client.device_s},
                                               {"created", token.created}}));
    } else {
      fmt::print("{:<20} {:<24} {}, since {}\n", token.client.name,
                 fmt::format("{}", fmt::join(token.client.rights, ",")), Quotas(token.client), token.created);
    }
  }
  return {};
}

Status Revoke(const TokenFlags& flags) {
  KB_ASSIGN_OR_RETURN(const bool found, flags.File().Revoke(flags.client.name));
  if (!found) return Fail(ErrorCode::kUsage, fmt::format("there is no token of {}", flags.client.name));
  return {};
}

void AddCommand(CLI::App* token, const char* name, const char* help, Status (*run)(const TokenFlags&),
                const std::shared_ptr<TokenFlags>& flags, int* exit_code) {
  CLI::App* command = token->add_subcommand(name, help);
  command->add_option("--store", flags->store, "the file of tokens lies beside it")->capture_default_str();
  command->add_option("--tokens", flags->file, "the file of tokens");
  if (std::string_view(name) != "list") {
    command->add_option("name", flags->client.name, "the client's name")
        ->required()
        ->check([](const std::string& text) {
          const bool fine =
              !text.empty() && text.size() <= 64 &&
              text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
                  std::string::npos;
          const bool taken = text == "local" || text == "anyone";
          return fine && !taken ? "" : "take up to 64 letters, digits, _, . and -; local and anyone are taken";
        });
  }
  if (std::string_view(name) == "add") {
    command->add_option("--rights", flags->rights, "judge, problems, admin")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(server::kRights))
        ->capture_default_str();
    command->add_option("--queued", flags->client.queued, "evaluations that may be open at the same time")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command
        ->add_option("--builds", flags->client.builds,
                     "candidates that may be built at the same time, others wait; 0: any number")
        ->check(CLI::Range(0, 1'000))
        ->capture_default_str();
    command
        ->add_option("--device-seconds", flags->client.device_s,
                     "time of devices in an hour, in seconds; 0: any amount")
        ->check(CLI::Range(0.0, 1e9))
        ->capture_default_str();
  }
  if (std::string_view(name) != "revoke") command->add_flag("--json", flags->json, "one line of JSON for each");
  command->callback([flags, run, exit_code] {
    const Status done = run(*flags);
    *exit_code = done ? int{kAllCorrect} : PrintError(done.error());
  });
}

}  // namespace

void AddToken(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<TokenFlags>();
  CLI::App* token = app->add_subcommand("token", "who may use a service over TCP (docs/guide/service.md)");
  token->require_subcommand(1);
  AddCommand(token, "add", "make a client's token and print it", Add, flags, exit_code);
  AddCommand(token, "list", "whose tokens there are", List, flags, exit_code);
  AddCommand(token, "revoke", "take a client's token away", Revoke, flags, exit_code);
}

}  // namespace kb::cli

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/file.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/judge_flags.h"
#include "cli/score_flags.h"
#include "cli/selection_flags.h"
#include "cli/serve_demo.h"
#include "cli/warm_service.h"
#include "jobs/devices.h"
#include "judge/devices/device_kind.h"
#include "judge/doctor/doctor.h"
#include "pages/pages.h"
#include "report/score_formats.h"
#include "server/api.h"
#include "server/http_server.h"
#include "store/store.h"

namespace kb::cli {
namespace {

namespace fs = std::filesystem;

struct ServeFlags {
  std::shared_ptr<JudgeFlags> judge = std::make_shared<JudgeFlags>();
  std::string devices = ThisDevice(), store = DefaultStore(), socket, listen, tokens, problems;
  std::vector<std::string> hosts;
  double idle_s = 0;
  bool no_auth = false, allow_problems = false, show_all = false, demo = false, quiet = false;
};

// 127.0.0.1:80, [::1]:80, localhost:80.
bool IsLoopback(const std::string& address) {
  const bool numeric = address.find_first_not_of("0123456789.:") == std::string::npos;  // 127.example.org is anywhere
  return (numeric && address.starts_with("127.")) || address.starts_with("[::1]:") || address.starts_with("localhost:");
}

Status CheckFlags(const ServeFlags& flags) {
  if (flags.no_auth && flags.listen.empty()) return Fail(ErrorCode::kUsage, "--no-auth is for --listen");
  if (flags.no_auth && !IsLoopback(flags.listen)) {
    return Fail(ErrorCode::kUsage,
                "--no-auth is for a loopback address alone: others need tokens (kernelbench token add)");
  }
  if (flags.show_all && !flags.no_auth) {
    return Fail(ErrorCode::kUsage, "--show-all is for --no-auth: with a token its right admin shows all");
  }
  if (flags.allow_problems && !flags.no_auth) {
    return Fail(ErrorCode::kUsage, "--allow-problems is for --no-auth: a token has the right or not");
  }
  return {};
}

std::atomic<int> asked_to_end = 0;

// The first signal ends the service when what is judged has ended, the second at once.
void OnSignal(int) {
  if (++asked_to_end > 1) Interrupt();
}

// Until a signal, an error that keeps it from judging, of the store, say, or until nothing was asked and nothing is
// open for `idle_s` seconds; 0: however long.
void WaitForEnd(const server::Desk& desk, const server::Api& api, double idle_s) {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  double open_at_s = 0;  // idle_s() when something was last open
  while (asked_to_end == 0 && !Interrupted() && desk.status()) {
    std::this_thread::sleep_for(kInterruptSlice);
    if (desk.counts().Open() > 0 || api.idle_s() < open_at_s) open_at_s = api.idle_s();
    if (idle_s > 0 && api.idle_s() - open_at_s > idle_s) return;
  }
}

// As `kernelbench score RUN --json` prints them.
Result<std::string> ScoresOf(ScoreFlags flags, const std::string& run) {
  flags.runs = {run};
  KB_ASSIGN_OR_RETURN(const ScoreInput input, ReadScoreInput(flags));
  std::string scores = ScoreJson(MakeScoreSheet(input.rows, input.jobs, input.problems, {}, input.spent));
  scores.resize(scores.find_last_not_of('\n') + 1);
  return scores;
}

// Of clients whose evaluations an earlier service left.
std::map<std::string, int> BuildsOf(const server::TokenFile& file) {
  std::map<std::string, int> builds;
  if (const auto tokens = file.Read()) {  // else each request says what is wrong with it
    for (const server::Token& token : *tokens) builds[token.client.name] = token.client.builds;
  }
  return builds;
}

Result<server::ApiOptions> ApiOptionsOf(const ServeFlags& flags, const Installation& installation,
                                        const std::vector<std::string>& devices) {
  server::ApiOptions options{.version = KB_VERSION, .devices = devices};
  options.access = {
      .tokens = flags.tokens, .no_auth = flags.no_auth, .allow_problems = flags.allow_problems, .hosts = flags.hosts};
  options.identity = server::IdentityOf(OptionsOf(*flags.judge), devices, flags.judge->jobs);
  KB_ASSIGN_OR_RETURN(options.rewards, server::ReadRewards(installation.rewards));
  options.installation = installation;
  ScoreFlags scores;
  scores.store = flags.store;
  scores.selection.problems = flags.problems;
  options.scores = [scores](const std::string& run) { return ScoresOf(scores, run); };
  return options;
}

// One service has a store: another would judge what is this one's. Held as long as it lives.
Result<Fd> LockStore(const std::string& store) {
  const std::string path = ServiceLock(store);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return Fail(ErrorCode::kStore, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  for (int tries = 0; tries < 5; ++tries) {  // who looks whether it is locked has it for a moment
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("another service has the store {}: stop it, or choose another store", store));
}

void PrintDemo(const ServeFlags& flags, const std::string& address) {
  std::error_code ignored;
  const Demo demo{.url = "http://" + address,
                  .binary = fs::read_symlink("/proc/self/exe", ignored),
                  .store = fs::absolute(flags.store, ignored),
                  .tokens = flags.no_auth ? "" : fs::absolute(flags.tokens, ignored).string()};
  fmt::print("{}", DemoText(demo));
  std::fflush(stdout);
}

void PrintPages(const ServeFlags& flags, const std::string& address) {
  fmt::print(stderr, "pages: http://{}/{}\n", address,
             !flags.no_auth    ? " (with a token: kernelbench token add)"
             : !flags.show_all ? " (of what is sent without a token; --show-all: of the whole store)"
                               : "");
}

// What pages show of the machine.
nlohmann::json MachineOf(const server::Desk& desk, const server::Identity& identity) {
  nlohmann::json machine = server::ServiceJson(desk, identity);
  const server::Desk::Counts counts = desk.counts();
  machine["queue"] = counts.open;
  machine["ended"] = counts.ended;
  return machine;
}

Result<nlohmann::json> AskDoctor(const server::Desk& desk, const Installation& installation, const JudgeFlags& judge,
                                 const fs::path& state) {
  if (desk.counts().Open() > 0) {
    return Fail(ErrorCode::kUnavailable,
                "candidates are being judged, and the checks would disturb their times: ask again when none waits");
  }
  KB_ASSIGN_OR_RETURN(const Diagnosis diagnosis, Diagnose(installation, OptionsOf(judge).isolation, {}, state));
  return diagnosis.ToJson();
}

Status Serve(ServeFlags flags) {
  if (flags.demo && flags.listen.empty()) {
    flags.listen = "127.0.0.1:0";
    flags.no_auth = true;
  }
  KB_RETURN_IF_ERROR(CheckFlags(flags));
  if (flags.socket.empty()) flags.socket = ServiceSocket(flags.store);
  if (flags.tokens.empty()) flags.tokens = fs::path(flags.store).parent_path() / "tokens.json";
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(const fs::path problems, ProblemDirectory(flags.problems));
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> devices, FindDevices(flags.devices));
  KB_ASSIGN_OR_RETURN(Store store, Store::Open(flags.store));
  KB_ASSIGN_OR_RETURN(const Fd lock, LockStore(flags.store));
  const auto reader =
      std::make_shared<const server::OrderReader>(problems, installation.protocols, KindOf(devices.front()));
  server::DeskOptions desk_options{.make_judge = EvaluatorJudges(OptionsOf(*flags.judge)),
                                   .devices = devices,
                                   .compilations = flags.judge->jobs,
                                   .reader = reader,
                                   .builds = BuildsOf(server::TokenFile(flags.tokens))};
  KB_ASSIGN_OR_RETURN(server::ApiOptions api_options, ApiOptionsOf(flags, installation, devices));
  KB_ASSIGN_OR_RETURN(const auto desk, server::Desk::Open(std::move(desk_options), &store));
  // Two that are only read: their readers hold up nobody who writes, and those of pages nobody else.
  KB_ASSIGN_OR_RETURN(Store reading, Store::Open(flags.store));
  KB_ASSIGN_OR_RETURN(const Store shown, Store::Open(flags.store));
  api_options.pages_show_all = flags.show_all;
  api_options.pages = std::make_shared<Pages>(
      &shown,
      PagesOptions{
          .installation = installation,
          .problems = problems,
          .version = KB_VERSION,
          .service = [desk = desk.get(), identity = api_options.identity] { return MachineOf(*desk, identity); },
          .doctor =
              [&flags, &installation, desk = desk.get()] {
                return AskDoctor(*desk, installation, *flags.judge, fs::path(flags.store).parent_path());
              },
          .tell_s = 1});
  const std::jthread prepare([pages = flags.listen.empty() ? nullptr : api_options.pages] {
    if (pages) (void)pages->Prepare();  // an error is told to whoever reads
  });
  server::Api api(std::move(api_options), reader, desk.get(), &reading);
  KB_ASSIGN_OR_RETURN(const auto http, server::HttpServer::Start({flags.socket, flags.listen}, {}, &api));
  if (!flags.quiet) {
    fmt::print(stderr, "kernelbench: judging on {}; listening on {}{}\n", fmt::join(devices, ", "), flags.socket,
               flags.listen.empty() ? "" : fmt::format(" and http://{}", http->address()));
  }
  if (!flags.quiet && !flags.listen.empty()) PrintPages(flags, http->address());
  if (flags.demo) PrintDemo(flags, http->address());
  WaitForEnd(*desk, api, flags.idle_s);
  const Status judging = desk->status();
  if (!flags.quiet) fmt::print(stderr, "kernelbench: ending when what is judged has ended; once more: at once\n");
  http->StopAccepting();
  desk->Stop();
  api.Stop();
  http->Stop();
  return judging || judging.error().code == ErrorCode::kInterrupted ? Status() : judging;
}

void AddServeFlags(CLI::App* command, const std::shared_ptr<ServeFlags>& flags) {
  command->add_option("--devices", flags->devices, "cpu, cuda, cuda:0,cuda:1 or cuda:0-3")->capture_default_str();
  command->add_option("--socket", flags->socket, "the Unix socket, for this user alone; default: beside the store");
  command->add_option("--listen", flags->listen, "also over TCP: 127.0.0.1:8080; port 0: one that is free");
  command->add_option("--tokens", flags->tokens, "the file of tokens; default: tokens.json beside the store");
  command->add_option("--host", flags->hosts, "a name under which it is reached over TCP");
  command->add_flag("--no-auth", flags->no_auth, "over TCP nobody needs a token, for a loopback address");
  command->add_flag("--show-all", flags->show_all, "with --no-auth: pages show the whole store");
  command->add_flag("--allow-problems", flags->allow_problems, "with --no-auth: clients may bring problems");
  command->add_flag("--demo", flags->demo,
                    "print what to paste to use it; without --listen on a free port, where nobody needs a token");
  command->add_option("--idle", flags->idle_s, "end after so many seconds without a request; 0: never")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  AddProblemsFlag(command, &flags->problems);
  AddMachineFlags(command, flags->judge.get());
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  command->add_flag("--quiet", flags->quiet, "say nothing");
}

}  // namespace

void AddServe(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app->add_subcommand("serve", "judge what clients send over HTTP (docs/guide/service.md)");
  AddServeFlags(command, flags);
  command->callback([flags, exit_code] {
    const Status served = Serve(*flags);
    *exit_code = served ? int{kAllCorrect} : PrintError(served.error());
  });
}

}  // namespace kb::cli

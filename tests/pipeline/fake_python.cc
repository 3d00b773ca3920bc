// What KERNELBENCH_PYTHON names in tests of the pipeline: it answers as Python does that has PyTorch, hosts a fake
// device process, and starts runners of modules that do nothing, which the reference has one of. A script beside the
// program, where it was started from, says what that does otherwise (script.h).

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "base/file.h"
#include "fake_device.h"
#include "runner/c_api.h"
#include "script.h"
#include "wire/channel.h"
#include "wire/runner_spec.h"

namespace kb::pipeline {
namespace {

namespace fs = std::filesystem;

// In one write, for several processes may do so.
void Append(const fs::path& file, const std::string& text) {
  const Fd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  KB_CHECK(write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

// Whether each field of `wanted` is there and the same.
bool Has(const Json& request, const Json& wanted) {
  const auto same = [&](const auto& field) { return request.at(field.key()) == field.value(); };
  const auto fields = wanted.items();
  return std::all_of(fields.begin(), fields.end(), same);
}

[[noreturn]] void StayForEver() {
  for (;;) pause();
}

// The rules of the script, each with what it has counted. Without a script nothing is noted either.
class Rules {
 public:
  explicit Rules(const fs::path& directory) : directory_(directory), scripted_(fs::exists(directory / kScriptFile)) {
    if (scripted_) rules_ = Json::parse(ReadFile(directory / kScriptFile, 1 << 20).value()).get<Script>();
    counts_.resize(rules_.size());
  }

  // Returns how many were started, with this one.
  int NoteStart() const {
    if (!scripted_) return 1;
    Append(directory_ / kStartsFile, ".");
    return static_cast<int>(fs::file_size(directory_ / kStartsFile));
  }
  void NoteAsked(const std::string& op) const {
    if (scripted_) Append(directory_ / kAskedFile, op + "\n");
  }

  // All that an operation meets, in their order. `where`: what else must be so, as in a rule.
  Script MetBy(const Rule& where) {
    Script met;
    for (size_t i = 0; i < rules_.size(); ++i) {
      const Rule& rule = rules_[i];
      const auto any_or = [](const auto& wanted, const auto& is) {
        return wanted == decltype(wanted){} || wanted == is;
      };
      if (rule.op != where.op || !any_or(rule.evaluation, where.evaluation) || !any_or(rule.process, where.process) ||
          !any_or(rule.problem, where.problem) || !any_or(rule.distribution, where.distribution) ||
          !Has(where.request, rule.request)) {
        continue;
      }
      const int count = ++counts_[i];
      if (count < rule.first || count > rule.last || (count - rule.first) % rule.every != 0) continue;
      met.push_back(rule);
      Append(directory_ / kMetFile, std::to_string(i) + "\n");
    }
    return met;
  }

 private:
  fs::path directory_;
  bool scripted_;
  Script rules_;
  std::vector<int> counts_;
};

// Everything but answering. `channel`: -1 if there is none.
void ActAs(const Rule& rule, int channel) {
  std::this_thread::sleep_for(std::chrono::milliseconds(rule.late_ms));
  switch (rule.act) {
    case Act::kAnswer:
      return;
    case Act::kExit:
      _exit(rule.number);
    case Act::kSignal:
      signal(rule.number, SIG_DFL);
      raise(rule.number);
      return;
    case Act::kSilence:
      StayForEver();
    case Act::kGarbage: {
      constexpr std::string_view kText("\x05\0\0\0{\"us\"", 9);
      KB_CHECK(write(channel, kText.data(), kText.size()) == static_cast<ssize_t>(kText.size()));
      StayForEver();
    }
    case Act::kClose:
      close(channel);
      StayForEver();
  }
}

int Probe(const fs::path& self) {
  Rules rules(self.parent_path());
  const Script met = rules.MetBy({.op = kProbe});
  rules.NoteAsked(kProbe);
  for (const Rule& rule : met) ActAs(rule, STDOUT_FILENO);
  const std::string program =
      fs::canonical(self).parent_path();  // a sandbox shows what a link leads to only if it is told
  const nlohmann::ordered_json told = {{"paths", {self.parent_path().string(), program}},
                                       {"executable", self.string()}};
  std::puts(told.dump().c_str());
  return 0;
}

// Loading its problem is an evaluation's first operation.
Rule WhereOf(const Json& request, const FakeDevice& device, int process) {
  Rule where{.op = request.at("op"), .request = request, .evaluation = device.evaluations(), .process = process};
  where.problem = device.problem();
  where.distribution = device.distribution();
  if (where.op == ops::LoadProblem::kOp) {
    ++where.evaluation;
    where.problem = fs::path(request.get<ops::LoadProblem>().path).filename();
  }
  return where;
}

int Host(const fs::path& directory, int socket, int threads) {
  signal(SIGINT, SIG_IGN);  // the engine ends this process in its own order
  Rules rules(directory);
  const int process = rules.NoteStart();
  FakeDevice device(threads);
  Channel channel{Fd(socket)};
  for (;;) {
    auto message = channel.Receive(std::chrono::hours(24));
    if (!message) return 0;  // the engine is gone
    const Rule where = WhereOf(message->body, device, process);
    const Script met = rules.MetBy(where);
    rules.NoteAsked(where.op);
    for (const Rule& rule : met) ActAs(rule, socket);
    Json answer = device.Perform(message->body, std::move(message->fds));
    for (const Rule& rule : met) {
      if (rule.whole) answer = Json::object();
      answer.update(rule.answer);
    }
    if (!channel.Send(answer, device.shared())) return 0;
  }
}

// A zygote whose runners wait until they are ended.
int Fork(int socket, const char* library, bool namespaces) {
  signal(SIGINT, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);
  void* const runners = dlopen(library, RTLD_NOW);
  KB_CHECK(runners != nullptr);
  const auto run_worker = reinterpret_cast<decltype(&kbr_run_worker)>(dlsym(runners, "kbr_run_worker"));
  Channel channel{Fd(socket)};
  if (!channel.Send({{"ready", true}}, {})) return 0;
  while (auto message = channel.Receive(std::chrono::hours(24))) {
    if (message->body.at("op") == worker::Import::kOp) {
      if (!channel.Send({{"ready", true}}, {})) return 0;
      continue;
    }
    if (fork() != 0) continue;
    signal(SIGCHLD, SIG_DFL);
    close(socket);
    const auto run = message->body.get<worker::Run>();
    for (const int to : {STDOUT_FILENO, STDERR_FILENO}) dup2(message->fds.at(2).get(), to);
    message->fds.at(2).Reset();
    run_worker(message->fds.at(0).get(), message->fds.at(1).get(), namespaces, run.confinement.tmp_bytes,
               run.keep.c_str(), "", []() -> int { StayForEver(); });
  }
  return 0;
}

// A compilation, whose archive nobody reads. The problem straggles.py takes too long beside others.
int Compile(const char* spec, const char* archive, const char* begun) {
  std::ofstream(begun) << "begun";
  const bool straggles = ReadFile(spec, 1 << 20).value().find("straggles.py") != std::string::npos;
  if (straggles && std::getenv("KERNELBENCH_BESIDE")) return 1;
  std::ofstream(archive) << "archive";
  return 0;
}

}  // namespace
}  // namespace kb::pipeline

int main(int argc, char** argv) {
  const std::filesystem::path self = argv[0];
  const auto is = [&](int index, std::string_view word) { return index < argc && argv[index] == word; };
  if (argc == 3 && is(1, "-c")) return kb::pipeline::Probe(self);
  if (argc == 7 && is(1, "-m") && is(2, "kernelbench_torch.device_host")) {
    return kb::pipeline::Host(self.parent_path(), std::atoi(argv[3]), std::atoi(argv[6]));
  }
  if (argc == 6 && is(1, "-m") && is(2, "kernelbench_torch.zygote")) {
    return kb::pipeline::Fork(std::atoi(argv[3]), argv[4], is(5, "1"));
  }
  if (argc == 7 && is(1, "-m") && is(2, "kernelbench_torch.first_call")) {
    return kb::pipeline::Compile(argv[3], argv[5], argv[6]);
  }
  std::fprintf(stderr, "the fake Python holds a device process for the CPU, and starts runners that do nothing\n");
  return 1;
}

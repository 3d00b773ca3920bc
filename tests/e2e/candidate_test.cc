// Bad candidates. Each gets a verdict of its own, and none of them keeps the
// engine from judging the next.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "bad_candidates.h"
#include "schema.h"

namespace kb::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

using Verdicts = std::vector<std::string>;
const Verdicts kTooMuch = {"out_of_memory", "crashed"};

class CandidateTest : public EngineTest {
 protected:
  std::vector<BadCandidate> WrongModules() const;
  std::vector<BadCandidate> LeaverAndFinder() const;

  Ended Judge(const std::vector<BadCandidate>& cases, const Arguments& flags) {
    Arguments arguments = {"eval",  Write("relu.py", kReluProblem), "--protocol", "quick", "--measure", "false",
                           "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    for (const BadCandidate& each : cases) arguments.push_back(each.candidate);
    Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 1) << ended;
    ExpectVerdicts(ended, cases);
    EXPECT_EQ(StoredEvaluations(), static_cast<int>(cases.size()));
    ExpectNoProcessLeft();
    ExpectNoFilesLeft();
    return ended;
  }
};

// A module whose parts are given, right where they are not.
std::string Module(const std::string& at_import, const std::string& forward = "return torch.relu(x)",
                   const std::string& constructor = "super().__init__()", const std::string& signature = "self",
                   const std::string& arguments = "self, x") {
  return "import os\nimport sys\nimport torch\nimport torch.nn as nn\n\n" + at_import +
         "\n\n\nclass ModelNew(nn.Module):\n    def __init__(" + signature + "):\n        " + constructor +
         "\n\n    def forward(" + arguments + "):\n        " + forward + "\n";
}

TEST_F(CandidateTest, WhatIsNoCandidate) {
  const std::string problem = Write("relu.py", kReluProblem);
  const auto refused = [&](const std::string& candidate, const std::string& said) {
    const Ended ended = Run({"eval", problem, candidate});
    EXPECT_EQ(ended.code, 2) << candidate << ended;
    EXPECT_THAT(ended.err, HasSubstr(said));
    EXPECT_THAT(ended.err, HasSubstr(fs::path(candidate).filename().string()));
  };
  refused((root() / "absent.py").string(), "cannot read");
  refused((root() / "absent.cpp").string(), "cannot read");
  refused((root() / "absent.rs").string(), "no such file");
  refused(Write("kernel.rs", "fn main() {}\n"), ".cpp or .cu file (kb_forward)");
  ASSERT_EQ(mkfifo((root() / "pipe.py").c_str(), 0600), 0);
  refused((root() / "pipe.py").string(), "no regular file");
  const Ended escapes = Run({"eval", problem, (root() / "\x1b[31mred.py").string()});
  EXPECT_THAT(escapes.err, ::testing::Not(HasSubstr("\x1b")));
  EXPECT_EQ(StoredEvaluations(), 0);

  const Verdicts rejected = {"static_rejected"};
  fs::create_directory(root() / "directory.py");
  Judge({{(root() / "directory.py").string(), rejected, "no model_new.py"},
         {Write("empty.py", ""), rejected, "empty"},
         {Write("empty.cpp", " \n"), rejected, "empty"},
         {Write("binary.py", std::string("\x7f"
                                         "ELF\0\1\2\3",
                                         8)),
          rejected, "binary"},
         {Write("binary.cpp", std::string(4096, '\2') + "kb_forward"), rejected, "binary"},
         {Write("long.py", "class ModelNew: pass\n" + std::string(50 << 20, '#')), rejected, "bytes long"},
         {Write("python.cpp", kReluModule), rejected, "call it .py"},
         {Write("native.py", kReluNative), rejected, "no class ModelNew"},
         {Write("other_name.py", "class Model: pass\n"), rejected, "no class ModelNew"},
         {Write("other_name.cpp", "int forward() { return 0; }\n"), rejected, "no kb_forward"},
         {Write("device.cu", kReluNative), rejected, "CUDA"}},
        {});
}

std::vector<BadCandidate> CandidateTest::WrongModules() const {
  const Verdicts load = {"load_failed"}, crash = {"crashed"}, form = {"wrong_form"}, time = {"timed_out"};
  const std::string bomb = "sys.stdout.write('x' * 1000 + '\\n')";
  return {
      {Write("mentions.py", "# ModelNew is not here\n"), load, "ModelNew"},
      {Write("syntax.py", Module("def broken(:")), load, "SyntaxError"},
      {Write("deep.py", Module("x = " + std::string(5000, '(') + std::string(5000, ')'))), load, "SyntaxError"},
      {Write("mark.py", "\xef\xbb\xbf" + std::string(kReluModule)), {"correct"}, ""},
      {Write("import.py", Module("import no_such_package_here")), load, "no_such_package_here"},
      {Write("import_raises.py", Module("raise ValueError('not today')")), load, "not today"},
      {Write("import_loops.py", Module("while True: pass")), time, "4 s"},
      {Write("import_exits.py", Module("os._exit(0)")), crash, "code 0"},
      {Write("import_sys_exit.py", Module("sys.exit(0)")), load, "SystemExit: 0"},
      {Write("long_message.py", Module("raise ValueError('\\udcff' + 'x' * 10_000_000)")), load, "xxxx"},
      {Write("takes_more.py", Module("", "return x", "super().__init__()", "self, a, b, c")), load, "missing 3"},
      {Write("new_raises.py", Module("", "return x", "raise RuntimeError('no model')")), load, "no model"},
      {Write("new_loops.py", Module("", "return x", "while True: pass")), time, "4 s"},
      {Write("no_argument.py", Module("", "return 1", "super().__init__()", "self", "self")), crash, "positional"},
      {Write("forward_loops.py", Module("", "while True: pass")), time, "2 s"},
      {Write("forward_exits.py", Module("", "os._exit(3)")), crash, "code 3"},
      {Write("forward_sys_exit.py", Module("", "sys.exit(3)")), crash, "SystemExit: 3"},
      {Write("forward_aborts.py", Module("", "os.abort()")), crash, "SIGABRT"},
      {Write("shape.py", Module("", "return torch.relu(x)[1:]")), form, "[63, 64]"},
      {Write("transposed.py", Module("", "return torch.relu(x).reshape(-1)")), form, "[4096]"},
      {Write("dtype.py", Module("", "return torch.relu(x).double()")), form, "float64"},
      {Write("count.py", Module("", "return torch.relu(x), x")), form, ""},
      {Write("nothing.py", Module("", "return None")), form, ""},
      {Write("text.py", Module("", "return 'relu'")), form, ""},
      {Write("object.py", Module("", "return object()")), form, "object"},
      {Write("meta.py", Module("", "return x.to('meta')")), {"wrong_form", "crashed"}, ""},
      {Write("nan.py", Module("", "return torch.relu(x) / 0 * 0")), {"non_finite"}, "NaN"},
      {Write("in_place.py", Module("", "return x.mul_(2).relu_().div_(2)")), form, "input 0"},
      {Write("list_bomb.py", Module("",
                                    "kept = []\n        while True: "
                                    "kept.append([0] * 10_000_000)")),
       kTooMuch, ""},
      {Write("tensor_bomb.py", Module("", "return torch.ones(1 << 40).sum() + x")), kTooMuch, ""},
      {Write("import_bomb.py", Module("kept = [bytearray(1 << 33)]")), {"out_of_memory", "load_failed", "crashed"}, ""},
      {Write("right.py", kReluModule), {"correct"}, ""}};
}

TEST_F(CandidateTest, ModulesThatAreWrongGetTheirVerdicts) {
  const Ended ended = Judge(WrongModules(), {"--call-timeout-s", "2", "--memory-gb", "1"});
  EXPECT_EQ(ended.Of("forward_exits.py")["evidence"].value("exit_code", -1), 3);
  EXPECT_EQ(ended.Of("nan.py")["mismatch"].value("got", json()), "nan");
  EXPECT_LT(ended.Of("long_message.py").dump(-1, ' ', false, json::error_handler_t::replace).size(), 1u << 20);
}

// A listening socket that no candidate may reach.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    KB_CHECK(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(fd_.get(), 8) == 0);
    socklen_t size = sizeof address;
    KB_CHECK(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  std::string port() const { return std::to_string(port_); }
  bool Reached() const {
    pollfd waiting{fd_.get(), POLLIN, 0};
    return poll(&waiting, 1, 0) > 0;
  }

 private:
  Fd fd_;
  int port_ = 0;
};

// Runners are forked from one zygote. What the first of these writes anywhere must not be there for the second.
std::vector<BadCandidate> CandidateTest::LeaverAndFinder() const {
  const std::string places = R"(
places = ["/", "/etc", "/dev", "/dev/shm", "/dev/mqueue", "/run", "/sys", "/proc", "/tmp", "/var/tmp", "/root", "/home"]
)";
  const std::string leaves = places + R"(
for place in places:
    try:
        open(os.path.join(place, "left_behind"), "w").write("for the next one")
    except OSError:
        pass
open("/tmp/left_behind")
)";
  const std::string looks = places + R"(
found = [place for place in places if os.path.exists(os.path.join(place, "left_behind"))]
if found:
    raise ValueError("found something in " + ", ".join(found))
)";
  return {{Write("leaves.py", Module(leaves)), {"correct"}, ""}, {Write("looks.py", Module(looks)), {"correct"}, ""}};
}

// Each of these is right only if everything that it tries is refused.
TEST_F(CandidateTest, WhatCandidatesTryIsRefused) {
  const Listener listener;
  Write("secret.txt", "a secret");
  const std::string refuse = R"(
def refused(what, function, *errors):
    try:
        function()
    except errors:
        return
    raise SystemError(what + " worked")

)";
  const std::string processes = refuse + R"(
import subprocess
refused("fork", os.fork, PermissionError)
refused("subprocess", lambda: subprocess.run(["/bin/true"]), PermissionError)
refused("posix_spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}), OSError)
refused("execv", lambda: os.execv("/bin/true", ["true"]), PermissionError)
refused("kill", lambda: os.kill(1, 9), PermissionError)
if os.system("true") == 0:
    raise SystemError("system worked")
)";
  const std::string sockets = refuse + R"(
import socket
for address in (("127.0.0.1", PORT), ("1.1.1.1", 53)):
    refused("connect", lambda: socket.create_connection(address, timeout=1), OSError)
refused("resolve", lambda: socket.getaddrinfo("example.com", 80), OSError)
)";
  const std::string files = refuse + R"(
for path in ("/proc/1", "/proc/1/environ", "/proc/self/environ", "STORE", "ROOT/secret.txt", "ROOT", "/etc/shadow"):
    refused(path, lambda: os.stat(path), FileNotFoundError, PermissionError)
for path in ("/usr/kb", "/etc/kb", "/kb", "/dev/kb", "KERNELBENCH/python/kb"):
    refused("writing " + path, lambda: open(path, "w"), OSError)
if set(os.environ) & {"KERNELBENCH_STORE", "KERNELBENCH_CACHE", "KERNELBENCH_PYTHON"}:
    raise SystemError("the environment is shown")
open("/tmp/mine", "w").write("a /tmp of one's own")
)";
  const auto filled = [&](std::string text) {
    for (const auto& [from, to] : std::map<std::string, std::string>{{"PORT", listener.port()},
                                                                     {"STORE", store().string()},
                                                                     {"ROOT", root().string()},
                                                                     {"KERNELBENCH/", KB_SOURCE_DIR "/"}}) {
      for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
    }
    return text;
  };
  const std::string native_tries = filled(R"(
  if (fork() >= 0) return 1;
  if (vfork() >= 0) return 2;
  if (std::system("true") == 0) return 3;
  execl("/bin/true", "true", static_cast<char*>(nullptr));
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(PORT);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return 4;
  for (const char* path : {"STORE", "ROOT/secret.txt", "/etc/shadow"}) {
    if (FILE* file = std::fopen(path, "r"); file != nullptr && std::fgetc(file) != EOF) return 5;
  }
  if (std::fopen("/usr/kb", "w") != nullptr) return 6;
  int others = 0;  // besides this process, its supervisor and the sandbox's first
  if (DIR* proc = opendir("/proc")) {
    while (const dirent* entry = readdir(proc)) others += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    closedir(proc);
  }
  if (others > 4) return 7;
)");
  // The supervisor and the sandbox's first process are neither frozen between
  // calls nor filtered.
  const std::string around = R"(
  for (const int pid : {1, static_cast<int>(getppid())}) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/mem", pid);
    if (open(path, O_RDWR) >= 0) return 8;
    std::snprintf(path, sizeof path, "/proc/%d/environ", pid);
    if (open(path, O_RDONLY) >= 0) return 9;
    for (int fd = 0; fd < 64; ++fd) {
      std::snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
      if (open(path, O_RDONLY) >= 0) return 10;
    }
  }
)";
  const std::string flood = "for _ in range(100_000): sys.stdout.write('x' * 999 + '\\n')";
  std::vector<BadCandidate> cases = LeaverAndFinder();
  cases.insert(cases.end(), {{Write("processes.py", Module(processes)), {"correct"}, ""},
                             {Write("sockets.py", Module(filled(sockets))), {"correct"}, ""},
                             {Write("files.py", Module(filled(files))), {"correct"}, ""},
                             {Write("tries.cpp", Native("", native_tries)), {"correct"}, ""},
                             {Write("around.cpp", Native("", around)), {"correct"}, ""},
                             {Write("flood.py", Module(flood)), {"correct"}, ""},
                             {Write("wrong.py", Module("", "return x + 1")), {"incorrect"}, ""}});
  const Ended ended = Judge(cases, {"--call-timeout-s", "60"});
  EXPECT_FALSE(listener.Reached());
  for (const char* path : {"/usr/kb", "/etc/kb", "/kb", "/dev/kb", KB_SOURCE_DIR "/python/kb"}) {
    EXPECT_FALSE(fs::exists(path)) << path;
  }
  const std::string output = ended.Of("flood.py")["evidence"].value("output", "");
  EXPECT_THAT(output, HasSubstr("[... output cut ...]"));
  EXPECT_LT(output.size(), 1u << 17);
}

}  // namespace
}  // namespace kb::e2e

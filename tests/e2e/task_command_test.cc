// `kernelbench task` as a user calls it, and what its folder can do.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/subprocess.h"
#include "harness.h"

namespace kb::e2e {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class TaskCommandTest : public EngineTest {
 protected:
  fs::path Made(Arguments more = {}) {
    const fs::path folder = root() / "task";
    Arguments arguments = {"task", "1/19", folder, "--size", "odd"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 0) << ended;
    EXPECT_THAT(ended.out, HasSubstr("write kernel.cpp, then ./check"));
    return folder;
  }
  // What `./check` prints as JSON with these arguments.
  json Check(const fs::path& folder, const Arguments& arguments, int code) {
    SpawnOptions start;
    start.argv = {folder / "check", "--json", "--quiet"};
    if (!arguments.empty() && !arguments[0].starts_with('-')) start.argv = {folder / "check"};
    start.argv.insert(start.argv.end(), arguments.begin(), arguments.end());
    for (const auto& [name, value] : Environment{{"PATH", "/usr/bin:/bin"},
                                                 {"HOME", root()},
                                                 {"TMPDIR", tmp()},
                                                 {"KERNELBENCH_STORE", store()},
                                                 {"KERNELBENCH_CACHE", cache()},
                                                 {"KERNELBENCH_PYTHON", Python()}}) {
      start.environment.push_back(name + "=" + value);
    }
    const auto ended = RunToEnd(start, std::chrono::seconds(240));
    EXPECT_TRUE(ended && ended->status.code == code) << (ended ? ended->output : ended.error().message);
    return json::parse(ended ? ended->output : "", nullptr, false);
  }
  static std::string Read(const fs::path& path) { return ReadFile(path).value_or("(none)"); }
};

TEST_F(TaskCommandTest, TheFolderJudgesWhatIsWrittenThere) {
  const fs::path folder = Made();
  EXPECT_THAT(Read(folder / "TASK.md"), AllOf(HasSubstr("kernel.cpp"), HasSubstr("./check"), Not(HasSubstr("MCP"))));
  EXPECT_THAT(Read(folder / "reference.py"), HasSubstr("class Model"));
  EXPECT_THAT(Read(folder / "kernelbench/kernel.h"), HasSubstr("kb_forward"));
  EXPECT_FALSE(fs::exists(folder / ".mcp.json"));
  fs::copy_file(Example("1_19_relu/plain.cpp"), folder / "kernel.cpp");
  const json right = Check(folder, {"--protocol", "quick"}, 0);
  EXPECT_EQ(right.at("verdict"), "correct");
  EXPECT_EQ(right.at("size"), "odd");
  EXPECT_EQ(right.at("protocol"), "quick");
  std::ofstream(folder / "wrong.cpp") << "this is no C++\n";
  const json wrong = Check(folder, {folder / "wrong.cpp", "--protocol=quick", "--json", "--quiet"}, 1);
  EXPECT_EQ(wrong.at("verdict"), "static_rejected");
}

TEST_F(TaskCommandTest, WhatAnAgentWroteStaysAndItsLinksAreNotFollowed) {
  const fs::path folder = Made();
  std::ofstream(folder / "kernel.cpp") << "mine";
  const fs::path outside = Write("outside", "untouched");
  fs::remove(folder / "TASK.md");
  fs::create_symlink(outside, folder / "TASK.md");
  Made();
  EXPECT_EQ(Read(folder / "kernel.cpp"), "mine");
  EXPECT_EQ(Read(outside), "untouched");
  EXPECT_THAT(Read(folder / "TASK.md"), HasSubstr("# Task"));
  fs::remove_all(folder / "kernelbench");
  fs::create_directory_symlink(root(), folder / "kernelbench");
  const Ended ended = Run({"task", "1/19", folder});
  EXPECT_EQ(ended.code, 2) << ended;
  EXPECT_FALSE(fs::exists(root() / "kernel.h"));
}

TEST_F(TaskCommandTest, ClientsStartTheServerWithTheSettingsInIt) {
  const fs::path folder = Made({"--mcp"});
  EXPECT_THAT(Read(folder / "TASK.md"), HasSubstr("MCP server `kernelbench`"));
  const json server = json::parse(Read(folder / ".mcp.json")).at("mcpServers").at("kernelbench");
  EXPECT_EQ(server.at("command"), fs::canonical(KB_BINARY).string());
  EXPECT_EQ(server.at("args"), json({"mcp", "--devices", "cpu"}));
  EXPECT_THAT(server.at("env").at("KERNELBENCH_STORE").get<std::string>(), Not(IsEmpty()));
  for (const char* path : {".codex/config.toml", "opencode.json", ".gemini/settings.json", ".qwen/settings.json"}) {
    EXPECT_THAT(Read(folder / path), HasSubstr("mcp")) << path;
  }
}

TEST_F(TaskCommandTest, WhatCannotBeEndsWithTwoAndChangesNothing) {
  const fs::path full = root() / "full";
  fs::create_directory(full);
  const fs::path file = Write("full/mine", "mine");
  const std::pair<Arguments, const char*> cases[] = {
      {{"task", "1/19", full}, "is not empty, and no folder of kernelbench task"},
      {{"task", "1/19", file}, "cannot make the folder"},
      {{"task", "1/999", root() / "none"}, "1/999"},
      {{"task", "1/19", root() / "none", "--size", "huge"}, "it has: standard, small, odd"},
      {{"task", "1/19", root() / "none", "--backend", "opencl"}, "there are: native, cpp, cuda"},
      {{"task", "1/19", root() / "none", "--protocol", "lax"}, "no protocol \"lax\""},
  };
  for (const auto& [arguments, words] : cases) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 2) << ended;
    EXPECT_THAT(ended.err, HasSubstr(words));
  }
  EXPECT_EQ(Read(file), "mine");
  EXPECT_FALSE(fs::exists(root() / "none"));
}

}  // namespace
}  // namespace kb::e2e

#include "agents/harness.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <toml++/toml.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "agents/harness_install.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A model whose name would end strings, and a prompt that would end a shell's word.
constexpr const char* kModel = "a\"b\\c\n/d";
constexpr const char* kPrompt = "it's $(here) {model}\n\x7f";

Installation Source() {
  Installation installation;
  installation.prompts = fs::path(KB_SOURCE_DIR) / "prompts";
  return installation;
}

class HarnessTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::Create("kernelbench-harness");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }
  fs::path Write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    const fs::path path = folder_->path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string WhyNot(const std::string& text) {
    const auto read = ReadHarness(Write("mine.toml", text));
    return read ? "" : read.error().message;
  }

  std::optional<TempDir> folder_;
};

std::string With(const std::string& key, const std::string& line) {
  const std::pair<std::string, std::string> lines[] = {
      {"description", "description = \"d\""},
      {"program", "program = \"agent\""},
      {"install", "install = \"i\""},
      {"command", "command = [\"agent\", \"{prompt}\", \"{model}\", \"{base_url}\"]"},
      {"judge", "judge = \"shell\""},
      {"more", ""},
      {"wires", "[wires.chat]\nbase_url = \"http://127.0.0.1:{port}/v1\""}};
  std::string text;
  for (const auto& [name, usual] : lines) text += (name == key ? line : usual) + "\n";
  return text;
}

TEST_F(HarnessTest, OursAreReadAndWriteSettingsThatAreParsed) {
  const std::vector<std::string> names = HarnessNames(Source());
  EXPECT_THAT(names, ElementsAre("codex", "gemini", "mini", "opencode", "qwen"));
  for (const std::string& name : names) {
    const auto harness = FindHarness(name, Source());
    ASSERT_TRUE(harness) << harness.error().message;
    for (const auto& [wire, values] : harness->wires) {
      const auto filled = FillHarness(*harness, {.prompt = kPrompt, .model = kModel, .wire = wire, .port = 81});
      ASSERT_TRUE(filled) << filled.error().message;
      std::string all = filled->command;
      for (const std::string& each : filled->environment) all += each;
      for (const auto& [path, text] : filled->files) {
        all += text;
        if (path.ends_with(".json")) {
          EXPECT_TRUE(nlohmann::json::accept(text)) << name << "\n" << text;
        } else {
          EXPECT_NO_THROW((void)toml::parse(text)) << name << "\n" << text;
        }
      }
      EXPECT_THAT(all, HasSubstr("http://127.0.0.1:81"));
      EXPECT_THAT(filled->command, HasSubstr("'it'\\''s $(here) {model}\n\x7f'")) << "nothing is filled in twice";
    }
  }
}

TEST_F(HarnessTest, ValuesKeepTheirMeaningInEachFormat) {
  const auto codex = FindHarness("codex", Source());
  const auto opencode = FindHarness("opencode", Source());
  ASSERT_TRUE(codex && opencode);
  const auto toml_text = FillHarness(*codex, {.prompt = "p", .model = kModel, .wire = "responses"});
  ASSERT_TRUE(toml_text);
  EXPECT_EQ(toml::parse(toml_text->files.at(0).text)["model"].value<std::string>(), kModel);
  const auto json_text = FillHarness(*opencode, {.prompt = "p", .model = kModel, .wire = "messages"});
  ASSERT_TRUE(json_text);
  const auto settings = nlohmann::json::parse(json_text->files.at(0).text);
  EXPECT_EQ(settings["small_model"], "kb/" + std::string(kModel));
  EXPECT_EQ(settings["provider"]["kb"]["npm"], "@ai-sdk/anthropic");
}

TEST_F(HarnessTest, AnotherWireIsRefused) {
  const auto codex = FindHarness("codex", Source());
  ASSERT_TRUE(codex);
  const auto filled = FillHarness(*codex, {.prompt = "p", .model = "m", .wire = "chat"});
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().code, ErrorCode::kUsage);
  EXPECT_THAT(filled.error().message, AllOf(HasSubstr("codex does not speak \"chat\""), HasSubstr("responses")));
}

TEST_F(HarnessTest, WhatIsWrongWithAFileIsSaid) {
  EXPECT_EQ(WhyNot(With("", "")), "");
  EXPECT_THAT(WhyNot("description = "), HasSubstr("mine.toml:1: "));
  const std::pair<std::string, std::string> wrong[] = {
      {With("description", ""), "description is missing"},
      {With("wires", ""), "wires is missing"},
      {With("more", "colour = \"red\""), "colour is no key of a harness"},
      {With("program", "program = 3"), "program should be a text"},
      {With("program", "program = \"other\""), "command must begin with the program, \"other\""},
      {With("command", "command = [\"agent\", 3]"), "command should be a list of texts"},
      {With("command", "command = [\"agent\", \"{model}\", \"{base_url}\"]"), "have {prompt}"},
      {With("command", "command = [\"agent\", \"{prompt}\", \"{base_url}\"]"), "have {model}"},
      {With("more", "environment = [\"A={adapter}\"]"),
       "environment has {adapter}, which is no placeholder and no key"},
      {With("more", "environment = [\"A\"]"), "\"A\" is not NAME=value"},
      {With("judge", "judge = \"http\""), "judge should be \"mcp\" or \"shell\""},
      {With("judge", "judge = \"mcp\""), "{judge_socket}"},
      {With("wires", "[wires.telex]\nbase_url = \"x\""), "wires should be tables"},
      {With("wires", "[wires.chat]\nadapter = \"x\""), "base_url"},
      {With("wires", "[wires.chat]\nbase_url = \"x\"\nmodel = \"m\""), "without model"},
      {With("wires", "[wires.chat]\nbase_url = \"x\"\n[exit]\nlimits = [256]"), "exit should be a table of limits"},
      {With("wires", "[wires.chat]\nbase_url = \"x\"\n[[files]]\npath = \"../a\"\ntext = \"x\""), "\"../a\" is not"},
      {With("wires", "[wires.chat]\nbase_url = \"x\"\n[[files]]\npath = \"/etc/a\"\ntext = \"x\""),
       "\"/etc/a\" is not"},
      {With("wires", "[wires.chat]\nbase_url = \"x\"\n[[files]]\npath = \"a\""), "tables [[files]] of path and text"},
  };
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(WhyNot(text), AllOf(HasSubstr("mine.toml: "), HasSubstr(why), HasSubstr("docs/reference"))) << text;
  }
}

TEST_F(HarnessTest, AnUnknownNameListsThoseThatThereAre) {
  const auto found = FindHarness("copilot", Source());
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no harness copilot; there are codex, gemini, mini, opencode, qwen"));
  EXPECT_FALSE(FindHarness("./nowhere.toml", Source()));
}

TEST_F(HarnessTest, ACommandOfTheUsersGetsItsValuesAsWords) {
  const auto harness = HarnessOfCommand("/opt/my/agent --do {prompt} | awk '{print}' # {turns}");
  ASSERT_TRUE(harness);
  EXPECT_EQ(harness->program, "/opt/my/agent");
  const auto filled = FillHarness(*harness, {.prompt = kPrompt, .model = "m", .wire = "messages", .turns = 7});
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->command, "agent --do 'it'\\''s $(here) {model}\n\x7f' | awk '{print}' # '7'");
  EXPECT_THAT(filled->environment, AllOf(Contains("KB_MODEL=m"), Contains("ANTHROPIC_BASE_URL=http://127.0.0.1:8080"),
                                         Contains("KB_PROMPT=" + std::string(kPrompt))));
  for (const char* none : {"", "  ", "$(agent)", "A=1 agent"}) EXPECT_FALSE(HarnessOfCommand(none)) << none;
}

class InstallationTest : public HarnessTest {
 protected:
  void SetUp() override {
    HarnessTest::SetUp();
    path_ = getenv("PATH");
    setenv("PATH", (folder_->path() / "bin").c_str(), 1);
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }
  void Link(const std::string& name, const fs::path& to) {
    fs::create_directories((folder_->path() / name).parent_path());
    fs::create_symlink(to, folder_->path() / name);
  }
  // What is shown, as FROM>TO relative to the folder; and the command behind it.
  std::vector<std::string> Found() {
    const auto found = FindHarnessProgram({.name = "mine", .program = "agent", .install = "get agent"});
    if (!found) return {found.error().message};
    std::vector<std::string> all;
    for (const auto& [from, to] : found->shown) {
      all.push_back(from.lexically_relative(fs::canonical(folder_->path())).string() + ">" + to.string());
    }
    all.insert(all.end(), found->command.begin(), found->command.end());
    return all;
  }
  std::string path_;
};

TEST_F(InstallationTest, WhatNpmInstalledIsShownWithItsPackagesAndNode) {
  Write("lib/node_modules/@a/agent/cli.js", "#!/usr/bin/env -S node --x\n", 0755);
  Link("bin/agent", "../lib/node_modules/@a/agent/cli.js");
  EXPECT_THAT(Found(), ElementsAre("agent needs node, which is not in PATH; install it, or put it there"));
  Write("versions/node/bin/node",
        "\x7f"
        "ELF",
        0755);
  Link("bin/node", "../versions/node/bin/node");
  EXPECT_THAT(Found(),
              ElementsAre("lib/node_modules>/kb/agent/node_modules", "versions/node/bin/node>/kb/interpreter/node",
                          "/kb/interpreter/node", "/kb/agent/node_modules/@a/agent/cli.js"));
  Write("lib/node_modules/@a/agent/cli.js",
        "\x7f"
        "ELF",
        0755);
  EXPECT_THAT(Found(),
              ElementsAre("lib/node_modules>/kb/agent/node_modules", "/kb/agent/node_modules/@a/agent/cli.js"));
}

TEST_F(InstallationTest, AVirtualEnvironmentIsShownWithThePythonThatItIsMadeOf) {
  Write("venv/pyvenv.cfg", "home = x\n");
  Write("venv/bin/agent", "#!/somewhere/venv/bin/python\n", 0755);
  Write("python/bin/python3.11",
        "\x7f"
        "ELF",
        0755);
  Link("venv/bin/python", "../../python/bin/python3.11");
  Link("bin/agent", "../venv/bin/agent");
  const std::string python = fs::canonical(folder_->path() / "python");
  EXPECT_THAT(Found(),
              ElementsAre("python>" + python, "venv>/kb/agent", "/kb/agent/bin/python", "/kb/agent/bin/agent"));
  Write("venv/bin/agent",
        "\x7f"
        "ELF",
        0755);
  EXPECT_THAT(Found(), ElementsAre("python>" + python, "venv>/kb/agent", "/kb/agent/bin/agent"));
  Write("venv/bin/agent", "#!/bin/sh\n", 0755);
  fs::remove(folder_->path() / "venv/bin/python");
  Link("venv/bin/python", "/usr/bin/env");
  EXPECT_THAT(Found(), ElementsAre("venv>/kb/agent", "/kb/agent/bin/python", "/kb/agent/bin/agent"));
}

TEST_F(InstallationTest, AnyOtherProgramIsShownByItself) {
  EXPECT_THAT(Found(), ElementsAre("the harness mine needs agent, which is not in PATH: get agent"));
  Write("bin/agent",
        "\x7f"
        "ELF",
        0755);
  EXPECT_THAT(Found(), ElementsAre("bin/agent>/kb/agent/agent", "/kb/agent/agent"));
  fs::remove(folder_->path() / "bin/agent");
  Link("bin/agent", "/usr/bin/env");
  EXPECT_THAT(Found(), ElementsAre("/usr/bin/env"));
}

}  // namespace
}  // namespace kb

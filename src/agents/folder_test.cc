// The folder on a real disk, beside what a hostile program may have left in it. What needs a box is in box_test.cc.
#include "agents/folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/hash.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class FolderTest : public testing::Test {
 protected:
  FolderTest() : around_(*TempDir::Create("kernelbench-folder")), task_(around_.path() / "task") {
    fs::create_directory(task_);
    Put(around_.path() / "store.db", "secret");
    Open({});
  }

  void Open(const FolderLimits& limits) {
    folder_.emplace(Fd(open(task_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 0, limits);
  }
  static void Put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  std::string Got(const std::string& path) const {
    std::ostringstream text;
    text << std::ifstream(task_ / path).rdbuf();
    return text.str();
  }
  template <typename T>
  static std::string Told(const Result<T>& result) {
    return result ? "no error" : result.error().message;
  }

  const TempDir around_;
  const fs::path task_;
  std::optional<Folder> folder_;
};

TEST_F(FolderTest, WritesReadsAndEdits) {
  ASSERT_TRUE(folder_->Write("src/kernels/relu.cpp", "one\ntwo\nthree\n"));
  EXPECT_EQ(folder_->Read("/task/src/kernels/relu.cpp").value_or(""),
            "src/kernels/relu.cpp: lines 1 to 3 of 3\none\ntwo\nthree\n");
  EXPECT_EQ(folder_->Read("src/./kernels//relu.cpp", 2, 1).value_or(""),
            "src/kernels/relu.cpp: lines 2 to 2 of 3; go on at 3\ntwo\n");
  EXPECT_THAT(Told(folder_->Read("src/kernels/relu.cpp", 4)), HasSubstr("has 3 lines"));
  ASSERT_TRUE(folder_->Edit("src/kernels/relu.cpp", "two\n", "2\n\n"));
  EXPECT_EQ(Got("src/kernels/relu.cpp"), "one\n2\n\nthree\n");
  ASSERT_TRUE(folder_->Write("empty", ""));
  EXPECT_EQ(folder_->Read("empty").value_or(""), "empty is empty\n");
  ASSERT_TRUE(folder_->Write("last", "a\nb"));
  EXPECT_EQ(folder_->Read("last").value_or(""), "last: lines 1 to 2 of 2\na\nb");
}

TEST_F(FolderTest, AnEditIsOfOnePlace) {
  ASSERT_TRUE(folder_->Write("a", "x = 1\ny = 1\nx = 1\naaa\n"));
  EXPECT_THAT(Told(folder_->Edit("a", "x = 1", "x = 2")),
              AllOf(HasSubstr("2 times (lines 1, 3)"), HasSubstr("more of the lines")));
  EXPECT_THAT(Told(folder_->Edit("a", "aa", "b")), HasSubstr("2 times (lines 4, 4)")) << "they overlap";
  EXPECT_THAT(Told(folder_->Edit("a", "z", "x")), HasSubstr("does not occur in a"));
  EXPECT_THAT(Told(folder_->Edit("a", "", "x")), HasSubstr("write_file"));
  EXPECT_THAT(Told(folder_->Edit("a", "y", "y")), HasSubstr("the same"));
  EXPECT_EQ(Got("a"), "x = 1\ny = 1\nx = 1\naaa\n");
  chmod((task_ / "a").c_str(), 0755);
  ASSERT_TRUE(folder_->Edit("a", "y = 1", "y = 2"));
  EXPECT_EQ(fs::status(task_ / "a").permissions(), fs::perms(0755));
}

TEST_F(FolderTest, NoPathLeadsOut) {
  fs::create_symlink(around_.path() / "store.db", task_ / "link");
  fs::create_symlink(around_.path(), task_ / "above");
  fs::create_symlink("/proc/self/root", task_ / "root");
  fs::create_directory(task_ / "d");
  const std::string store = (around_.path() / "store.db").string();
  for (const std::string& path :
       {std::string("link"), std::string("above/store.db"), std::string("../store.db"), std::string("d/../../store.db"),
        store, std::string("/task/../store.db"), "root" + store, std::string("/taskx"), std::string("/etc/passwd")}) {
    EXPECT_THAT(Told(folder_->Read(path)), Not(StartsWith("no error"))) << path;
    EXPECT_THAT(Told(folder_->Edit(path, "secret", "x")), Not(StartsWith("no error"))) << path;
    EXPECT_FALSE(folder_->Candidate(path)) << path;
    EXPECT_FALSE(folder_->List(path)) << path;
  }
  EXPECT_THAT(Told(folder_->Read("link")), HasSubstr("links are not followed"));
  EXPECT_THAT(Told(folder_->Read("/etc/passwd")), HasSubstr("outside /task"));
  EXPECT_THAT(Told(folder_->Write("above/new", "x")), HasSubstr("links are not followed"));
  EXPECT_FALSE(fs::exists(around_.path() / "new"));
  // What is written takes the place of a link.
  ASSERT_TRUE(folder_->Write("link", "mine"));
  EXPECT_FALSE(fs::is_symlink(task_ / "link"));
  fs::create_hard_link(around_.path() / "store.db", task_ / "hard");
  ASSERT_TRUE(folder_->Write("hard", "mine"));
  std::ifstream unchanged(around_.path() / "store.db");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(unchanged), {}), "secret");
}

TEST_F(FolderTest, WhatIsNoFile) {
  ASSERT_EQ(mkfifo((task_ / "pipe").c_str(), 0666), 0);
  const Fd listening(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = ""};
  (task_ / "socket").string().copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(bind(listening.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(truncate((Put(task_ / "sparse", ""), task_ / "sparse").c_str(), off_t{1} << 40), 0);
  Put(task_ / "binary", std::string("\x7f"
                                    "ELF\0",
                                    5));
  fs::create_directory(task_ / "d");
  EXPECT_THAT(Told(folder_->Read("pipe")), HasSubstr("a pipe"));
  EXPECT_THAT(Told(folder_->Read("socket")), HasSubstr("a socket"));
  EXPECT_THAT(Told(folder_->Read("sparse")), AllOf(HasSubstr("1099511627776 bytes"), HasSubstr("sed -n")));
  EXPECT_THAT(Told(folder_->Read("binary")), AllOf(HasSubstr("binary, 5 bytes"), HasSubstr("xxd")));
  EXPECT_THAT(Told(folder_->Read("d")), HasSubstr("a folder, not a file; list it"));
  EXPECT_THAT(Told(folder_->Read("none/x")), HasSubstr("there is no none/x"));
  EXPECT_THAT(Told(folder_->List("binary")), HasSubstr("a file; read it"));
  EXPECT_THAT(Told(folder_->Write("d", "x")), HasSubstr("d is a folder"));
  EXPECT_THAT(Told(folder_->Write("binary/x", "x")), HasSubstr("a file, not a folder"));
  EXPECT_THAT(Told(folder_->Write(".", "x")), HasSubstr("name a file"));
  EXPECT_THAT(Told(folder_->Write("a\nb", "x")), HasSubstr("control characters"));
  EXPECT_THAT(Told(folder_->Write(std::string(300, 'x'), "x")), HasSubstr("too long"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "d/";
  EXPECT_THAT(Told(folder_->Write(deep + "x", "x")), HasSubstr("more than 64 folders"));
  ASSERT_TRUE(folder_->Write("pipe", "a file now"));
  EXPECT_EQ(Got("pipe"), "a file now");
}

TEST_F(FolderTest, AnswersAreBounded) {
  FolderLimits limits;
  limits.file_bytes = 1000;
  limits.shown_bytes = 2000;
  limits.line_bytes = 100;
  limits.listed = 5;
  limits.visited = 8;
  Open(limits);
  EXPECT_THAT(Told(folder_->Write("big", std::string(1001, 'x'))), HasSubstr("a file may have 1000"));
  ASSERT_TRUE(folder_->Write("full", std::string(999, 'x')));
  EXPECT_THAT(Told(folder_->Edit("full", std::string(999, 'x'), std::string(1001, 'x'))), HasSubstr("may have 1000"));
  EXPECT_THAT(folder_->Read("full").value_or(""),
              AllOf(HasSubstr("long lines are cut"), HasSubstr("[899 more bytes]")));
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "0123456789\n";
  Put(task_ / "lines", lines);
  const std::string shown = folder_->Read("lines").value_or("");
  EXPECT_THAT(shown, StartsWith("lines: lines 1 to 182 of 1000; go on at 183\n"));
  for (int i = 0; i < 20; ++i) Put(task_ / ("f" + std::to_string(i)), "x");
  const std::string listed = folder_->List(".").value_or("");
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 6) << listed;
  EXPECT_THAT(listed, HasSubstr("[3 more, and others that were not looked at, not shown"));
}

TEST_F(FolderTest, ListsWhatIsThere) {
  EXPECT_EQ(folder_->List("").value_or(""), "/task is empty\n");
  ASSERT_TRUE(folder_->Write("b.py", "12345"));
  ASSERT_TRUE(folder_->Write("a/c.py", "1"));
  fs::create_symlink("/etc", task_ / "link");
  Put(task_ / "forged\n         9 model_new.py", "");
  EXPECT_EQ(folder_->List(".").value_or(""),
            "           a/\n         1 a/c.py\n         5 b.py\n         0 forged?         9 model_new.py\n"
            "           link (a symbolic link)\n");
  EXPECT_EQ(folder_->List("a").value_or(""), "         1 a/c.py\n");
}

TEST_F(FolderTest, SnapshotsComeBack) {
  ASSERT_TRUE(folder_->Write("a/run.sh", "#!/bin/sh\n"));
  chmod((task_ / "a/run.sh").c_str(), 0750);
  ASSERT_TRUE(folder_->Write("b", "same"));
  ASSERT_TRUE(folder_->Write("c", "same"));
  fs::create_symlink("/etc/passwd", task_ / "link");
  ASSERT_EQ(mkfifo((task_ / "pipe").c_str(), 0666), 0);
  Put(task_ / "sparse", "");
  ASSERT_EQ(truncate((task_ / "sparse").c_str(), off_t{1} << 40), 0);
  Put(task_ / "bad\xff", "x");
  const auto snapshot = folder_->Take();
  ASSERT_TRUE(snapshot);
  std::vector<std::string> files, left_out;
  for (const auto& file : snapshot->files)
    files.push_back(file.path + " " + std::to_string(file.mode) + " " + std::to_string(file.bytes));
  for (const auto& entry : snapshot->left_out) left_out.push_back(entry.path + ": " + entry.why);
  EXPECT_THAT(files, ElementsAre("a/run.sh 488 10", "b 420 4", "c 420 4"));
  EXPECT_THAT(left_out, ElementsAre("bad\xEF\xBF\xBD: its name is not plain text", "link: a symbolic link",
                                    "pipe: a pipe", "sparse: 1099511627776 bytes are too many"));
  EXPECT_EQ(snapshot->files[1].sha256, Sha256("same"));
  EXPECT_EQ(snapshot->contents.size(), 2u);

  fs::create_directories(task_ / "new/deep/er");
  Put(task_ / "b", "changed");
  ASSERT_TRUE(folder_->Restore(*snapshot));
  const auto again = folder_->Take();
  ASSERT_TRUE(again);
  EXPECT_THAT(again->left_out, IsEmpty());
  EXPECT_EQ(folder_->List("").value_or(""), "           a/\n        10 a/run.sh\n         4 b\n         4 c\n");
  EXPECT_EQ(fs::status(task_ / "a/run.sh").permissions(), fs::perms(0750));
  EXPECT_EQ(Got("b"), "same");
}

TEST_F(FolderTest, CandidatesAreRead) {
  ASSERT_TRUE(folder_->Write("model_new.py", "class ModelNew: pass\n"));
  ASSERT_TRUE(folder_->Write("kernels/relu.cpp", "// relu\n"));
  EXPECT_EQ(folder_->Candidate("model_new.py")->text, "class ModelNew: pass\n");
  const auto whole = folder_->Candidate("/task");
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->text, ReadCandidateText(task_)->text) << "the same as the judge reads";
  EXPECT_THAT(Told(folder_->Candidate("kernels")), HasSubstr("no model_new.py"));
  fs::create_hard_link(task_ / "model_new.py", task_ / "hard.py");
  EXPECT_THAT(Told(folder_->Candidate("hard.py")), HasSubstr("copy it"));
  fs::remove(task_ / "hard.py");
  ASSERT_EQ(mkfifo((task_ / "pipe").c_str(), 0666), 0);
  EXPECT_THAT(Told(folder_->Candidate("pipe")), HasSubstr("a pipe"));
  EXPECT_THAT(Told(folder_->Candidate(".")), HasSubstr("pipe is a link, or no file at all"));
  fs::remove(task_ / "pipe");
  fs::create_symlink("/etc/passwd", task_ / "passwd.py");
  EXPECT_THAT(Told(folder_->Candidate(".")), HasSubstr("passwd.py is a link"));
  EXPECT_THAT(Told(folder_->Candidate("passwd.py")), HasSubstr("links are not followed"));
  fs::remove(task_ / "passwd.py");
  Put(task_ / "large.py", std::string(kMaxCandidateBytes + 1, '#'));
  EXPECT_THAT(Told(folder_->Candidate("large.py")), HasSubstr("a candidate may have"));
  ASSERT_EQ(truncate((task_ / "large.py").c_str(), off_t{1} << 40), 0);
  EXPECT_THAT(Told(folder_->Candidate("large.py")), HasSubstr("a candidate may have"));
}

// Between any two looks at it a name may lead elsewhere.
TEST_F(FolderTest, NamesThatChangeMeanwhileGainNothing) {
  std::atomic<bool> over = false;
  std::thread changes([&] {
    const auto file = task_ / "d";
    while (!over) {
      std::error_code ignored;
      fs::create_directory(file, ignored);
      Put(file / "store.db", "mine");
      fs::rename(file, task_ / "old", ignored);
      fs::create_symlink(around_.path(), file, ignored);
      fs::remove(file, ignored);
      fs::remove_all(task_ / "old", ignored);
    }
  });
  for (int i = 0; i < 3000; ++i) {
    EXPECT_THAT(folder_->Read("d/store.db").value_or(""), Not(HasSubstr("secret")));
    (void)folder_->Write("d/store.db", "written");
    const auto snapshot = folder_->Take();
    ASSERT_TRUE(snapshot);
    EXPECT_FALSE(snapshot->contents.contains(Sha256("secret")));
  }
  over = true;
  changes.join();
  std::ifstream unchanged(around_.path() / "store.db");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(unchanged), {}), "secret");
}

}  // namespace
}  // namespace kb

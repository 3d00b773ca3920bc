#include "judge/candidate/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/hash.h"
#include "base/temp_dir.h"
#include "judge/candidate/candidate.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const FolderFiles kFiles = {{"model_new.py", "import sibling\nclass ModelNew: pass\n"},
                            {"sibling.py", ""},
                            {"kernels/relu.cpp", "int relu;"},
                            {"kernels/\xc3\xa9, 3 bytes.h", "\n==> model_new.py, 3 bytes <==\n"}};

class FolderTest : public testing::Test {
 protected:
  FolderTest() { fs::create_directories(folder_); }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  std::string Refusal() {
    const auto candidate = ReadCandidate(folder_, "cpu");
    EXPECT_TRUE(candidate) << candidate.error().message;
    if (!candidate) return "";
    EXPECT_EQ(candidate->sha256, Sha256(PackedNothing()));
    EXPECT_NE(MakeCandidate(folder_, candidate->source, "cpu")->rejection, "") << "it can be judged again";
    return candidate->rejection;
  }

  const TempDir root_ = *TempDir::Create("folder-test");
  const fs::path folder_ = root_.path() / "mine";
};

TEST_F(FolderTest, ItsTextIsThatOfItsFilesWhereverItLies) {
  for (const auto& [path, text] : kFiles) Write(path, text);
  Write("__pycache__/sibling.cpython-311.pyc", std::string("\0\xff", 2));
  Write(".git/HEAD", "");
  fs::create_directory(folder_ / "empty");
  const auto read = ReadCandidateText(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text, Pack(kFiles).value());
  EXPECT_EQ(Unpack(read->text).value(), kFiles);

  const auto candidate = ReadCandidate(folder_.string() + "/", "cpu");
  ASSERT_TRUE(candidate) << candidate.error().message;
  EXPECT_EQ(candidate->rejection, "");
  EXPECT_EQ(candidate->kind, CandidateKind::kModule);
  EXPECT_EQ(candidate->backend, "cpp");
  EXPECT_EQ(candidate->path, folder_);
  EXPECT_EQ(candidate->sha256, Sha256(read->text));
  fs::rename(folder_, root_.path() / "other");
  EXPECT_EQ(ReadCandidate(root_.path() / "other", "cpu")->sha256, candidate->sha256);
}

TEST_F(FolderTest, AnyOtherFileOrTextIsAnotherCandidate) {
  const std::string packed = Pack(kFiles).value();
  for (const auto& [path, text] : kFiles) {
    FolderFiles other = kFiles;
    other[path] += "\n";
    EXPECT_NE(Pack(other).value(), packed) << path;
    if (path == kFolderEntry) continue;
    other = kFiles;
    other.erase(path);
    other[path + "x"] = text;
    EXPECT_NE(Pack(other).value(), packed) << path;
  }
}

TEST_F(FolderTest, WhatIsNoFileOfOneNameIsRefused) {
  Write("model_new.py", "class ModelNew: pass");
  Write("../secret.txt", "secret");
  fs::create_symlink(root_.path() / "secret.txt", folder_ / "link.txt");
  EXPECT_THAT(Refusal(), HasSubstr("link.txt is a link"));
  fs::remove(folder_ / "link.txt");
  fs::create_directory_symlink(root_.path(), folder_ / "up");
  EXPECT_THAT(Refusal(), HasSubstr("up is a link"));
  fs::remove(folder_ / "up");
  fs::create_hard_link(root_.path() / "secret.txt", folder_ / "hard.txt");
  EXPECT_THAT(Refusal(), HasSubstr("hard.txt is a link"));
  fs::remove(folder_ / "hard.txt");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(Refusal(), HasSubstr("pipe is"));
  fs::remove(folder_ / "pipe");
  EXPECT_EQ(ReadCandidateText(folder_)->rejection, "");
  fs::create_directory_symlink(folder_, root_.path() / "link_to_mine");
  const auto linked = ReadCandidateText(root_.path() / "link_to_mine" / "");
  ASSERT_TRUE(linked);
  EXPECT_THAT(linked->rejection, HasSubstr("it is a link"));
}

TEST_F(FolderTest, WhatIsTooMuchOrNoTextIsRefused) {
  EXPECT_THAT(Refusal(), HasSubstr("no model_new.py"));
  Write("model_new.py", "class ModelNew: pass");
  for (size_t i = 1; i < kMaxFolderFiles; ++i) Write("deep/" + std::to_string(i), "");
  EXPECT_EQ(ReadCandidateText(folder_)->rejection, "");
  Write("deep/one_more", "");
  EXPECT_THAT(Refusal(), HasSubstr("more than 200 files"));
  fs::remove_all(folder_ / "deep");
  for (size_t i = 0; i <= 2 * kMaxFolderFiles; ++i) fs::create_directory(folder_ / std::to_string(i));
  EXPECT_THAT(Refusal(), HasSubstr("folders"));
  fs::remove_all(folder_);
  Write("model_new.py", "class ModelNew: pass");
  Write("long.h", std::string(kMaxFolderBytes, 'x'));
  EXPECT_THAT(Refusal(), HasSubstr("5000000 bytes"));
  fs::remove(folder_ / "long.h");
  Write("data.bin", "\xff");
  EXPECT_THAT(Refusal(), HasSubstr("data.bin is no text in UTF-8"));
  fs::remove(folder_ / "data.bin");
  std::string deep;
  for (int i = 0; i < 25; ++i) deep += "a_longish/";
  Write(deep + "x", "");
  EXPECT_THAT(Refusal(), HasSubstr("no path of a file in it"));
}

TEST_F(FolderTest, PathsLieBelowIt) {
  for (const char* path : {"", "/x", "x/", "a//b", ".", "..", "../x", "a/../b", "a/./b", "a\nb", "\xff", "a/..",
                           ".git/x", "a/.x", "__pycache__", "a/__pycache__/b"}) {
    FolderFiles files = kFiles;
    files[path] = "";
    EXPECT_FALSE(Pack(files)) << path;
  }
  FolderFiles files = kFiles;
  files["sibling.py/x"] = "";
  ASSERT_FALSE(Pack(files));
  EXPECT_THAT(Pack(files).error().message, HasSubstr("a file and a folder"));
}

TEST_F(FolderTest, FoldersInItAreCounted) {
  FolderFiles files = {{"model_new.py", ""}};
  std::string deep;
  for (int i = 0; i < 90; ++i) deep += "a/";
  for (const char* name : {"1/", "2/", "3/", "4/"}) files[name + deep + "x"] = "";
  EXPECT_TRUE(Pack(files));
  files["5/" + deep + "x"] = "";
  ASSERT_FALSE(Pack(files));
  EXPECT_THAT(Pack(files).error().message, HasSubstr("folders"));
}

TEST_F(FolderTest, PythonInAnotherEncodingIsRefused) {
  const std::pair<const char*, bool> kCases[] = {
      {"# coding: utf-7\n", false},
      {"# -*- coding: unicode_escape -*-\n", false},
      {"#!/usr/bin/python\n \t\f# vim: set fileencoding=latin-1 :\n", false},
      {"\r# coding=rot13\r", false},
      {"\r\n# coding: \t cp1252\r\n", false},
      {"\xef\xbb\xbf# coding: utf-16\n", false},
      {"# decoding: greedy\n", false},  // Python takes it for one, too
      {"# coding: utf-8\n# coding: utf-7\n", true},
      {"# coding: UTF_8\n", true},
      {"# -*- coding: us-ascii -*-\n", true},
      {"# encoding: utf-8-unix\n", true},
      {"\n\n# coding: utf-7\n", true},
      {"x = 1\n# coding: utf-7\n", true},
      {"x = 1  # coding: utf-7\n", true},
      {"# coding is fun: coding : x\n", true},
      {"", true},
      {"# coding:", true},
  };
  for (const auto& [text, good] : kCases) {
    FolderFiles files = kFiles;
    files["sibling.py"] = text;
    EXPECT_EQ(Pack(files).has_value(), good) << text;
    files = kFiles;
    files["kernels/relu.cpp"] = text;
    EXPECT_TRUE(Pack(files)) << text;
  }
  Write("model_new.py", "class ModelNew: pass");
  Write("a/b.py", "# coding: utf-7\n+AAo-import os");
  EXPECT_THAT(Refusal(), HasSubstr("a/b.py says that its encoding is utf-7"));
}

TEST_F(FolderTest, ADamagedTextIsRejectedAsACandidate) {
  const std::string packed = Pack(kFiles).value();
  for (size_t length = 0; length < packed.size(); ++length) {
    const std::string part = packed.substr(0, length);
    const auto fewer = Unpack(part);  // a cut between two files leaves a folder
    EXPECT_TRUE(!fewer || Pack(*fewer).value() == part) << length;
  }
  std::string longer = packed;
  longer.replace(longer.find(", 0 bytes"), 9, ", 00 bytes");
  for (const std::string& text :
       {longer, packed + "x", packed + packed, std::string("kernelbench folder\n, 1 bytes <==\n"),
        std::string("kernelbench folder\n\n==> model_new.py, 99999999999999999999999 bytes <==\n\n")}) {
    const auto candidate = MakeCandidate("x.cpp", text, "cpu");
    ASSERT_TRUE(candidate);
    EXPECT_NE(candidate->rejection, "");
    EXPECT_EQ(candidate->source, text);
  }
}

}  // namespace
}  // namespace kb

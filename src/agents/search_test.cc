#include "agents/search.h"

#include <gmock/gmock.h>

#include "open_paths.h"

namespace kb {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

TEST(SearchTest, WhatAModelAsksFor) {
  OpenPaths({KB_PROGRAMS});
  Installation installation;
  installation.libexec = KB_PROGRAMS;
  auto box = Box::Create(installation, {.memory_bytes = uint64_t{256} << 20});
  ASSERT_TRUE(box) << box.error().message;
  Folder& folder = box->folder();
  ASSERT_TRUE(folder.Write("b.py", "x = 1\ny[0] = 22\n"));
  ASSERT_TRUE(folder.Write("a/c.py", "import torch\nx = 10\n"));
  ASSERT_TRUE(folder.Write("grep", "#!/bin/sh\necho forged\n"));
  ASSERT_TRUE(folder.Write("it's \"$(touch done)", "odd = 3\n"));
  ASSERT_TRUE(folder.Write("binary", std::string("x = 5\0x = 6\n", 12)));
  ASSERT_TRUE(box->Run("chmod +x grep; ln -s /etc/passwd link; mkfifo pipe; ln -s . loop"));
  const auto found = [&](const SearchRequest& request) {
    const auto lines = Search(&*box, request);
    return lines ? *lines : "error: " + lines.error().message;
  };
  EXPECT_EQ(found({.pattern = R"(x = \d+)"}), "a/c.py:2:x = 10\nb.py:1:x = 1\n");
  EXPECT_EQ(found({.pattern = "y[0]", .plain = true}), "b.py:2:y[0] = 22\n");
  EXPECT_EQ(found({.pattern = "y[0]"}), "nothing matches in .\n");
  EXPECT_EQ(found({.pattern = "x", .path = "b.py"}), "b.py:1:x = 1\n");
  EXPECT_EQ(found({.pattern = "odd"}), "it's \"$(touch done):1:odd = 3\n");
  EXPECT_EQ(found({.pattern = "'; touch done; '"}), "nothing matches in .\n");
  EXPECT_EQ(found({.pattern = "root"}), "nothing matches in .\n") << "links are not followed";
  EXPECT_FALSE(folder.Read("done"));
  EXPECT_THAT(found({.pattern = "(x"}), AllOf(HasSubstr("error: the search failed"), HasSubstr("pattern")));
  EXPECT_THAT(found({.pattern = "x", .path = "none"}), HasSubstr("none: No such file"));
  EXPECT_THAT(found({.pattern = "-x", .path = "-r"}), HasSubstr("error: "));
  EXPECT_THAT(found({.pattern = ""}), HasSubstr("error: "));

  std::string many;
  for (int i = 0; i < 1000; ++i) many += "many\n";
  ASSERT_TRUE(folder.Write("m1", many));
  ASSERT_TRUE(folder.Write("m2", many));
  const std::string first = found({.pattern = "many"});
  EXPECT_THAT(first, EndsWith("m1:200:many\n[more than 200 lines match; make the pattern or the path narrower]\n"));

  // Backtracking without end.
  ASSERT_TRUE(folder.Write("a/slow", std::string(30'000, 'a') + "!\n"));
  EXPECT_THAT(found({.pattern = "^(a+)+$", .path = "a/slow"}),
              testing::AnyOf(HasSubstr("error: "), HasSubstr("nothing")));
}

}  // namespace
}  // namespace kb

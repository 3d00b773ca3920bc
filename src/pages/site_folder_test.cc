#include "pages/site_folder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/temp_dir.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

TEST(SiteFolderTest, ItTakesThePlaceOfAnOldOneAndItsMode) {
  const Exchange exchanges[] = {ExchangeFiles, [](const char*, const char*) { return EINVAL; }};
  for (const Exchange exchange : exchanges) {
    const TempDir directory = TempDir::Create("kb-pages-test").value();
    const fs::path folder = directory.path() / "site";
    fs::create_directory(folder);
    std::ofstream(folder / kSiteMarker) << "old";
    fs::permissions(folder, fs::perms(0750));
    {
      TempDir made = TempDir::Create("made", directory.path()).value();
      std::ofstream(made.path() / "index.html") << "new";
      const Status put = PublishFolder(&made, folder, exchange);
      ASSERT_TRUE(put) << put.error().message;
    }
    EXPECT_TRUE(fs::exists(folder / "index.html"));
    EXPECT_FALSE(fs::exists(folder / kSiteMarker));
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms(0750));
    EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 1) << "nothing else is left";
  }
}

TEST(SiteFolderTest, WhatOthersPutThereMeanwhileStays) {
  const TempDir directory = TempDir::Create("kb-pages-test").value();
  const fs::path folder = directory.path() / "site";
  fs::create_directory(folder);
  std::ofstream(folder / "thesis.txt") << "years";
  TempDir made = TempDir::Create("made", directory.path()).value();
  const Status put = PublishFolder(&made, folder);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kUsage);
  EXPECT_TRUE(fs::exists(folder / "thesis.txt"));
}

}  // namespace
}  // namespace kb

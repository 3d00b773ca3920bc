#include "server/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace kb::server {
namespace {

using ::testing::ElementsAre;

TEST(ClientLimitTest, OneClientLeavesSomeForOthers) {
  ClientLimit limit(3, 2);
  EXPECT_TRUE(limit.Take("ann"));
  EXPECT_TRUE(limit.Take("ann"));
  EXPECT_FALSE(limit.Take("ann"));
  EXPECT_TRUE(limit.Take("bob"));
  EXPECT_FALSE(limit.Take("eve")) << "all are taken";
  limit.Give("ann");
  EXPECT_TRUE(limit.Take("eve"));
}

// Work that is brought by work is what comes while that goes on.
TEST(TurnsTest, WhatWaitsIsDoneLater) {
  Turns turns(2, 1, 1);
  std::vector<std::string> done;
  const auto does = [&](const char* what) { return [&done, what] { done.emplace_back(what); }; };
  EXPECT_TRUE(turns.Do("ann", [&] {
    EXPECT_TRUE(turns.Do("ann", [&] {
      done.emplace_back("ann's second");
      throw std::runtime_error("its third is done all the same");
    }));
    EXPECT_FALSE(turns.Do("ann", does("never"))) << "one waits already";
    EXPECT_TRUE(turns.Do("bob", does("bob's"))) << "and he does not wait for her";
    done.emplace_back("ann's first");
  }));
  EXPECT_TRUE(turns.Do("ann", does("ann's third")));
  EXPECT_THAT(done, ElementsAre("bob's", "ann's first", "ann's second", "ann's third"));
}

}  // namespace
}  // namespace kb::server

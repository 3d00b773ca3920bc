#include "base/card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Card, IsWholeWordsOfAName) {
  EXPECT_TRUE(IsCard("NVIDIA H100 80GB HBM3", "h100"));
  EXPECT_TRUE(IsCard("NVIDIA A100-SXM4-40GB", "a100"));
  EXPECT_TRUE(IsCard("NVIDIA A100-SXM4-40GB", "A100-40GB"));
  EXPECT_TRUE(IsCard("NVIDIA GeForce RTX 4090", "rtx-4090"));
  EXPECT_TRUE(IsCard("NVIDIA H100 PCIe", "nvidia h100 pcie"));
  EXPECT_FALSE(IsCard("NVIDIA A100-SXM4-40GB", "a10"));
  EXPECT_FALSE(IsCard("NVIDIA L40S", "l40"));
  EXPECT_FALSE(IsCard("NVIDIA A100-SXM4-40GB", "a100-80gb"));
  EXPECT_FALSE(IsCard("", "h100"));
  EXPECT_FALSE(IsCard("NVIDIA H100 PCIe", ""));
}

TEST(Card, HasOneNameHoweverItIsWritten) {
  EXPECT_EQ(CardName("RTX 4090"), "rtx-4090");
  EXPECT_EQ(CardName("rtx_4090 "), "rtx-4090");
  EXPECT_EQ(CardName("-"), "");
}

TEST(Card, IsPartOfAJobsDevice) {
  EXPECT_EQ(KindOf("cuda:h100"), "cuda");
  EXPECT_EQ(CardOf("cuda:h100"), "h100");
  EXPECT_EQ(CardOf("cuda"), "");
  EXPECT_TRUE(MayBeOn("cuda", "cuda", "NVIDIA H200"));
  EXPECT_TRUE(MayBeOn("cuda:h200", "cuda", "NVIDIA H200"));
  EXPECT_FALSE(MayBeOn("cuda:h100", "cuda", "NVIDIA H200"));
  EXPECT_FALSE(MayBeOn("cuda:h100", "cuda", ""));
  EXPECT_FALSE(MayBeOn("cpu", "cuda", "NVIDIA H200"));
}

TEST(Card, IsEachGpuOfOneName) {
  const std::vector<std::string> names = {"NVIDIA H200", "NVIDIA L4", "NVIDIA H200", ""};
  EXPECT_THAT(*FindCard("h200", names), ElementsAre(0, 2));
  EXPECT_THAT(*FindCard("h100", names), IsEmpty());
}

TEST(Card, OfTwoNamesIsToBeNamedByMoreOfTheirWords) {
  const auto error_of = [](const std::string& card, const std::vector<std::string>& names) {
    const auto found = FindCard(card, names);
    return found ? "" : found.error().message;
  };
  EXPECT_THAT(error_of("a100", {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"}),
              AllOf(HasSubstr("NVIDIA A100-SXM4-40GB and NVIDIA A100-SXM4-80GB"), HasSubstr("such as a100-40gb")));
  EXPECT_THAT(error_of("h100", {"NVIDIA H100", "NVIDIA H100 PCIe"}), HasSubstr("such as h100-pcie"));
  EXPECT_EQ(error_of("a100-80gb", {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"}), "");
}

}  // namespace
}  // namespace kb

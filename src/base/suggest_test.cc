#include "base/suggest.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

using Names = std::vector<std::string>;

TEST(Suggest, NamesWhatIsNearest) {
  const Names commands = {"eval", "run", "serve", "service", "generate", "score", "compare"};
  EXPECT_EQ(Suggest("evla", commands), Names{"eval"});
  EXPECT_EQ(Suggest("sevre", commands), (Names{"serve"}));
  EXPECT_EQ(Suggest("servic", commands), (Names{"service", "serve"}));
  EXPECT_TRUE(Suggest("zzz", commands).empty());
  EXPECT_TRUE(Suggest("", commands).empty());
  EXPECT_EQ(Suggest("rmsnorm", {"19_ReLU", "36_RMSNorm_"}), Names{"36_RMSNorm_"});
  EXPECT_EQ(Suggest("norm", {"a_norm", "b_norm", "c_norm", "d_norm"}).size(), 3u);
}

TEST(Suggest, AsksInOneSentence) {
  EXPECT_EQ(DidYouMean("qick", {"quick", "strict"}), " (did you mean \"quick\"?)");
  EXPECT_EQ(DidYouMean("servic", {"serve", "service"}), " (did you mean \"service\" or \"serve\"?)");
  EXPECT_EQ(DidYouMean("other", {"quick"}), "");
}

}  // namespace
}  // namespace kb

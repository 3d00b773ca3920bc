#include "judge/problem/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Metadata, IsReadFromTheText) {
  const ProblemMetadata metadata = ReadMetadata(R"py("""A title."""
import torch
N = 4096
FAMILY = "scan"
SIZES = {
    "small": {"N": 512, "SCALE": -1.5e-3},  # fits a laptop
    "odd": {"N": 1_021},
}
DISTRIBUTIONS = ("centred", 'sparse')
PRECISIONS = ("fp32",)
NEEDS_TORCH_RNG = True
COLLAPSES = ("a sum after a product: "
             "two thirds go")
UNSCORED = "always \"0\""
FACTS_DIFFER = {"numbers": "drawn", "inputs": "larger"}


class Model:
    FAMILY = "not this one"


def get_inputs():
    UNSCORED = "nor this"
)py");
  EXPECT_EQ(metadata.family, "scan");
  EXPECT_THAT(metadata.sizes, ElementsAre("standard", "small", "odd"));
  EXPECT_THAT(metadata.distributions, ElementsAre("centred", "sparse"));
  EXPECT_THAT(metadata.precisions, ElementsAre("fp32"));
  EXPECT_TRUE(metadata.needs_torch_rng);
  EXPECT_EQ(metadata.collapses, "a sum after a product: two thirds go");
  EXPECT_EQ(metadata.unscored, "always \"0\"");
  EXPECT_EQ(metadata.facts_differ.dump(), R"({"numbers":"drawn","inputs":"larger"})");
}

TEST(Metadata, WhatIsNotDeclaredHasADefault) {
  for (const char* source :
       {"", "def broken(:", "FAMILY = compute()\nSIZES = {n: 1 for n in ()}\nDISTRIBUTIONS = 3\n"}) {
    const ProblemMetadata metadata = ReadMetadata(source);
    EXPECT_EQ(metadata.family, "") << source;
    EXPECT_THAT(metadata.sizes, ElementsAre("standard"));
    EXPECT_THAT(metadata.distributions, IsEmpty());
    EXPECT_THAT(metadata.precisions, ElementsAre("fp32", "fp16", "bf16"));
    EXPECT_FALSE(metadata.needs_torch_rng);
    EXPECT_EQ(metadata.unscored, "");
  }
}

TEST(Metadata, ConstantsAreLiterals) {
  const auto constants = ReadConstants(
      "A = -3\nB = 1e-4\nC = [1, (2, 3), {'k': None}]\nD = 2 * 3\nE = 'x'\nE = 'y'\nF: int = 7\nG = H = 1\n");
  EXPECT_EQ(constants.at("A"), -3);
  EXPECT_EQ(constants.at("B"), 1e-4);
  EXPECT_EQ(constants.at("C").dump(), R"([1,[2,3],{"k":null}])");
  EXPECT_FALSE(constants.contains("D"));
  EXPECT_EQ(constants.at("E"), "y");
  EXPECT_EQ(constants.at("F"), 7);
}

TEST(Metadata, HostileDepthIsNoCrash) {
  EXPECT_TRUE(ReadConstants("A = " + std::string(100'000, '[') + std::string(100'000, ']')).empty());
}

}  // namespace
}  // namespace kb

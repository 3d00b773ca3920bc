// Problems of one's own: everything that a problem file may hold, and what is
// said about a broken one.

#include <sstream>

#include "harness.h"
#include "schema.h"

namespace kb::e2e {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ProblemTest : public EngineTest {
 protected:
  struct Case {
    std::string candidate, verdict;
  };
  Ended Judge(const std::string& problem, const std::vector<Case>& cases, const Arguments& flags) {
    Arguments arguments = {"eval", problem, "--protocol", "quick", "--measure", "false", "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    for (const Case& each : cases) arguments.push_back(each.candidate);
    Ended ended = Run(arguments);
    for (const Case& each : cases) {
      SCOPED_TRACE(each.candidate);
      const json evaluation = ended.Of(std::filesystem::path(each.candidate).filename());
      if (evaluation.is_null()) continue;
      ExpectDocumented(evaluation);
      EXPECT_EQ(evaluation["verdict"], each.verdict) << evaluation["reason"] << evaluation["evidence"];
    }
    return ended;
  }
};

constexpr char kMixed[] = R"(
import torch
import torch.nn as nn

N, WIDTH = 64, 24
SIZES = {"small": {"N": 32}, "odd": {"N": 37}}


class Model(nn.Module):
    def __init__(self, width, scale, bias):
        super().__init__()
        self.scale = scale
        self.bias = nn.Parameter(torch.randn(width)) if bias else None

    def forward(self, x, pair, count, flags):
        added, more = pair
        rows = (x[more["index"]] * self.scale + added + self.bias) * count
        return {"rows": rows, "parts": (more["index"] + count, [~flags])}


def get_inputs():
    return [torch.rand(N, WIDTH), [torch.rand(N, WIDTH), {"index": torch.randint(0, N, (N,))}], 3, torch.rand(N) < 0.5]


def get_init_inputs():
    return [WIDTH, 0.5, True]
)";

// `parts` is what the module returns as the second entry of its dict.
std::string MixedModule(const std::string& parts) {
  return R"(
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width, scale, bias):
        super().__init__()
        assert bias is True and isinstance(width, int)
        self.scale = scale
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x, pair, count, flags):
        added, more = pair
        index = more["index"]
        assert isinstance(pair, list) and type(count) is int
        assert x.dtype == added.dtype == self.bias.dtype == torch.bfloat16
        assert index.dtype == torch.int64 and flags.dtype == torch.bool
        rows = (x.index_select(0, index) * self.scale + added + self.bias) * count
        return {"rows": rows, "parts": )" +
         parts + "}\n";
}

constexpr char kMixedNative[] = R"(
#include <cstring>

#include <kernelbench/kernel.h>

static float Widen(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

static uint16_t Narrow(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

int kb_forward(const kb_call* call) {
  if (call->num_inputs != 4 || call->num_outputs != 3 || call->num_scalars != 1 || call->num_init != 3) return 1;
  if (call->num_parameters != 1 || std::strcmp(call->parameters[0].name, "bias") != 0) return 2;
  const kb_tensor *x = &call->inputs[0], *index = &call->inputs[2], *flags = &call->inputs[3];
  if (x->dtype.code != KB_BFLOAT || x->dtype.bits != 16) return 3;
  if (index->dtype.code != KB_INT || index->dtype.bits != 64 || flags->dtype.code != KB_BOOL) return 4;
  if (call->parameters[0].tensor.dtype.code != KB_BFLOAT) return 5;
  if (!call->scalars[0].is_integer || call->scalars[0].integer != 3 || call->init[1].real != 0.5) return 6;
  const int64_t n = x->shape[0], width = x->shape[1], count = call->scalars[0].integer;
  const auto* from = static_cast<const uint16_t*>(x->data);
  const auto* added = static_cast<const uint16_t*>(call->inputs[1].data);
  const auto* bias = static_cast<const uint16_t*>(call->parameters[0].tensor.data);
  const auto* rows = static_cast<const int64_t*>(index->data);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const float sum = Widen(from[rows[i] * width + j]) * static_cast<float>(call->init[1].real) +
                        Widen(added[i * width + j]) + Widen(bias[j]);
      static_cast<uint16_t*>(call->outputs[0].data)[i * width + j] = Narrow(sum * static_cast<float>(count));
    }
    static_cast<int64_t*>(call->outputs[1].data)[i] = rows[i] + count;
    static_cast<bool*>(call->outputs[2].data)[i] = !static_cast<const bool*>(flags->data)[i];
  }
  return 0;
}
)";

TEST_F(ProblemTest, NestedInputsAndOutputsOfManyTypesInBf16) {
  const std::string problem = Write("mixed.py", kMixed);
  const Ended ended =
      Judge(problem,
            {{Write("right.py", MixedModule("(index + count, [~flags])")), "correct"},
             {Write("right.cpp", kMixedNative), "correct"},
             {Write("integer.py", MixedModule("(index + count + (index == index[0]), [~flags])")), "incorrect"},
             {Write("bool.py", MixedModule("(index + count, [flags.clone()])")), "incorrect"},
             {Write("narrow.py", MixedModule("((index + count).int(), [~flags])")), "wrong_form"},
             {Write("count.py", MixedModule("(index + count,)")), "wrong_form"}},
            {"--precision", "bf16", "--size", "odd"});
  EXPECT_EQ(ended.code, 1) << ended;
  const json wrong = ended.Of("bool.py")["mismatch"];
  EXPECT_EQ(wrong.value("output", -1), 2);
  EXPECT_EQ(wrong.value("dtype", ""), "bool");
  EXPECT_EQ(wrong.value("shape", json()), json({37}));
  EXPECT_EQ(wrong.value("wrong", -1), 37);
}

TEST_F(ProblemTest, TransposedInputsInFp16) {
  const std::string problem = Write("transposed.py", R"(
import torch
import torch.nn as nn

M, K, N = 48, 40, 56


class Model(nn.Module):
    def forward(self, x, y):
        return torch.matmul(x, y)


def get_inputs():
    return [torch.rand(K, M).T, torch.rand(K, N)]


def get_init_inputs():
    return []
)");
  const std::string module = R"(
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        assert x.dtype == torch.float16 and x.stride() == (1, x.shape[0]), (x.dtype, x.stride())
        return (x.float() @ y.float()).half()
)";
  const auto native = [](const std::string& index) {
    return R"(
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const kb_tensor &x = call->inputs[0], &y = call->inputs[1];
  const int64_t m = x.shape[0], k = x.shape[1], n = y.shape[1];
  if (x.dtype.code != KB_FLOAT || x.dtype.bits != 16) return 1;
  if (x.strides[0] != 1 || x.strides[1] != m || y.strides[0] != n || y.strides[1] != 1) return 2;
  const _Float16 *a = static_cast<const _Float16*>(x.data), *b = static_cast<const _Float16*>(y.data);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += static_cast<float>(a[)" +
           index + R"(]) * static_cast<float>(b[l * n + j]);
      static_cast<_Float16*>(call->outputs[0].data)[i * n + j] = static_cast<_Float16>(sum);
    }
  }
  return 0;
}
)";
  };
  Judge(problem,
        {{Write("right.py", module), "correct"},
         {Write("right.cpp", native("i * x.strides[0] + l * x.strides[1]")), "correct"},
         {Write("contiguous.cpp", native("i * k + l")), "incorrect"}},
        {"--precision", "fp16"});
}

// Buffers change on every call in training mode, on both sides; they are no
// output, and no weights that were drawn.
TEST_F(ProblemTest, BuffersOfBatchNormInTrainingMode) {
  const std::string text = R"(
import torch
import torch.nn as nn


class MODEL(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, 3)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        assert self.training
        return self.norm(self.conv(x))


def get_inputs():
    return [torch.rand(4, 3, 12, 12)]


def get_init_inputs():
    return [5]
)";
  const auto named = [&](const char* name) {
    std::string copy = text;
    return copy.replace(copy.find("MODEL"), 5, name);
  };
  const Ended ended = Judge(Write("norm.py", named("Model")), {{Write("same.py", named("ModelNew")), "correct"}}, {});
  EXPECT_EQ(ended.code, 0) << ended;
  for (const std::string& note : NotesOf(ended.Of("same.py"))) {
    EXPECT_THAT(note, Not(testing::StartsWith("state_copied"))) << "the weights were drawn under one seed";
  }
}

TEST_F(ProblemTest, DropoutNeedsTorchsGenerator) {
  const auto text = [](const std::string& name, const std::string& rng, const std::string& answer) {
    return rng + R"(
import torch
import torch.nn as nn


class )" + name +
           R"((nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return )" +
           answer + R"(


def get_inputs():
    return [torch.rand(64, 64)]


def get_init_inputs():
    return [0.25]
)";
  };
  const std::string dropout = "torch.nn.functional.dropout(2 * x, self.p, training=True)";
  const Ended ended =
      Judge(Write("dropout.py", text("Model", "NEEDS_TORCH_RNG = True\n", dropout)),
            {{Write("same.py", text("ModelNew", "", dropout)), "correct"},
             {Write("none.py", text("ModelNew", "", "2 * x")), "incorrect"},
             {Write("draws_first.py", text("ModelNew", "", dropout + " + 0 * torch.rand(1)")), "correct"},
             {Write("draws_more.py", text("ModelNew", "", "0 * torch.rand(1) + " + dropout)), "incorrect"},
             {Write("native.cpp", kReluNative), "not_run"}},
            {});
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ended.Of("native.cpp")["reason"].get<std::string>(), HasSubstr("random generator"));
}

// In most blocks of the output an anchor meets only zeros; where a round's inputs do not, the reference rounds.
TEST_F(ProblemTest, WhatNoAnchorMetIsJudgedByTheRoundsOwnInputs) {
  const auto text = [](const std::string& name, const std::string& answer) {
    return "import torch\nimport torch.nn as nn\n\n\nclass " + name + R"((nn.Module):
    def forward(self, x):
        return torch.where(x > 0.9995, )" +
           answer + R"(, torch.zeros_like(x))


def get_inputs():
    return [torch.rand(1024, 1024)]


def get_init_inputs():
    return []
)";
  };
  const Ended ended = Judge(Write("rare.py", text("Model", "(x + 1e4) - 1e4")),
                            {{Write("exact.py", text("ModelNew", "x")), "correct"},
                             {Write("off.py", text("ModelNew", "x + 0.01")), "incorrect"}},
                            {});
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_THAT(ended.Of("exact.py")["notes"].dump(), HasSubstr("own_anchor: "));
}

// The class that a broken problem shares with a right one, with this forward.
std::string Problem(const std::string& forward, const std::string& inputs = "[torch.rand(64, 64)]") {
  return "import os\nimport time\nimport torch\nimport torch.nn as nn\n\nclass "
         "Model(nn.Module):\n    def forward(self, x):\n" +
         forward + "\n\ndef get_inputs():\n    return " + inputs + "\n\ndef get_init_inputs():\n    return []\n";
}

// One whose inputs count how often they were drawn, so that `n` is another number each time.
std::string Counting(const std::string& result,
                     const std::string& inputs = "[torch.full((4, 8), float(next(DRAWS)))]") {
  return "import itertools\nDRAWS = itertools.count()\n" +
         Problem("        n = int(x.sum()) // 32 if isinstance(x, torch.Tensor) else 0\n        return " + result,
                 inputs);
}

TEST_F(ProblemTest, BrokenProblemsAreRefusedWithAReason) {
  const struct {
    std::string file;
    std::vector<std::string> said;  // all on one line with the path
  } cases[] = {
      {Write("no_model.py", "def get_inputs():\n    return []\n"), {"does not define Model"}},
      {Write("no_inputs.py", "class Model: pass\n"), {"does not define get_inputs"}},
      {Write("no_module.py",
             "class Model: pass\ndef get_inputs(): return []\ndef "
             "get_init_inputs(): return []\n"),
       {"Model is no torch.nn.Module"}},
      {Write("empty.py", ""), {"does not define Model"}},
      {Write("syntax.py", "class Model(:\n"), {"cannot be imported", "SyntaxError"}},
      {Write("exits.py", "import sys\nsys.exit(4)\n"), {"cannot be imported", "SystemExit"}},
      {Write("import.py", "import no_such_package_here\n"),
       {"needs the Python package", "pip install no_such_package_here"}},
      {Write("raises.py", Problem("        raise ValueError('the reference objects')")),
       {"forward raised ValueError: the reference objects"}},
      {Write("no_tensor.py", Problem("        return None")), {"forward returns 0 tensors"}},
      {Write("many.py", Problem("        return [x + i for i in range(300)]")), {"forward returns 300 tensors"}},
      {Write("keys.py", Problem("        return {(0, 1): x}")), {"with the key (0, 1)"}},
      {Write("infinite.py", Problem("        return x", "[float('inf')]")), {"get_inputs() holds inf"}},
      {Write("wide.py", Problem("        return x", "[2 ** 70]")), {"fit into 64 bits"}},
      {Write("strange.py", Problem("        return {1, 2}")), {"the output of forward holds a set"}},
      {Write("clock.py", Problem("        return x + time.perf_counter_ns() % 1000")), {"must be deterministic"}},
      {Write("entropy.py", Problem("        return x * os.urandom(1)[0] + os.urandom(1)[0]")),
       {"must be deterministic"}},
      {Write("large.py", Problem("        return x + 1", "[torch.rand(1 << 20, 1 << 20)]")),
       {"GiB are free", "--size"}},
      {Write("hidden.py", Problem("        return torch.rand(1 << 20, 1 << 20) "
                                  "* float(x[0, 0].item())")),
       {"memory"}},
      {Write("length.py", Counting("[x] * (n + 1)")), {"expected a list of", "depend on values"}},
      {Write("names.py", Counting("{'a': x, f'n{n}': x}")), {"expected a dict with the keys 'a'"}},
      {Write("absent.py", Counting("x, None if n % 2 else x")), {"the output[1] is"}},
      {Write("shape.py", Counting("x.repeat(1, n + 1)")), {"output 0 is torch.float32 of shape [4, ", "and was"}},
      {Write("dtype.py", Counting("x, x.half() if n % 2 else x")), {"output 1 is torch.float"}},
      {Write("inputs.py", Counting("x", "[torch.zeros(4, 8 + next(DRAWS))]")), {"inputs of several forms: input 0"}},
      {Write("scalar.py", Counting("x['x']", "[{'x': torch.zeros(4, 8), 'n': next(DRAWS)}]")),
       {"only tensors may differ"}},
      {Write("latin1.py", "NAME = 'caf\xe9'\n"), {"cannot be imported"}},
  };
  Arguments arguments = {"problems", "validate", "--size", "standard"};
  for (const auto& each : cases) arguments.push_back(each.file);
  const std::string good = Write("good.py", kReluProblem);
  arguments.push_back(good);
  const Ended ended = Run(arguments);
  EXPECT_EQ(ended.code, 2) << ended;
  for (const auto& each : cases) {
    SCOPED_TRACE(each.file);
    std::istringstream lines(ended.err);
    bool found = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.find(each.file) == std::string::npos) continue;
      found = true;
      for (const std::string& said : each.said) EXPECT_THAT(line, HasSubstr(said));
    }
    EXPECT_TRUE(found) << "nothing is said about it in\n" << ended;
  }
  EXPECT_THAT(ended.out, HasSubstr(good + " (standard) is valid"));
  ExpectNoProcessLeft();
}

TEST_F(ProblemTest, NothingIsJudgedOrStoredForABrokenProblem) {
  const std::string candidate = Write("right.cpp", kReluNative);
  const Ended missing = Run({"eval", (root() / "absent.py").string(), candidate});
  EXPECT_EQ(missing.code, 2) << missing;
  EXPECT_THAT(missing.err, HasSubstr("absent.py"));
  const Ended unknown = Run({"eval", "7/123", candidate});
  EXPECT_EQ(unknown.code, 2) << unknown;
  EXPECT_THAT(unknown.err, HasSubstr("problems list"));
  const Ended directory = Run({"eval", root().string(), candidate});
  EXPECT_EQ(directory.code, 2) << directory;

  const std::string sleeps = Write("sleeps.py", Problem("        time.sleep(600)\n        return x"));
  const Ended hangs = Run({"eval", sleeps, candidate, "--reference-timeout-s", "3", "--json"});
  EXPECT_EQ(hangs.code, 2) << hangs;
  EXPECT_THAT(hangs.err, AllOf(HasSubstr("3 s"), HasSubstr("--reference-timeout-s")));
  EXPECT_THAT(hangs.out, IsEmpty());
  ExpectNoProcessLeft();

  const Ended several = Run({"eval", Write("length.py", Counting("[x] * (n + 1)")), candidate, "--json"});
  EXPECT_EQ(several.code, 2) << several;
  EXPECT_THAT(several.err, HasSubstr("outputs of several forms"));
  EXPECT_THAT(several.out, IsEmpty());

  const std::string mixed = Write("mixed.py", kMixed);
  const Ended size = Run({"eval", mixed, candidate, "--size", "huge", "--json"});
  EXPECT_EQ(size.code, 2) << size;
  EXPECT_THAT(size.err, AllOf(HasSubstr("'huge'"), HasSubstr("standard, small, odd")));
  EXPECT_THAT(size.out, IsEmpty());

  // Whatever the candidate is, and whether or not the problem's text tells its sizes.
  const std::string refused = Write("refused.cpp", "");
  const std::string computed = Write("computed.py", std::string(kReluProblem) + "SIZES = dict(odd=dict())\n");
  for (const std::string& path : {mixed, computed}) {
    const Ended rejected = Run({"eval", path, refused, "--size", "huge", "--json"});
    EXPECT_EQ(rejected.code, 2) << rejected;
    EXPECT_THAT(rejected.err, AllOf(HasSubstr("'huge'"), HasSubstr("odd")));
    EXPECT_THAT(rejected.out, IsEmpty());
  }
  EXPECT_EQ(StoredEvaluations(), 0);
  const Ended has = Run({"eval", computed, refused, "--size", "odd", "--json"});
  EXPECT_EQ(has.code, 1) << has;
  EXPECT_THAT(has.out, HasSubstr("static_rejected"));
}

TEST_F(ProblemTest, AProblemThatEndsTheDeviceProcessCostsOnlyItself) {
  const std::string exits = Write("exits.py", Problem("        os._exit(0)")), good = Write("good.py", kReluProblem);
  const Ended ended = Run({"problems", "validate", "--size", "standard", exits, good});
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.err, HasSubstr("device process died"));
  EXPECT_THAT(ended.out, HasSubstr(good + " (standard) is valid"));
}

}  // namespace
}  // namespace kb::e2e

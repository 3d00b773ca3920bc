#include "prompt/code_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using Names = std::set<std::string>;

CodeParts Python(const std::string& text) {
  ParseBudget budget(text.size());
  return PartsOfPython(text, &budget);
}

CodeParts Cpp(const std::string& text) {
  ParseBudget budget(text.size());
  return PartsOfCpp(text, &budget);
}

TEST(CodePartsTest, WhatPythonDefinesAndNeeds) {
  const struct {
    const char* text;
    Names defines, needs;
  } cases[] = {
      {"import torch.nn as nn\nimport a.b\nfrom c.d import e, f as g\n", {"nn", "a", "e", "g"}, {}},
      {"from __future__ import annotations\nimport os\n", {"os"}, {}},
      {"def f(x, *rest, y=1, z: int = k, **more):\n    t = x + y\n    return t + rest[0] + z + more['a']\n",
       {"f"},
       {"k"}},
      {"class A(nn.Module):\n    def forward(self, x):\n        return helper(x, mode=x.kind)\n",
       {"A"},
       {"nn", "helper"}},
      {"a, (b, *c) = 1, (2, 3)\nd: int = 4\nif (e := a):\n    g = len(e)\n", {"a", "b", "c", "d", "e", "g"}, {}},
      {"ys = [y * s for y in range(3) for _ in y]\nf = lambda q: q + r\n", {"ys", "f"}, {"s", "r"}},
      {"with open('x') as f:\n    pass\ntry:\n    pass\nexcept ValueError as e:\n    print(e, f)\n", {"f", "e"}, {}},
      {"for i, j in zip(u, v):\n    w = i\n", {"i", "j", "w"}, {"u", "v"}},
      {"def f():\n    global count\n    import math\n    count += math.pi\n", {"f"}, {}},
      {"x.y = 1\nz[0] = w\n", {}, {"x", "z", "w"}},
      {"@jit\ndef k(a: tl.constexpr): return f'{a} {b}'\n", {"k"}, {"jit", "tl", "b"}},
      {"match m:\n    case [p, q]:\n        r = p\n", {"r"}, {"m"}},
  };
  for (const auto& each : cases) {
    const CodeParts parts = Python(each.text);
    EXPECT_FALSE(parts.broken) << each.text;
    EXPECT_THAT(parts.defines, IsSupersetOf(each.defines)) << each.text;
    EXPECT_EQ(parts.needs, each.needs) << each.text;
  }
  for (const char* text : {"pip install ninja\n", "The file:\n", "```python\nx = 1\n```\n"}) {
    EXPECT_TRUE(Python(text).broken) << text;
  }
}

TEST(CodePartsTest, SketchesOfPython) {
  const char* const kSketches[] = {
      "class M:\n    def forward(self, x):\n        pass  # as above\n",
      "class M:\n    def forward(self, x): ...\n",
      "class M:\n    def __init__(self): self.a = 1\n    def forward(self, x):\n        'Text.'\n        ...\n",
      "class M:\n    def forward(self, x):\n        raise NotImplementedError('above')\n",
      "class M:\n    @torch.no_grad()\n    def forward(self, x):\n        return ...\n",
      "class M:\n    ...\n",
      "class M(Base):\n    def a(self): pass\n    def b(self): raise ValueError\n",
      "class M:\n    def forward(self, x):\n        return x\nclass M:\n    def forward(self, x): pass\n",
  };
  for (const char* text : kSketches) EXPECT_THAT(Python(text).sketched_classes, ElementsAre("M")) << text;
  const char* const kWhole[] = {
      "class M:\n    def reset(self): pass\n    def forward(self, x):\n        return x\n",
      "class M:\n    size = 3\n",
      "class M:\n    def forward(self, x):\n        if x is None: raise ValueError\n        return x\n",
      "class M:\n    def forward(self, x): pass\nclass M:\n    def forward(self, x):\n        return x\n",
  };
  for (const char* text : kWhole) EXPECT_THAT(Python(text).sketched_classes, IsEmpty()) << text;
  EXPECT_THAT(Python("@jit\ndef f(x): ...\ndef g(x): return x\n").sketched_functions, ElementsAre("f"));
  EXPECT_THAT(Python("def f(): raise NotImplementedError\ndef g(x): raise ValueError(x)\n").sketched_functions,
              ElementsAre("f"));
}

TEST(CodePartsTest, WhatCppDefinesAndNeeds) {
  const struct {
    const char* text;
    Names defines, needs;
  } cases[] = {
      {"#include <kernelbench/kernel.h>\n#include \"a/b.h\"\n", {"<kernelbench/kernel.h>", "<a/b.h>"}, {}},
      {"static float f(const float* x, int64_t& n) { float t = x[n]; return g(t); }\n",
       {"f"},
       {"g", "<kernelbench/kernel.h>"}},
      {"#define N 4\n#define MAX(a, b) (a > b ? a : b)\nconstexpr int kLanes = N;\n", {"N", "MAX", "kLanes"}, {}},
      {"namespace mine {\nstruct P { int a; };\nusing Q = P;\n}\n", {"mine", "P", "Q"}, {}},
      {"void helper(int n);\nint kb_forward(const kb_call* c) { helper(3); return 0; }\n", {"kb_forward"}, {"helper"}},
      {"template <typename T>\n__global__ void k(T* x) { x[threadIdx.x] = T(0); }\n", {"k"}, {}},
  };
  for (const auto& each : cases) {
    const CodeParts parts = Cpp(each.text);
    EXPECT_THAT(parts.defines, IsSupersetOf(each.defines)) << each.text;
    EXPECT_THAT(parts.needs, IsSupersetOf(each.needs)) << each.text;
  }
  EXPECT_EQ(Cpp("#include <kernelbench/kernel.h>\nint f(int a) { int b = a; return b; }\n").needs, Names());
}

TEST(CodePartsTest, SketchesOfCpp) {
  for (const char* body : {"", "/* as above */", "return 0;", "throw 1;", "// unchanged\n return kOk;"}) {
    const std::string text = std::string("int kb_forward(const kb_call* call) { ") + body + " }\n";
    EXPECT_THAT(Cpp(text).sketched_functions, ElementsAre("kb_forward")) << text;
  }
  for (const char* body : {"return run(call);", "relu(call); return 0;", "for (;;) {}"}) {
    const std::string text = std::string("int kb_forward(const kb_call* call) { ") + body + " }\n";
    EXPECT_THAT(Cpp(text).sketched_functions, IsEmpty()) << text;
  }
}

TEST(CodePartsTest, ATextThatIsTooLongHasNoParts) {
  std::string text = "import torch\n";
  while (text.size() <= kMaxAnalysedBytes) text += text;
  EXPECT_THAT(Python(text).defines, IsEmpty());
  EXPECT_FALSE(Python(text).broken);
}

}  // namespace
}  // namespace kb

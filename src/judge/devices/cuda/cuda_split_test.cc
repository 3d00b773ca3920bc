#include "judge/devices/cuda/cuda_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "judge/devices/cuda/cuda_words.h"

namespace kb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kKernel[] = "__global__ void K(float* x) { x[0] = 1; }\n";
constexpr char kForward[] = "KB_EXPORT int kb_forward(const kb_call* call) { K<<<1, 32>>>(nullptr); return 0; }\n";

CudaSplit Split(const std::string& source) { return SplitCuda(source, "candidate.cu"); }
// Between the ordinary parts of a candidate.
CudaSplit With(const std::string& text) { return Split(kKernel + text + kForward); }

// The half's own text: without what is put before and after it.
std::string Own(const std::string& half) {
  const std::string line = "#line 1 \"candidate.cu\"\n";
  const size_t begin = half.find(line) + line.size();
  return half.substr(begin, half.find("\n#line 1 \"kb_nvrtc\"", begin) - begin);
}

std::vector<std::string> Texts(std::string_view source) {
  std::vector<std::string> texts;
  for (const CudaWord& word : CudaWords(source)) texts.emplace_back(word.text);
  return texts;
}

TEST(CudaWords, LeaveOutCommentsAndKeepLiteralsWhole) {
  EXPECT_THAT(Texts("a /* b */ c // d \\\n e\nf"), ElementsAre("a", "c", "f"));
  EXPECT_THAT(Texts("\"a\\\"b\" 'c' R\"x(\" } )x\" u8R\"(y)\""),
              ElementsAre("\"a\\\"b\"", "'c'", "R\"x(\" } )x\"", "u8R\"(y)\""));
  EXPECT_THAT(Texts("1'000'000 0x1p-3f 1e+5 .5f x'"), ElementsAre("1'000'000", "0x1p-3f", "1e+5", ".5f", "x", "'"));
  EXPECT_THAT(Texts("a<<<1>>>"), ElementsAre("a", "<", "<", "<", "1", ">", ">", ">"));
  for (const char* unended : {"\"a", "'", "/*", "R\"x(", "//", "R\"", "\\"}) EXPECT_LE(Texts(unended).size(), 1u);
}

TEST(CudaWords, Brackets) {
  EXPECT_TRUE(Balanced(CudaWords("do { f(a[1]); } while (0)")));
  for (const char* wrong : {"{", "}", "(]", "{(})"}) EXPECT_FALSE(Balanced(CudaWords(wrong))) << wrong;
  const auto words = CudaWords("{ a ( '}' ) } b");
  EXPECT_EQ(Closing(words, 0), words.size() - 1);
}

TEST(CudaSplit, EachHalfHoldsItsOwnAndLinesStay) {
  const std::string source =
      "#include <cuda_runtime.h>\n"
      "#include <kernelbench/kernel.h>\n"
      "constexpr int kTile = 4;\n"
      "__device__ float Half(float v) {\n  return v / 2;\n}\n"
      "__global__ void __launch_bounds__(256)\n    K(const float* x, float* y, int n) {\n  y[0] = Half(x[kTile]) * "
      "n;\n}\n"
      "static int Blocks(int n) { return n / kTile; }\n"
      "KB_EXPORT int kb_forward(const kb_call* call) {\n  K<<<Blocks(9), 32>>>(nullptr,\n    nullptr, 3);\n  return "
      "0;\n}\n";
  const CudaSplit split = Split(source);
  ASSERT_EQ(split.refusal, "");
  EXPECT_THAT(split.kernels, ElementsAre("&::K"));
  const std::string host = Own(split.host), device = Own(split.device);
  EXPECT_THAT(host, Not(HasSubstr("Half")));
  EXPECT_THAT(host, Not(HasSubstr("__launch_bounds__")));
  EXPECT_THAT(host, HasSubstr("Blocks(9), 32"));
  EXPECT_THAT(device, Not(HasSubstr("Blocks")));
  EXPECT_THAT(device, Not(HasSubstr("kb_")));
  EXPECT_THAT(device, HasSubstr("__launch_bounds__(256)"));
  for (const std::string& half : {host, device}) {
    EXPECT_THAT(half, HasSubstr("constexpr int kTile = 4;"));
    EXPECT_GE(std::count(half.begin(), half.end(), '\n'), std::count(source.begin(), source.end(), '\n'));
  }
  const auto line_of = [](const std::string& text, const std::string& what) {
    return std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(text.find(what)), '\n');
  };
  EXPECT_EQ(line_of(device, "Half(x[kTile])"), line_of(source, "Half(x[kTile])"));
  EXPECT_EQ(line_of(host, "nullptr, 3"), line_of(source, "nullptr, 3"));
  EXPECT_EQ(line_of(host, "kb_forward"), line_of(source, "kb_forward"));
}

TEST(CudaSplit, TakesWhatCandidatesHold) {
  for (const char* text : {
           "static const float kScale = 2.5f; namespace { int calls = 0; }\n",
           "struct P { float a; int n; };\n__global__ void L(P p, const __grid_constant__ P q) {}\n",
           "struct Op { __device__ explicit Op(int k) : n(k) {} __device__ float operator()(float v) const { return v; "
           "} int n; };\n",
           "struct S { int n; int Rows() const { return n; } };\nint Use(S s) { return s.Rows(); }\n",
           "template <typename T> struct B { static constexpr int n = 1; };\ntemplate <> struct B<float> { static "
           "constexpr int n = 2; };\n",
           "__constant__ float table[4] = {1, 2, 3, 4};\n__device__ float At(int i) { return table[i]; }\n",
           "__device__ float4 operator+(float4 a, float4 b) { a.x += b.x; return a; }\n",
           "__device__ void F() {\n#pragma unroll\n  for (;;) {}\n#if __CUDA_ARCH__ >= 900\n  asm volatile(\"\" ::: "
           "\"memory\");\n#endif\n}\n",
           "__device__ void F() { extern __shared__ __align__(16) float s[]; }\n",
           "#define CHECK(e) do { if ((e) != 0) { return 1; } } while (0)\n#define N 4\n#define STR(x) #x\n",
           "#include <cuda_fp16.h>\n__global__ void H(const __half* a, half* b) { *b = __hadd(*a, *a); }\n",
           "#include <mma.h>\nusing namespace nvcuda;\n__device__ void F() { wmma::fragment<wmma::accumulator, 16, 16, "
           "16, float> f; }\n",
           "namespace a::b { __global__ void L() {} }\nvoid Go() { a::b::L<<<1, 1>>>(); }\n",
           "extern \"C\" __global__ void L(int n = 3) {}\nextern \"C\" { int q() { return 1; } }\n",
           "enum { kOne = 1 };\nusing Real = float;\ntypedef struct { int a; } T;\nstatic_assert(sizeof(Real) == 4, "
           "\"\");\n",
           "__host__ __device__ inline int Up(int a, int b) { return (a + b - 1) / b; }\n__device__ int U() { return "
           "Up(1, 2); }\n",
           "#include <algorithm>\nint Least(int a) { return std::min(a, 3); }\n",
       }) {
    EXPECT_EQ(With(text).refusal, "") << text;
  }
}

TEST(CudaSplit, TemplatesWithTheArgumentsThatTheHostNames) {
  const std::string kernel =
      "template <int N, typename T = float> __global__ void R(T* x) { x[0] = N; }\nconstexpr int kN = 8;\n";
  const CudaSplit split = With(kernel +
                               "namespace n { template <typename T> __global__ void Q(T* x) {} }\n"
                               "void Go(float* p) { R<kN><<<1, 1>>>(p); R<3, float><<<1, 1>>>(p); R<kN><<<2, 1>>>(p); "
                               "n::Q<int><<<1, 1>>>(nullptr); auto f = &R<5>; }\n");
  ASSERT_EQ(split.refusal, "");
  EXPECT_THAT(split.kernels, ElementsAre("&::K", "&::R<kN>", "&::R<3, float>", "&::n::Q<int>", "&::R<5>"));
  EXPECT_THAT(split.host, HasSubstr("struct Registered<&::R<kN>>"));
  EXPECT_THAT(With(kernel + "void Go(float* p) { R<<<1, 1>>>(p); }\n").refusal,
              HasSubstr("line 4: R without its template arguments"));
}

TEST(CudaSplit, NothingLeftOutMayBeMentioned) {
  const std::pair<const char*, const char*> cases[] = {
      // Another function would be found in its place.
      {"float F(int v);\n__device__ float F(float v) { return v; }\n", "host and device have something of their own"},
      {"__device__ float F(float v) { return v; }\nfloat G(double v) { return F(v); }\n", "host's part mentions F"},
      {"int H(int v) { return v; }\n__device__ int D() { return H(1); }\n", "device's part mentions H"},
      {"__device__ int table[4];\nvoid Go() { cudaMemcpyToSymbol(table, 0, 4); }\n", "host's part mentions table"},
      {"int level = 3;\n__device__ int D() { return level; }\n", "device's part mentions level"},
      {"__device__ int Of(int v) { return v; }\n#define OF(v) Of(v)\nint G() { return OF(1); }\n",
       "host's part mentions Of"},
      {"struct S { int n; int Rows() const { return n; } };\n__device__ int D(S s) { return s.Rows(); }\n",
       "device's part mentions Rows"},
      {"constexpr int Half(int n) { return n / 2; }\nconstexpr int kHalf = Half(8);\n__device__ int D() { return "
       "kHalf; }\n",
       "device's part mentions Half"},
      {"void K(int n) {}\n", "a launch of what is no kernel"},
  };
  for (const auto& [text, reason] : cases) EXPECT_THAT(With(text).refusal, HasSubstr(reason)) << text;
}

TEST(CudaSplit, WhatIsUnusedGoesAndASpecialisationStays) {
  const CudaSplit split = With(
      "#include <vector>\n#include <math.h>\n#include <cuda_fp16.h>\nusing List = std::vector<int>;\n#define LOAD(p) "
      "__ldg(p)\n"
      "struct Inner { int a; };\nstruct Outer { Inner b; };\nstruct Pair { float a, b; };\n"
      "template <typename T> struct Size { static const int n = 1; };\ntemplate <> struct Size<int> { static const int "
      "n = 2; };\n"
      "__device__ Pair Both() { return {1, 2}; }\n");
  ASSERT_EQ(split.refusal, "");
  EXPECT_THAT(Own(split.device), Not(HasSubstr("List")));
  EXPECT_THAT(Own(split.device), Not(HasSubstr("Inner")));
  EXPECT_THAT(Own(split.device), HasSubstr("struct Pair"));
  EXPECT_THAT(Own(split.host), Not(HasSubstr("Pair")));
  EXPECT_THAT(Own(split.host), Not(HasSubstr("LOAD")));
  EXPECT_THAT(Own(split.host), Not(HasSubstr("math.h")));
  EXPECT_THAT(Own(split.host), Not(HasSubstr("cuda_fp16.h")));
  EXPECT_THAT(Own(split.host), HasSubstr("<vector>"));
  for (const std::string& half : {split.host, split.device}) EXPECT_THAT(half, HasSubstr("struct Size<int>"));
}

TEST(CudaSplit, WhatIsNotCertainIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"#include <cub/cub.cuh>\n", "line 2: it includes <cub/cub.cuh>"},
      {"#include <cooperative_groups.h>\n", "it includes"},
      {"#include \"other.h\"\n", "a file of its own"},
      {"#ifdef __CUDACC__\nint a;\n#endif\n", "line 2: a preproc_ifdef"},
      {"__device__ void F() {\n#ifdef FAST\n#endif\n}\n", "line 3: text that depends on a condition"},
      {"#undef N\n", "preproc_call"},
      {"#define KERNEL __global__ void\n", "macro that may make"},
      {"#define GO(k) k<<<1, 1>>>(nullptr)\n", "macro that may make"},
      {"#define NAME(a) my_##a\n", "macro that may make"},
      {"#define BEGIN {\n", "brackets that do not close"},
      {"#define inline\n", "another meaning to inline"},
      {"#define KB_EXPORT\n", "another meaning to KB_EXPORT"},
      {"using namespace std;\n", "names of another namespace"},
      {"using std::min;\n", "names of another namespace"},
      {"#include <algorithm>\nint Least(int a) { return min(a, 3); }\n", "CUDA's min()"},
      {"__device__ float P(float v) { return pow(v, 2); }\n", "uses pow"},
      {"#include <cuda_fp16.h>\nfloat F(const float* p) { __half h = *p; return h + h; }\n", "computes with __half"},
      {"int a = __CUDACC_VER_MAJOR__;\n", "uses __CUDACC_VER_MAJOR__"},
      {"__device__ int a = __NVCC__;\n", "uses __NVCC__"},
      {"__global__ void L(float);\n", "declared first and defined later"},
      {"__global__ void L(float) {}\n", "parameter of an unknown form"},
      {"__global__ void L(int L) {}\n", "parameter of an unknown form"},
      {"namespace n { __global__ void K() {} }\n", "two kernels of one name"},
      {"template <typename... T> __global__ void L(T... t) {}\n", "unknown form"},
      {"template <int N> __global__ void L() {}\ntemplate __global__ void L<3>();\n", "template_instantiation"},
      {"__device__ void D(float* p) { K<<<1, 1>>>(p); }\n", "launch of an unknown form"},
      {"struct V { virtual void F() {} };\n", "virtual"},
      {"struct V { V() {} };\n__device__ V* p;\n", "special member of the host"},
      {"float operator*(float2 a, float2 b) { return 0; }\n", "operator of the host"},
      {"inline namespace v1 { int a; }\n", "inline namespace"},
      {"int a = 1; }\n", "does not follow the grammar"},
      {"int na\\\nme = 1;\n", "spelled oddly"},
      {"int f() <% return 1; %>\n", "spelled oddly"},
      {"int kb_nvrtc = 0;\n", "uses kb_nvrtc"},
      {"__attribute__((global)) void L() {}\n", "the attribute global"},
      {"#define L __attribute__((unused))\n", "macro that may make"},
      {"__attribute__((unused, device)) int a;\n", "the attribute device"},
      {"void F() {}\nvoid Go() { F<<<1, 1>>>(); }\n", "a launch of what is no kernel"},
      {"void F() { auto f = [] __device__ (int a) { return a; }; }\n", "holds device code"},
      {"struct D { long double v; };\n__device__ D d;\n", "uses long double"},
  };
  for (const auto& [text, reason] : cases) EXPECT_THAT(With(text).refusal, HasSubstr(reason)) << text;
  EXPECT_THAT(Split("int a;\n").refusal, HasSubstr("no kernel"));
  EXPECT_THAT(Split("").refusal, HasSubstr("no kernel"));
  EXPECT_THAT(Split(kKernel + std::string(70 << 10, ' ')).refusal, HasSubstr("it is long"));
}

// Braces that the grammar and the preprocessor count differently do not move the end of a function.
TEST(CudaSplit, BodiesEndWhereTheirBracesDo) {
  EXPECT_NE(With("__device__ void F() {\n#if __CUDA_ARCH__ >= 900\n  {\n#else\n  {\n#endif\n  }\n}\n").refusal, "");
  EXPECT_EQ(With("__device__ const char* F() { return \"}\" /* } */; } // }\n").refusal, "");
  EXPECT_EQ(With("__device__ char F() { return '{'; }\n").refusal, "");
}

TEST(CudaSplit, AnyTextIsAnswered) {
  const std::string source = With(
                                 "struct P { int n; };\ntemplate <int N> __global__ void L(P p) { p.n = N; }\nvoid "
                                 "Go() { L<3><<<1, 1>>>({}); }\n")
                                 .host;
  for (size_t length = 0; length < source.size(); length += 7) (void)Split(source.substr(0, length));
  for (const char* text : {"<<<", "__launch_bounds__(", "template <", "namespace n {", "extern \"C\"", "#define",
                           "#include", "K<<<1>>>(", "{{{{", "a<<<b>>>c"}) {
    (void)With(text);
    (void)Split(std::string(2000, *text) + text);
  }
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += "namespace n { ";
  EXPECT_NE(With(deep).refusal, "");
}

}  // namespace
}  // namespace kb

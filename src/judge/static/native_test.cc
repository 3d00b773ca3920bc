// The rules for C++ and CUDA, in files of their own and inside Python strings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/static/test_util.h"

namespace kb {
namespace {

using testing::ElementsAre;

TEST(NativeRules, Cpp) {
  ExpectFound(
      {
          {"// std::thread, fork(), system(\"x\")\nint my_thread_count = 4; int fork_join = 2;\n", {}},
          {"#include <thread>\nvoid f() {\n  std::thread t(g);\n}\n", {"native_threads:3"}},
          {"std::vector<std::thread> pool;\n", {"native_threads:1"}},
          {"using namespace std;\nvoid f() {\n  thread t(g);\n}\n", {"native_threads:3"}},
          {"using std::thread;\nvoid f() { g(); }\n", {"native_threads:1"}},
          {"using T = std::thread;\nvoid f() {\n  T t(g);\n}\n", {"native_threads:1", "native_threads:3"}},
          {"void f() { pthread_create(&t, 0, g, 0); }\n", {"native_threads:1"}},
          {"#define GO std::thread\nvoid f() { GO t(g); }\n", {"native_threads:1"}},
          {"void f() { auto p = ::fork(); }\n", {"process_control:1"}},
          {"int fork() { return 1; }\nint g() { return fork(); }\n", {}},
          {"void f(Tree& t) { t.fork(); t.system(); int kill = 3; }\n", {}},
          {"void f() { dlsym(RTLD_NEXT, \"x\"); }\n", {"dynamic_loading:1"}},
          {"void f() { setenv(\"A\", \"b\", 1); }\n", {"environment:1"}},
          {"const char* p = \"LD_PRELOAD=x\";\n", {"environment:1"}},
          {"extern \"C\" int cudaEventElapsedTime(float* ms, void* a, void* b) {\n  *ms = 1;\n  return 0;\n}\n",
           {"timing_event_patch:1"}},
          {"extern \"C\" {\nint clock_gettime(int c, void* t) { return 0; }\n}\n", {"timing_event_patch:2"}},
          {"namespace mine { int time(int x) { return x; } }\nstatic int clock() { return 1; }\n", {}},
          {"void f() { cblas_sgemm(a, b); }\n", {"library_call:1"}},
          {"at::Tensor f(at::Tensor a) { return at::matmul(a, a); }\n", {"library_call:1"}},
          {"using namespace at;\nTensor f(Tensor a) { return matmul(a, a); }\n", {"library_call:2"}},
          {"namespace F = torch::nn::functional;\nvoid f() { F::linear(a, b); }\n", {"library_call:2"}},
          {"torch::Tensor f(torch::Tensor a) { return a.mm(a); }\n", {"library_call:1"}},
          {"torch::Tensor f(torch::Tensor a) { return torch::empty_like(a); }\n", {}},
          {"_Float16 x;\n", {"precision_downgrade:1"}},
          {"int half = n / 2;\n", {}},
          {"void f() { std::ifstream in(\"/etc/passwd\"); }\n", {"file_access:1"}},
          {"void f() { int s = socket(2, 1, 0); }\n", {"network:1"}},
          {"void f() { mmap(0, 1, 2, 3, 4, 5); }\n", {"foreign_memory:1"}},
          {"void f() { at::set_num_threads(1); }\n", {"global_flags:1"}},
          {"void f() { PyEval_GetFrame(); }\n", {"frame_access:1"}},
      },
      SourceKind::kCpp);
}

TEST(NativeRules, Cuda) {
  ExpectFound(
      {
          {"__global__ void k(float* x) { x[threadIdx.x] = 1; }\nvoid f() { k<<<1, 32>>>(p); }\n", {}},
          {"void f(cudaStream_t stream) { k<<<1, 32, 0, stream>>>(p); }\n", {}},
          {"void f() {\n  cudaStream_t s;\n  cudaStreamCreate(&s);\n}\n", {"stream_injection:3"}},
          {"void f() { k<<<1, 32, 0, cudaStreamPerThread>>>(p); }\n", {"stream_injection:1"}},
          {"__global__ void k(half* x) { *x = __float2half(1.0f); }\n", {"precision_downgrade:1"}},
          {"void f() { cublasSgemm(h, a); }\n", {"library_call:1"}},
          {"void f() { cudaDeviceSetLimit(a, 1); }\n", {"global_flags:1"}},
          {"void f() { cudaIpcOpenMemHandle(&p, h, 0); }\n", {"foreign_memory:1"}},
          {"__global__ void k() { asm volatile(\"bar.sync 0;\"); }\n", {}},
      },
      SourceKind::kCuda);
}

// ---- Inside Python strings
// -------------------------------------------------------------------------------------------

const char kImport[] = "from torch.utils.cpp_extension import load_inline\n";

std::vector<std::string> FoundInline(const std::string& text) { return Found(kImport + text, SourceKind::kPython); }

TEST(EmbeddedSources, LinesAreThoseOfTheFile) {
  EXPECT_THAT(FoundInline("src = r'''\n#include <thread>\nvoid f() {\n  std::thread t(g);\n}\n'''\n"
                          "load_inline('m', cpp_sources=src)\n"),
              ElementsAre("native_threads:5"));
  // Several literals, escapes, sums, lists, variables of variables.
  EXPECT_THAT(FoundInline("load_inline('m', ('int a;\\n\\n'\n  'void f() {'\n  ' fork(); }'), functions=['f'])\n"),
              ElementsAre("process_control:4"));
  EXPECT_THAT(FoundInline("a = 'void f() { std::'\nb = a + 'thread t(g); }'\nload_inline('m', [b], '')\n"),
              ElementsAre("native_threads:2"));
  EXPECT_THAT(FoundInline("s = 'void f() {'\ns += ' fork(); }'\nload_inline(name='m', cpp_sources=[s])\n"),
              ElementsAre("process_control:3"));
  EXPECT_THAT(FoundInline("class M:\n  src = 0\n  def g(self):\n    self.src = 'void f() { fork(); }'\n"
                          "    load_inline('m', self.src)\n"),
              ElementsAre("process_control:5"));
  EXPECT_THAT(FoundInline("n = 4\nload_inline('m', '', f'''\nvoid f() {{ int a[{n}]; }}\n"
                          "void g() {{ cudaStreamCreate(&s); }}\n''')\n"),
              ElementsAre("stream_injection:5"));
  EXPECT_THAT(FoundInline("load_inline('m', 'void f(T x) { fork(); }'.replace('T', 'int'))\n"),
              ElementsAre("process_control:2"));
}

TEST(EmbeddedSources, ColumnLanguageAndPlaceOfTheString) {
  const auto findings =
      StaticCheck({{std::string(kImport) + "s = '''\nint a;\nvoid f() { cudaStreamCreate(&t); }\n'''\n"
                                           "load_inline('m', '', s)\n",
                    SourceKind::kPython}},
                  AllRules());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "stream_injection");
  EXPECT_EQ(findings[0].line, 4);
  EXPECT_EQ(findings[0].column, 12);
  EXPECT_EQ(findings[0].language, "cuda");
  EXPECT_EQ(findings[0].where, "string at line 2");
  EXPECT_EQ(findings[0].excerpt, "void f() { cudaStreamCreate(&t); }");
}

TEST(EmbeddedSources, StringsThatNoCallWasSeenToTake) {
  EXPECT_THAT(FoundInline("src = '#include <x>\\nvoid f() { fork(); }'\nbuild(src)\n"),
              ElementsAre("process_control:2"));
  EXPECT_THAT(FoundInline("text = 'call fork() and std::thread here'\n"), ElementsAre());
  EXPECT_THAT(FoundInline("def f():\n    '''#include <x> fork();'''\n    return 1\n"), ElementsAre());
}

TEST(EmbeddedSources, VariablesThatHoldThemselvesEnd) {
  EXPECT_THAT(FoundInline("a = b\nb = a + 'void f() { fork(); }'\nload_inline('m', b)\n"),
              ElementsAre("process_control:3"));
}

}  // namespace
}  // namespace kb

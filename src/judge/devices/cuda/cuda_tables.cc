#include "judge/devices/cuda/cuda_tables.h"

#include <algorithm>
#include <iterator>

namespace kb {
namespace {

template <size_t N>
bool Among(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

constexpr struct {
  std::string_view header;
  IncludeKind kind;
} kIncludes[] = {
    {"kernelbench/kernel.h", IncludeKind::kBasic},
    {"cuda_runtime.h", IncludeKind::kBasic},
    {"cuda_runtime_api.h", IncludeKind::kBasic},
    {"device_launch_parameters.h", IncludeKind::kBasic},
    {"driver_types.h", IncludeKind::kBasic},
    {"vector_functions.h", IncludeKind::kBasic},
    {"vector_types.h", IncludeKind::kBasic},
    {"stddef.h", IncludeKind::kBasic},
    {"stdint.h", IncludeKind::kBasic},
    {"stdbool.h", IncludeKind::kBasic},
    {"limits.h", IncludeKind::kBasic},
    {"float.h", IncludeKind::kBasic},
    {"cstddef", IncludeKind::kBasic},
    {"cstdint", IncludeKind::kBasic},
    {"climits", IncludeKind::kBasic},
    {"cfloat", IncludeKind::kBasic},
    {"math.h", IncludeKind::kMath},
    {"cmath", IncludeKind::kMath},
    {"cuda_fp16.h", IncludeKind::kHalf},
    {"cuda_bf16.h", IncludeKind::kHalf},
    {"cuda_fp8.h", IncludeKind::kHalf},
    {"mma.h", IncludeKind::kDevice},
    {"math_constants.h", IncludeKind::kBoth},
};

constexpr std::string_view kStandardHeaders[] = {
    "cuda.h",        "arpa/inet.h",  "dirent.h",    "dlfcn.h",       "fcntl.h",
    "linux/futex.h", "netinet/in.h", "pthread.h",   "sched.h",       "signal.h",
    "sys/mman.h",    "sys/socket.h", "sys/stat.h",  "sys/syscall.h", "sys/types.h",
    "sys/un.h",      "sys/wait.h",   "time.h",      "unistd.h",      "condition_variable",
    "exception",     "filesystem",   "fstream",     "future",        "iterator",
    "set",           "assert.h",     "errno.h",     "stdio.h",       "stdlib.h",
    "string.h",      "algorithm",    "array",       "atomic",        "bit",
    "cassert",       "cerrno",       "chrono",      "cstdio",        "cstdlib",
    "cstring",       "functional",   "iostream",    "limits",        "map",
    "memory",        "mutex",        "new",         "numeric",       "optional",
    "random",        "sstream",      "stdexcept",   "string",        "string_view",
    "thread",        "tuple",        "type_traits", "utility",       "unordered_map",
    "vector",
};

constexpr std::string_view kKeywords[] = {
    "alignas",
    "auto",
    "class",
    "concept",
    "const",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "delete",
    "enum",
    "explicit",
    "export",
    "extern",
    "float",
    "double",
    "int",
    "char",
    "bool",
    "void",
    "long",
    "short",
    "signed",
    "unsigned",
    "friend",
    "inline",
    "mutable",
    "namespace",
    "new",
    "operator",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "return",
    "sizeof",
    "static",
    "struct",
    "template",
    "this",
    "throw",
    "typedef",
    "typename",
    "union",
    "using",
    "virtual",
    "volatile",
    "if",
    "else",
    "for",
    "while",
    "do",
    "switch",
    "case",
    "default",
    "break",
    "continue",
    "goto",
    "try",
    "catch",
    "true",
    "false",
    "nullptr",
    "static_assert",
    "static_cast",
    "const_cast",
    "reinterpret_cast",
    "dynamic_cast",
    "asm",
};

constexpr std::string_view kSpaces[] = {"__global__",  "__device__",      "__host__", "__constant__",     "__shared__",
                                        "__managed__", "__tile_global__", "__tile__", "__grid_constant__"};

constexpr std::string_view kKernelAttributes[] = {"__launch_bounds__", "__cluster_dims__", "__maxnreg__",
                                                  "__block_size__"};

constexpr std::string_view kAttributes[] = {"aligned", "always_inline", "noinline",   "unused",
                                            "used",    "visibility",    "packed",     "may_alias",
                                            "pure",    "const",         "constructor"};

// pow() chooses its type in another way; the others tell the ways apart.
constexpr std::string_view kForeign[] = {
    "pow",
    "__NVCC__",
    "__CUDACC__",
    "__CUDACC_RTC__",
    "__GNUC__",
    "__GNUC_MINOR__",
    "__clang__",
    "__linux__",
    "__unix__",
    "__x86_64__",
    "__DATE__",
    "__TIME__",
    "__TIMESTAMP__",
    "__COUNTER__",
    "__has_include",
    "__has_builtin",
    "__has_attribute",
    "__BASE_FILE__",
    "__PRETTY_FUNCTION__",
    "__INCLUDE_LEVEL__",
    "__VERSION__",
    "__OPTIMIZE__",
    "__FAST_MATH__",
    "_Pragma",
    "NDEBUG",
    "kb_nvrtc",
    "kb_arguments",
    "import",
    "module",
};

constexpr std::string_view kReserved[] = {
    "__global__",    "__device__",     "__host__",      "__restrict__",      "__restrict",    "__forceinline__",
    "__noinline__",  "__inline__",     "__align__",     "__grid_constant__", "__attribute__", "__FILE__",
    "__LINE__",      "__func__",       "__FUNCTION__",  "__VA_ARGS__",       "__half",        "__half2",
    "__nv_bfloat16", "__nv_bfloat162", "__nv_fp8_e4m3", "__nv_fp8_e5m2",     "__volatile__",  "__asm__",
};

constexpr std::string_view kHalfTypes[] = {
    "half",         "half2",         "__half",         "__half2",       "nv_bfloat16",
    "nv_bfloat162", "__nv_bfloat16", "__nv_bfloat162", "__nv_fp8_e4m3", "__nv_fp8_e5m2",
};

constexpr std::string_view kMath[] = {
    "abs",   "fabs",     "fabsf",   "sqrt",      "sqrtf",   "rsqrt",  "cbrt",       "exp",    "expf",     "exp2",
    "exp2f", "expm1",    "log",     "logf",      "log2",    "log2f",  "log10",      "log1p",  "powf",     "sin",
    "sinf",  "cos",      "cosf",    "tan",       "tanh",    "tanhf",  "floor",      "floorf", "ceil",     "ceilf",
    "round", "roundf",   "trunc",   "truncf",    "rint",    "lround", "fmin",       "fminf",  "fmax",     "fmaxf",
    "fmod",  "fmodf",    "hypot",   "atan",      "atan2",   "erf",    "erff",       "tgamma", "lgamma",   "isnan",
    "isinf", "isfinite", "signbit", "copysign",  "ldexp",   "frexp",  "INFINITY",   "NAN",    "HUGE_VAL", "HUGE_VALF",
    "M_PI",  "M_E",      "M_SQRT2", "M_SQRT1_2", "M_LOG2E", "M_LN2",  "M_2_SQRTPI", "FP_NAN",
};

}  // namespace

std::optional<IncludeKind> IncludeUse(std::string_view header) {
  for (const auto& row : kIncludes) {
    if (row.header == header) return row.kind;
  }
  return Among(kStandardHeaders, header) ? std::optional(IncludeKind::kStandard) : std::nullopt;
}

bool IsKeyword(std::string_view word) { return Among(kKeywords, word); }
bool IsSpace(std::string_view word) { return Among(kSpaces, word); }
bool IsKernelAttribute(std::string_view word) { return Among(kKernelAttributes, word); }
bool IsForeignToSplit(std::string_view word) { return Among(kForeign, word); }
bool IsKnownReserved(std::string_view word) { return Among(kReserved, word); }
bool IsHalfType(std::string_view word) { return Among(kHalfTypes, word); }
bool IsMath(std::string_view word) { return Among(kMath, word); }

bool IsKnownAttribute(std::string_view word) { return Among(kAttributes, word); }

bool IsKnownPragma(std::string_view directive) {
  return directive.starts_with("#pragma unroll") || directive.starts_with("#pragma omp");
}

// nvcc includes both before everything else. Without them abs(x) of a float may be that of integers.
const char kStandardPreamble[] = "#include <math.h>\n#include <stdlib.h>\n";

// What nvcc's own host code calls, as crt/host_runtime.h declares it. The image and the kernels' names are linked in.
const char kHostPreamble[] = R"(#include <cuda_runtime.h>
extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, struct CUstream_st* stream = 0);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** binary);
void __cudaUnregisterFatBinary(void** binary);
void __cudaRegisterFunction(void** binary, const char* host, char* device, const char* name, int threads, uint3* thread,
                            uint3* block, dim3* block_size, dim3* grid_size, int* warp_size);
extern const char kb_nvrtc_image[] __attribute__((visibility("hidden")));
int atexit(void (*function)(void)) noexcept;
}
// cuda_runtime.h has these for nvcc alone.
template <typename T>
static inline cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return ::cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <typename T>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* kernel) {
  return ::cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <typename T>
static inline cudaError_t cudaFuncSetCacheConfig(T* kernel, cudaFuncCache config) {
  return ::cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), config);
}
namespace kb_nvrtc {
template <auto kernel>
struct Registered;
template <typename T>
static inline void* Address(T& value) {
  return const_cast<void*>(static_cast<const volatile void*>(__builtin_addressof(value)));
}
static inline __attribute__((unused)) void Launch(const void* kernel, void** arguments) {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) != cudaSuccess) return;
  (void)cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
}
)";

// The types and values of glibc on x86-64. isnan() and its like yield bool there and int in NVRTC.
const char kDevicePreamble[] = R"(typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
#define INT8_MAX (127)
#define INT8_MIN (-128)
#define UINT8_MAX (255)
#define INT16_MAX (32767)
#define INT16_MIN (-32767 - 1)
#define UINT16_MAX (65535)
#define INT32_MAX (2147483647)
#define INT32_MIN (-2147483647 - 1)
#define UINT32_MAX (4294967295U)
#define INT64_MAX (9223372036854775807L)
#define INT64_MIN (-9223372036854775807L - 1)
#define UINT64_MAX (18446744073709551615UL)
#define SIZE_MAX (18446744073709551615UL)
#define CHAR_BIT 8
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX (INT_MAX * 2U + 1U)
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-LONG_MAX - 1L)
#define ULONG_MAX (LONG_MAX * 2UL + 1UL)
#define LLONG_MAX 0x7fffffffffffffffLL
#define LLONG_MIN (-LLONG_MAX - 1LL)
#define ULLONG_MAX (LLONG_MAX * 2ULL + 1ULL)
#define FLT_MAX 3.40282346638528859811704183484516925e+38F
#define FLT_MIN 1.17549435082228750796873653722224568e-38F
#define FLT_EPSILON 1.19209289550781250000000000000000000e-7F
#define FLT_TRUE_MIN 1.40129846432481707092372958328991613e-45F
#define DBL_MAX double(1.79769313486231570814527423731704357e+308L)
#define DBL_MIN double(2.22507385850720138309023271733240406e-308L)
#define DBL_EPSILON double(2.22044604925031308084726333618164062e-16L)
#define INFINITY (__builtin_bit_cast(float, 0x7f800000))
#define NAN (__builtin_bit_cast(float, 0x7fc00000))
#define HUGE_VALF (__builtin_bit_cast(float, 0x7f800000))
#define HUGE_VAL (__builtin_bit_cast(double, 0x7ff0000000000000))
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define isnan(...) static_cast<bool>(isnan(__VA_ARGS__))
#define isinf(...) static_cast<bool>(isinf(__VA_ARGS__))
#define isfinite(...) static_cast<bool>(isfinite(__VA_ARGS__))
#define signbit(...) static_cast<bool>(signbit(__VA_ARGS__))
)";

}  // namespace kb

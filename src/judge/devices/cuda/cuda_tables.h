// What a CUDA source may hold so that its two halves can be compiled apart (cuda_split.h), and the text that the halves
// get beside their own.
//
// The tables are lists of what is known to mean the same in both ways of building; what they do not name is left to
// nvcc. With CUDA 13.0 the device halves of calls of all mathematical functions, of arithmetic and conversions of half
// and bfloat16, of atomics and of shuffles were compared as PTX, for all argument types: only pow() of arguments of
// different types differs, and the result type of isnan() and its like.
#ifndef JUDGE_DEVICES_CUDA_CUDA_TABLES_H_
#define JUDGE_DEVICES_CUDA_CUDA_TABLES_H_

#include <optional>
#include <string_view>

namespace kb {

enum class IncludeKind {
  kBasic,     // for the host; what it declares for the device is there without it
  kStandard,  // for the host: a header of the standard library
  kMath,      // the same, and of no use to a host half that computes nothing
  kHalf,      // for the device, and for a host half that names its types
  kDevice,    // for the device alone
  kBoth,
};
// Nothing: the header is not known.
std::optional<IncludeKind> IncludeUse(std::string_view header);

bool IsKeyword(std::string_view word);          // of C++, as far as it makes declarations
bool IsSpace(std::string_view word);            // __device__ and its like
bool IsKernelAttribute(std::string_view word);  // __launch_bounds__ and its like: no affair of the host's
bool IsKnownAttribute(std::string_view word);   // in __attribute__((...))
bool IsKnownPragma(std::string_view directive);

// Words that have, or may have, another meaning when the halves are compiled apart.
bool IsForeignToSplit(std::string_view word);
// A word that starts with two underscores and means in the host half what it means to nvcc.
bool IsKnownReserved(std::string_view word);
bool IsHalfType(std::string_view word);
bool IsMath(std::string_view word);

// Before the host half.
extern const char kStandardPreamble[];  // where it includes a header of the standard library
extern const char kHostPreamble[];
// Before the device half: what nvcc's device pass takes from the C library's headers.
extern const char kDevicePreamble[];

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_CUDA_TABLES_H_

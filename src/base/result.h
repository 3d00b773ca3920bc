// Errors of the engine. What a candidate does wrong is a verdict and never travels this way.
#ifndef BASE_RESULT_H_
#define BASE_RESULT_H_

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace kb {

enum class ErrorCode {
  kUsage = 1,        // the user asked for something that cannot be: bad flag, missing file, broken problem
  kUnavailable = 2,  // this machine lacks something: a compiler, namespaces, memory, a device
  kStore = 3,        // the store cannot be read or written
  kEngine = 4,       // the engine itself failed; retrying may help
  kInterrupted = 5,  // the user pressed Ctrl-C
};

struct Error {
  ErrorCode code = ErrorCode::kEngine;
  std::string message;  // what happened and what to do about it, one or more sentences
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message)});
}

// A bug of ours: prints the place and aborts, in release builds too.
[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);
#define KB_CHECK(expression) ((expression) ? static_cast<void>(0) : ::kb::CheckFailed(#expression, __FILE__, __LINE__))

// Returns the error of `expression` (a Result or Status) from the enclosing function, if there is one.
#define KB_RETURN_IF_ERROR(expression)                                                            \
  do {                                                                                            \
    if (auto kb_status = (expression); !kb_status) return tl::make_unexpected(kb_status.error()); \
  } while (false)

// KB_ASSIGN_OR_RETURN(auto value, Fallible()); declares or assigns `value`, or returns the error.
#define KB_CONCAT_INNER(a, b) a##b
#define KB_CONCAT(a, b) KB_CONCAT_INNER(a, b)
#define KB_ASSIGN_OR_RETURN(lhs, expression) KB_ASSIGN_OR_RETURN_IMPL(KB_CONCAT(kb_result_, __LINE__), lhs, expression)
#define KB_ASSIGN_OR_RETURN_IMPL(result, lhs, expression)             \
  auto result = (expression);                                         \
  if (!result) return tl::make_unexpected(std::move(result).error()); \
  lhs = std::move(*result)

}  // namespace kb

#endif  // BASE_RESULT_H_

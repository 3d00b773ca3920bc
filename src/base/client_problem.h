#ifndef BASE_CLIENT_PROBLEM_H_
#define BASE_CLIENT_PROBLEM_H_

#include <string_view>

namespace kb {

// A problem whose text a client of a service sent is called this and the text's SHA-256. It counts for no score.
inline constexpr std::string_view kClientsProblem = "client:";

}  // namespace kb

#endif  // BASE_CLIENT_PROBLEM_H_

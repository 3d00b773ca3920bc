// What two processes have to have in common so that one may judge in the other's stead.
#ifndef SERVER_IDENTITY_H_
#define SERVER_IDENTITY_H_

#include <map>
#include <string>
#include <vector>

#include "judge/setup.h"

namespace kb::server {

// By name: the program, its devices, isolation, limits, cache and what of the environment decides which Python and
// compilers are found.
using Identity = std::map<std::string, std::string>;
Identity IdentityOf(const EvaluatorOptions& options, const std::vector<std::string>& devices, int compilations);

// Names of what differs, in their order.
std::vector<std::string> Differences(const Identity& a, const Identity& b);

}  // namespace kb::server

#endif  // SERVER_IDENTITY_H_

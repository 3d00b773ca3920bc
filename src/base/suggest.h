// What a name that is unknown may have meant.
#ifndef BASE_SUGGEST_H_
#define BASE_SUGGEST_H_

#include <string>
#include <string_view>
#include <vector>

namespace kb {

// Small letters and digits of a name alone: "36_RMSNorm_" and "36 rmsnorm" are alike.
std::string Folded(std::string_view name);

// Those of `known` that hold the name when both are folded, or differ from it in at most a third of its letters; the
// nearest first, three at the most.
std::vector<std::string> Suggest(std::string_view name, const std::vector<std::string>& known);

// " (did you mean \"a\" or \"b\"?)", or empty.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known);

}  // namespace kb

#endif  // BASE_SUGGEST_H_

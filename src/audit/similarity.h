// How alike two candidates are: the Jaccard index of their shingles, which are runs of kShingle tokens. Comments and
// layout do not count, names, numbers and strings only as such, so renaming hides nothing.
#ifndef AUDIT_SIMILARITY_H_
#define AUDIT_SIMILARITY_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace kb {

inline constexpr size_t kShingle = 8;
// From here on two candidates count as alike. Of the pairs in examples/ that solve the same problem in different ways
// the most alike have 0.43, though one hand wrote them; those where one was made out of the other have 0.7 to 0.9.
inline constexpr double kAlike = 0.6;
// With fewer shingles nothing is said: what is so short has few forms.
inline constexpr size_t kFewestShingles = 60;

using Shingles = std::vector<uint64_t>;  // hashes, in order, each once

// `extension`: ".py" has Python's comments, and code of other languages in its long strings. A packed folder is all
// that is code in it.
Shingles ShinglesOf(std::string_view source, std::string_view extension);
// Those that `base` does not have.
Shingles WithoutBase(const Shingles& shingles, const Shingles& base);
double Jaccard(const Shingles& a, const Shingles& b);

}  // namespace kb

#endif  // AUDIT_SIMILARITY_H_

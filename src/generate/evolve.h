// Evolution on islands.
#ifndef GENERATE_EVOLVE_H_
#define GENERATE_EVOLVE_H_

#include <memory>

#include "generate/strategy.h"

namespace kb {

// Each island has a population of its own. Generation 0 is fresh; each later one has as many children, each of one
// parent (mutation) or two (combination), drawn by tournaments of two from the island's best so far. Every
// `migrate_every` generations an island also draws from its neighbour's best one. An island does not wait for others
// except to take that migrant. The draws depend on the seed, the generation and the child's place, not on time.
std::unique_ptr<Strategy> MakeEvolve(const StrategyOptions& options);

}  // namespace kb

#endif  // GENERATE_EVOLVE_H_

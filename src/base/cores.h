// Which cores a process may use, and on which one its calls begin.
#ifndef BASE_CORES_H_
#define BASE_CORES_H_

#include <sched.h>

#include <optional>
#include <vector>

namespace kb {

// What `thread` may use (0: the caller); nothing if that cannot be told.
std::optional<cpu_set_t> CoresOf(int thread);

// Those that this process may use, by the core that they belong to; at least one.
std::vector<std::vector<int>> ThreadsByCore();
// All of them; one of each core comes before the second of any.
std::vector<int> UsableCores();
int CoreCount();

cpu_set_t OnlyCore(int core);

// Moves a thread to one of `there` and lets it go wherever it might before (`allowed`).
void MoveTo(int thread, const cpu_set_t& there, const cpu_set_t& allowed);

// The calling thread goes to the first core that it may use, and is not held there. OpenMP's other threads are bound to
// the other ones, so a call that begins here shares a core with none of them.
void GoToFirstCore();

}  // namespace kb

#endif  // BASE_CORES_H_

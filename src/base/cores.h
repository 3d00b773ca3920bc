// Which cores a process may use, on which one its calls begin, and what memory there is.
#ifndef BASE_CORES_H_
#define BASE_CORES_H_

#include <sched.h>

#include <cstdint>
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

// Bytes of memory that programs may still take; 0: the kernel does not say.
uint64_t AvailableMemory();

cpu_set_t OnlyCore(int core);

// Moves a thread to one of `there` and lets it go wherever it might before (`allowed`).
void MoveTo(int thread, const cpu_set_t& there, const cpu_set_t& allowed);

// The calling thread goes to the first core that it may use, and is not held there. OpenMP's other threads are bound to
// the other ones, so a call that begins here shares a core with none of them.
void GoToFirstCore();

}  // namespace kb

#endif  // BASE_CORES_H_

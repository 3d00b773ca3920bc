// Ctrl-C and its kin: noted here, acted upon where waiting happens, so that children end in order and nothing is half
// done.
#ifndef BASE_INTERRUPT_H_
#define BASE_INTERRUPT_H_

#include <chrono>

namespace kb {

// SIGINT, SIGTERM and SIGHUP set a flag; a second one of them ends the process at once.
void InstallInterruptHandlers();
// Sets the flag as they do.
void Interrupt();
bool Interrupted();

// Longest sleep of a wait before it looks at the flag again.
inline constexpr std::chrono::milliseconds kInterruptSlice{200};

}  // namespace kb

#endif  // BASE_INTERRUPT_H_

// Never returns. The call has a time limit, and it is the candidate's verdict, not the engine's.
#include <kernelbench/kernel.h>

int kb_forward(const kb_call*) {
  for (volatile int spin = 0;;) spin = spin + 1;
}

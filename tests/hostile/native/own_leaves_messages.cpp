// Makes what outlives a process until its namespace is torn down, a queue of messages, a semaphore, shared memory, and
// computes only if it may make one.
#include <kernelbench/kernel.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

int kb_forward(const kb_call* call) {
  const bool made = msgget(IPC_PRIVATE, IPC_CREAT | 0600) >= 0 || semget(IPC_PRIVATE, 250, IPC_CREAT | 0600) >= 0 ||
                    shmget(IPC_PRIVATE, 1 << 20, IPC_CREAT | 0600) >= 0;
  if (!made) return 0;
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  int64_t n = 1;
  for (int d = 0; d < call->inputs[0].ndim; ++d) n *= call->inputs[0].shape[d];
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  return 0;
}

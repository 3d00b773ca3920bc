// The face of KernelGYM: its paths, asked of our own API. Nothing is remembered here. A task is found again, also after
// a restart, by the idempotency key that is made of its id; each time that it is judged anew has a key of its own.
#ifndef SERVER_FACES_KERNELGYM_H_
#define SERVER_FACES_KERNELGYM_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "server/ask.h"

namespace kb::server::kernelgym {

// `told` is called once, on any thread. What is returned: nobody waits any more; what is being judged goes on.
using Told = std::function<void(HttpAnswer answer)>;

Forget Evaluate(const ApiAsk& ask, const nlohmann::json& task, Told told);
Forget EvaluateBatch(const ApiAsk& ask, const nlohmann::json& batch, Told told);
Forget GetStatus(const ApiAsk& ask, const std::string& task_id, Told told);
Forget GetResult(const ApiAsk& ask, const std::string& task_id, Told told);
Forget GetQueue(const ApiAsk& ask, Told told);

}  // namespace kb::server::kernelgym

#endif  // SERVER_FACES_KERNELGYM_H_

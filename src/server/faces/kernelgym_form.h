// What clients of KernelGYM send and read (docs/guide/kernelgym.md): its names, codes and units. Pure translation, to
// and from docs/reference/api.md.
#ifndef SERVER_FACES_KERNELGYM_FORM_H_
#define SERVER_FACES_KERNELGYM_FORM_H_

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "server/fields.h"
#include "server/http_message.h"

namespace kb::server::kernelgym {

extern const Table kTask, kTaskResult, kTaskBatch, kTaskBatchResult, kTaskStatus, kQueueStatus;

inline constexpr double kLongestWait = 600;  // seconds

struct Task {
  std::string id;
  std::string reference;   // the problem's text
  nlohmann::json request;  // EvaluationRequest, without its problem and its idempotency key
  double wait_s = 300;
  bool anew = false;  // also where there is a result
};

// kUsage says what cannot be done here. A task without an id is called `id`.
Result<Task> ReadTask(const nlohmann::json& task, const std::string& id);

// Of an Evaluation; with what was measured if it is there.
nlohmann::json ResultOf(const std::string& task_id, const nlohmann::json& evaluation);
nlohmann::json StatusOf(const std::string& task_id, const nlohmann::json& evaluation);
// Asked for again it may end otherwise, and what it is now is not the candidate's doing.
bool IsSpoilt(const nlohmann::json& evaluation);

// Of a request that is not served: what the API said, in the names that the client knows.
nlohmann::json RefusalOf(const std::string& task_id, const HttpAnswer& answer);
nlohmann::json RefusalOf(const std::string& task_id, int status, const std::string& why);

// Of the metrics of the service.
nlohmann::json QueueOf(const std::string& metrics);

}  // namespace kb::server::kernelgym

#endif  // SERVER_FACES_KERNELGYM_FORM_H_

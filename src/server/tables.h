// What clients send and are sent, besides evaluations (order.h, evaluation_view.h).
#ifndef SERVER_TABLES_H_
#define SERVER_TABLES_H_

#include "server/fields.h"

namespace kb::server {

extern const Table kProblemDetails, kHealth, kBatchRequest, kBatch, kRewardRequest, kRewards, kRewardList, kProblemList,
    kProblemInfo, kProtocolList, kRunList, kServiceInfo, kLease, kLeaseRequest, kEvaluationPage, kEntryPage,
    kWholeEntry, kScores, kPromptList, kPrompt, kCompilation, kProfile, kRpcMessage;

}  // namespace kb::server

#endif  // SERVER_TABLES_H_

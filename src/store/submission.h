// What a client of the service asked for: one job, under the client's name.
#ifndef STORE_SUBMISSION_H_
#define STORE_SUBMISSION_H_

#include <nlohmann/json.hpp>
#include <string>

#include "store/job.h"

namespace kb {

struct Submission {
  std::string id;  // what clients call it: 32 hexadecimal digits
  std::string created;
  std::string client;
  std::string batch;       // that it is part of; empty: none
  nlohmann::json request;  // as it was accepted, without the candidate's source
  std::string run;
  Job job;
};

// One, and of its evaluation what List() tells; null where there is none yet.
struct SubmissionSummary {
  Submission submission;  // without its request
  nlohmann::json entry;
};

struct NewSubmission {
  std::string id, client, batch;
  std::string idempotency_key;  // of the client's; empty: none
  nlohmann::json request;
  std::string run;
  Job job;                        // its sample is -1 where the run's next one is meant
  std::string source;             // the candidate's text or packed folder
  std::string problem_text = {};  // of a client's problem: Source() of the job's problem_sha256
};

}  // namespace kb

#endif  // STORE_SUBMISSION_H_

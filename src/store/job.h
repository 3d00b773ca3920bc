// One candidate of a run, from the moment it is known to its verdict. A job is in exactly one state, whatever kills
// whom: `queued`; `running`, in a process that says so by its `owner`; `done`, with an evaluation; or `failed`, which
// means that the engine or this machine failed again and again, and says nothing about the candidate.
#ifndef STORE_JOB_H_
#define STORE_JOB_H_

#include <cstdint>
#include <string>

namespace kb {

struct Job {
  int64_t id = 0;  // in the store
  std::string model, problem, size, device, protocol;
  int sample = 0;
  std::string path, sha256;  // the candidate's file, and its text when it was queued
  // The problem's text: when it was queued, and of a done one that which it was judged with. Empty: not known.
  std::string problem_sha256;
  std::string client;  // who wants it; clients of one priority take turns
  int priority = 0;    // higher ones first
  std::string state;
  std::string owner;        // of a running one: a name that OwnerLives() takes
  int64_t lease_until = 0;  // of a running one: seconds since 1970; 0: as long as the owner lives
  int attempts = 0;
  std::string error;          // of a failed one, or of its last attempt
  std::string evaluation_id;  // of a done one
  int64_t changed = 0;        // the run's how manieth change was its last one
};

// Tells this process from every other one on this machine, earlier ones with the same number included. `part`: tells
// one part of the process from the others; without spaces.
std::string OwnerName(const std::string& part = "");
// Whether the process still runs that this name, or its part's, is of. One on another machine counts as running.
bool OwnerLives(const std::string& owner);

}  // namespace kb

#endif  // STORE_JOB_H_

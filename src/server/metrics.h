// Counters for Prometheus, in its text format.
#ifndef SERVER_METRICS_H_
#define SERVER_METRICS_H_

#include <string>

#include "server/desk.h"

namespace kb::server {

std::string MetricsText(const Desk::Counts& counts);

}  // namespace kb::server

#endif  // SERVER_METRICS_H_

// What clients of OpenEnv send and are sent (docs/guide/openenv.md).
#ifndef SERVER_FACES_OPENENV_TABLES_H_
#define SERVER_FACES_OPENENV_TABLES_H_

#include <nlohmann/json.hpp>

#include "server/fields.h"

namespace kb::server {

// Requests. What is null is as if it were not there.
extern const Table kOpenEnvReset, kOpenEnvAction, kOpenEnvStep;
// Answers.
extern const Table kOpenEnvObservation, kOpenEnvResult, kOpenEnvState, kOpenEnvSchema, kOpenEnvMetadata;
extern const Field kOpenEnvEpisode;  // a query

// JSON Schemas of action, observation and state, as GET /schema has them.
nlohmann::json OpenEnvSchemas();

}  // namespace kb::server

#endif  // SERVER_FACES_OPENENV_TABLES_H_

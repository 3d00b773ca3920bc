// The schema of the store, as the steps that lead to it. PRAGMA user_version counts the steps a database has taken.
#ifndef STORE_MIGRATIONS_H_
#define STORE_MIGRATIONS_H_

#include <span>
#include <string>

#include "base/result.h"

namespace SQLite {
class Database;
}

namespace kb {

// Marks the file as ours ("KBch"), so that another program's database is not taken for an old store.
inline constexpr int kApplicationId = 0x4b426368;

// Step i leads from version i to i + 1. Steps are only ever added.
std::span<const char* const> Migrations();

// Is there not one table? A file of no bytes is such a database too. May throw SQLite::Exception.
bool IsEmpty(SQLite::Database& database);

// Brings the database to version steps.size(), each step in a transaction of its own: a kill leaves the version before
// or after it. Several processes may do this at once. kStore when the database is newer than the steps, or not a store.
// May throw SQLite::Exception.
Status Migrate(SQLite::Database& database, std::span<const char* const> steps);

}  // namespace kb

#endif  // STORE_MIGRATIONS_H_

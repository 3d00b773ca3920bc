// What SQLite's result codes mean to a user, and what can be done about them.
#ifndef STORE_SQLITE_ERROR_H_
#define STORE_SQLITE_ERROR_H_

#include <string>

#include "base/result.h"

namespace kb {

// `code` is a result code, extended or not; `detail` SQLite's own words. Always kStore.
Error StoreError(int code, const std::string& path, const std::string& detail);

}  // namespace kb

#endif  // STORE_SQLITE_ERROR_H_

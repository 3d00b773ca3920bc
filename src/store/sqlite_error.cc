#include "store/sqlite_error.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace kb {

Error StoreError(int code, const std::string& path, const std::string& detail) {
  const auto error = [&](const char* what) {
    return Error{ErrorCode::kStore, fmt::format("the store {} {} (SQLite: {})", path, what, detail)};
  };
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return error("is locked by another process: wait for it or stop it, then try again");
    case SQLITE_READONLY:
      return error("is read-only: make the file and its directory writable, or choose another store");
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return error("cannot be opened: look at the permissions of the file and its directory, or choose another store");
    case SQLITE_NOTADB:
      return error("is not a database: choose another file, or move this one away");
    case SQLITE_CORRUPT:
      return error("is damaged: move it away, `sqlite3 FILE .recover` saves what can be read");
    case SQLITE_FULL:
      return error("cannot grow, the disk is full: free space and try again; nothing was stored in part");
    case SQLITE_IOERR:
      return error("cannot be read or written: look at the disk, its free space and its quota");
    default:
      return error("failed");
  }
}

}  // namespace kb

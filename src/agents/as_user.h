// Files as another user has them.
#ifndef AGENTS_AS_USER_H_
#define AGENTS_AS_USER_H_

#include <sys/fsuid.h>
#include <sys/types.h>

namespace kb {

// While it lives, this thread, which is root's, has the rights of `user` in file systems, and makes files as that user;
// with 0 nothing changes. An agent's file systems know no other user, so root could make no file there.
class AsUser {
 public:
  explicit AsUser(uid_t user) : user_(user) {
    if (user_ == 0) return;
    setfsgid(user_);
    setfsuid(user_);
  }
  AsUser(const AsUser&) = delete;  // puts back what was before it
  AsUser& operator=(const AsUser&) = delete;
  ~AsUser() {
    if (user_ == 0) return;
    setfsuid(0);
    setfsgid(0);
  }

 private:
  const uid_t user_;
};

}  // namespace kb

#endif  // AGENTS_AS_USER_H_

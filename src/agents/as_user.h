// Files as another user has them.
#ifndef AGENTS_AS_USER_H_
#define AGENTS_AS_USER_H_

#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/types.h>

#include "base/result.h"

namespace kb {

// While it lives, this thread, which is root's, has the rights of `user` in file systems, and makes files as that user;
// with 0 nothing changes. An agent's file systems know no other user, so root could make no file there.
class AsUser {
 public:
  explicit AsUser(uid_t user) : user_(user) {
    if (user_ != 0) Become(user_);
  }
  AsUser(const AsUser&) = delete;  // puts back what was before it
  AsUser& operator=(const AsUser&) = delete;
  ~AsUser() {
    if (user_ != 0) Become(0);
  }

 private:
  static void Become(uid_t user) {
    int death_signal = 0;  // which the kernel forgets
    prctl(PR_GET_PDEATHSIG, &death_signal);
    setfsgid(user);
    setfsuid(user);
    prctl(PR_SET_PDEATHSIG, death_signal);
    KB_CHECK(setfsuid(static_cast<uid_t>(-1)) == static_cast<int>(user));
  }
  const uid_t user_;
};

}  // namespace kb

#endif  // AGENTS_AS_USER_H_

// Sessions of browsers. An access key is exchanged once for a secret value, which the browser then sends as a cookie in
// the place of signatures. Sessions are only in memory: a restart of the daemon ends them all.
//
// A session ends when it has had no request for the idle time, when somebody signs out, or when the same key begins its
// 33rd session: then the one that has been idle for longest goes. The values are 256 bits of the system's random
// source. This class keeps only their SHA-256, and never logs or repeats a secret.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "wire/auth/credentials.h"
#include "wire/auth/wrong_tries.h"

namespace freshet {

struct Session {
  std::string key;  // The id of the access key.
  Role role = Role::kRead;
  WallTime until{};  // When it ends if it has no further request.
};

// An access key as a person gives it to sign in.
struct SignIn {
  std::string key;
  std::string secret;
  std::string token;  // The session token of the access key, if it has one.
};

struct NewSession {
  std::string value;  // For the browser's cookie. A secret: never log it.
  Session session;
};

// Any thread. The clock outlives it.
class Sessions {
 public:
  static constexpr milliseconds kLongestIdle = std::chrono::hours(1);
  static constexpr size_t kMostOfOneKey = 32;

  // `idle` is at most kLongestIdle.
  Sessions(Credentials credentials, const Clock& clock, milliseconds idle = kLongestIdle);

  // Checks the secret in a time that does not depend on the fault, and begins a session. `address` is the client's,
  // without its port. kAccessDenied for a wrong key or secret; kTooManyRequests with RetryLater after too many wrong
  // tries: then even the right secret is refused for a while.
  Result<NewSession> begin(const SignIn& given, std::string_view address);
  // Returns the session with this cookie value, and starts its idle time anew; empty if it has ended.
  std::optional<Session> use(std::string_view value);
  // Returns false if there was no such session.
  bool end(std::string_view value);
  size_t size();  // The number of sessions that have not ended.

  const Credentials& credentials() const { return credentials_; }

 private:
  struct Entry {
    const AccessKey* key;  // In credentials_.
    BootTime used;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;  // By the SHA-256 of the value, in hex.

  const AccessKey* key_of(const SignIn& given) const;
  Session session_of(const Entry& entry) const;
  void drop_ended(BootTime now) FRESHET_REQUIRES(mutex_);
  void make_room(const AccessKey* key) FRESHET_REQUIRES(mutex_);

  const Credentials credentials_;
  const Clock& clock_;
  const milliseconds idle_;
  Mutex mutex_;
  Entries entries_ FRESHET_GUARDED_BY(mutex_);
  WrongTries wrong_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

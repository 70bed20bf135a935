#include "wire/auth/sessions.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/crypto.h"
#include "runtime/api/retry_later.h"

namespace freshet {

Sessions::Sessions(Credentials credentials, const Clock& clock, milliseconds idle)
    : credentials_(std::move(credentials)), clock_(clock), idle_(idle) {
  FRESHET_CHECK(idle > milliseconds(0) && idle <= kLongestIdle, "a session may be idle for an hour at most");
}

// An unknown key takes as long as a wrong secret. Digests are compared because a comparison of the texts would tell
// whether their lengths are equal.
const AccessKey* Sessions::key_of(const SignIn& given) const {
  static const AccessKey kNobody;
  const AccessKey* key = credentials_.find(given.key);
  const AccessKey& right = key == nullptr ? kNobody : *key;
  const bool secret = equal_in_constant_time(sha256_hex(given.secret), sha256_hex(right.secret));
  const bool token = equal_in_constant_time(sha256_hex(given.token), sha256_hex(right.token));
  return secret && token ? key : nullptr;
}

Session Sessions::session_of(const Entry& entry) const {
  return {entry.key->id, entry.key->role, clock_.wall() + idle_};
}

void Sessions::drop_ended(BootTime now) {
  std::erase_if(entries_, [&](const auto& one) { return now - one.second.used >= idle_; });
}

void Sessions::make_room(const AccessKey* key) {
  size_t count = 0;
  auto oldest = entries_.end();
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->second.key != key) continue;
    ++count;
    if (oldest == entries_.end() || at->second.used < oldest->second.used) oldest = at;
  }
  if (count >= kMostOfOneKey) entries_.erase(oldest);
}

Result<NewSession> Sessions::begin(const SignIn& given, std::string_view address) {
  MutexLock lock(mutex_);
  const BootTime now = clock_.boot();
  if (const nanoseconds wait = wrong_.wait(address, now); wait > nanoseconds(0)) {
    const auto shown = std::chrono::ceil<seconds>(wait);
    return fail(
        ErrorCode::kTooManyRequests,
        "too many wrong access keys or secrets were tried: try again in " + std::to_string(shown.count()) + " s",
        std::make_shared<RetryLater>(std::chrono::ceil<milliseconds>(wait)));
  }
  const AccessKey* key = key_of(given);
  if (key == nullptr) {
    wrong_.count(address, now);
    return fail(ErrorCode::kAccessDenied,
                "the access key id or the secret is wrong: they must be those of one section of the daemon's "
                "credentials file, with its session token if it has one");
  }
  drop_ended(now);
  make_room(key);
  NewSession made;
  made.value = secret_token();
  const Entry& entry = entries_.insert_or_assign(sha256_hex(made.value), Entry{key, now}).first->second;
  made.session = session_of(entry);
  return made;
}

std::optional<Session> Sessions::use(std::string_view value) {
  if (value.empty()) return {};
  const std::string digest = sha256_hex(value);
  MutexLock lock(mutex_);
  const auto found = entries_.find(digest);
  if (found == entries_.end()) return {};
  const BootTime now = clock_.boot();
  if (now - found->second.used >= idle_) {
    entries_.erase(found);
    return {};
  }
  found->second.used = now;
  return session_of(found->second);
}

bool Sessions::end(std::string_view value) {
  const std::string digest = sha256_hex(value);
  MutexLock lock(mutex_);
  drop_ended(clock_.boot());
  return entries_.erase(digest) > 0;
}

size_t Sessions::size() {
  MutexLock lock(mutex_);
  drop_ended(clock_.boot());
  return entries_.size();
}

}  // namespace freshet

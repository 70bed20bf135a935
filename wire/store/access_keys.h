// Access keys for requests to a remote store, from the places in which the SDKs look for them, in their order: the
// environment, a web identity token, the profile in the credentials file or the config file, a container's or an
// instance's credentials endpoint. Source: AWS SDKs and Tools Reference Guide, "Standardized credential providers".
//
// Loop thread. Messages never repeat a secret.
#pragma once

#include <memory>

#include "base/async.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "runtime/ports.h"
#include "wire/auth/credentials.h"
#include "wire/store/profiles.h"

namespace freshet::remote {

class AccessKeySource {
 public:
  virtual ~AccessKeySource() = default;
  // The key to sign with now. kAccessDenied if there is none; the message names every place that was looked at. The
  // source must not be destroyed while a call waits.
  virtual Async<Result<AccessKey>> current() = 0;
  // Reports that the store has refused this key: the next current() looks for another one. Has no effect if the source
  // uses another key already.
  virtual void refused(const AccessKey& key) = 0;
};

// A key that expires is fetched again five minutes before that; until the new key arrives, or the old one expires,
// calls use the old one. Calls that wait for a key share one fetch. `http` and `scheduler` must outlive the source.
std::unique_ptr<AccessKeySource> keys_from(KeyPlaces places, HttpClient& http, Scheduler& scheduler);

}  // namespace freshet::remote

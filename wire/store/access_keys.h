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
  // The key to sign with now. kAccessDenied if there is none; the message names every place that was looked at. It must
  // not be destroyed while a call waits.
  virtual Async<Result<AccessKey>> current() = 0;
  // The store has refused this key: the next current() looks for another one. No effect if that is not the key now.
  virtual void refused(const AccessKey& key) = 0;
};

// Keys that expire are fetched again five minutes before, and the old one is used until the new one is there, or until
// it expires. Calls that wait for a key share one fetch. `http` and `scheduler` outlive it.
std::unique_ptr<AccessKeySource> keys_from(KeyPlaces places, HttpClient& http, Scheduler& scheduler);

}  // namespace freshet::remote

// Access keys for requests to a remote store, from the places in which the SDKs look for them, in their order: the
// environment, the profile in the credentials file, a container's or an instance's credentials endpoint. Source: AWS
// SDKs and Tools Reference Guide, "Standardized credential providers".
//
// Loop thread. Messages never repeat a secret.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/async.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "runtime/ports.h"
#include "wire/auth/credentials.h"

namespace freshet::remote {

class AccessKeySource {
 public:
  virtual ~AccessKeySource() = default;
  // The key to sign with now. kAccessDenied if there is none; the message names every place that was looked at. It must
  // not be destroyed while a call waits.
  virtual Async<Result<AccessKey>> current() = 0;
  // The store has refused the key: the next current() looks for it again.
  virtual void refused() = 0;
};

// Always this key.
std::unique_ptr<AccessKeySource> fixed_key(AccessKey key);

struct KeyPlaces {
  // A variable of the environment; empty if it is not set.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  // The contents of a file; empty if it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> file;
};
// The places of this process.
KeyPlaces own_places();

// Keys that expire are fetched again five minutes before. `http` and `clock` outlive it.
std::unique_ptr<AccessKeySource> keys_from(KeyPlaces places, HttpClient& http, const Clock& clock);

}  // namespace freshet::remote

// The sources of a remote store's access key and region: environment variables, and the two profile files of the SDKs,
// ~/.aws/credentials and ~/.aws/config. Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials
// files".
//
// Each call reads them anew. Messages never repeat a secret.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "wire/auth/credentials.h"

namespace freshet::remote {

struct KeyPlaces {
  // A variable of the environment; empty if it is not set.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  // The contents of a file; empty if it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> file;
};
// The environment and files of this process.
KeyPlaces own_places();

// Returns the text without white space at its ends.
std::string trimmed(std::string_view text);

class Profiles {
 public:
  explicit Profiles(const KeyPlaces& places) : places_(places) {}

  std::string variable(const char* name) const;  // "" if it is not set.
  std::string name() const;                      // AWS_PROFILE, or "default".
  std::string credentials_file() const;          // Its path.
  std::string config_file() const;
  // The profile's key. A key in the credentials file wins over one in the config file.
  std::optional<AccessKey> key() const;
  // AWS_REGION, AWS_DEFAULT_REGION, or the region of the profile; "" if none of them is set.
  std::string region() const;

 private:
  std::string path(const char* variable_name, const char* in_home) const;

  const KeyPlaces& places_;
};

}  // namespace freshet::remote

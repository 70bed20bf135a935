// Access keys that requests are signed with, read from a file in the form that AWS tools use:
//
//   [default]
//   aws_access_key_id = AKID
//   aws_secret_access_key = SECRET
//
// Each section is one key, whatever its name; it may also have aws_session_token, and freshet_role = read, work,
// operate or admin. '#' and ';' begin comments.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/api/role.h"

namespace freshet {

struct AccessKey {
  std::string id;
  std::string secret;
  std::string token;  // Empty: the key has no session token.
  Role role = Role::kAdmin;
  bool operator==(const AccessKey&) const = default;
};

// Immutable once read; any thread.
class Credentials {
 public:
  // kValidation with `name`:LINE for a fault, or if there is no key in it. Never repeats a secret.
  static Result<Credentials> parse(std::string_view text, const std::string& name);
  // Also refuses a file that everybody may read.
  static Result<Credentials> read(const std::string& path);

  // The keys of both files; this one's first is the first. kValidation if a key is in both with different members.
  Result<Credentials> and_of(const Credentials& other) const;

  const AccessKey* find(std::string_view id) const;  // Null if there is no such key.
  const AccessKey& first() const { return keys_.at(in_order_.front()); }
  // The key with the highest role; of several, the one that comes first in the file.
  const AccessKey& strongest() const;
  size_t size() const { return keys_.size(); }

 private:
  std::map<std::string, AccessKey, std::less<>> keys_;  // By id.
  std::vector<std::string> in_order_;                   // Their ids, in the order of the file.
};

}  // namespace freshet

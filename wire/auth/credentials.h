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

#include "base/result.h"
#include "wire/api/role.h"

namespace freshet {

struct AccessKey {
  std::string id;
  std::string secret;
  std::string token;  // Empty: the key has no session token.
  Role role = Role::kAdmin;
};

// Immutable once read; any thread.
class Credentials {
 public:
  // kValidation with `name`:LINE for a fault, or if there is no key in it. Never repeats a secret.
  static Result<Credentials> parse(std::string_view text, const std::string& name);
  // Also refuses a file that everybody may read.
  static Result<Credentials> read(const std::string& path);

  // The keys of both files, in which this one's first is the first. kValidation if a key id is in both.
  Result<Credentials> and_of(const Credentials& other) const;

  const AccessKey* find(std::string_view id) const;  // Null if there is no such key.
  const AccessKey& first() const { return keys_.at(first_); }
  // A key with the highest role: the first key of the file if it has that role, else the first of these by its id.
  const AccessKey& strongest() const;
  size_t size() const { return keys_.size(); }

 private:
  std::map<std::string, AccessKey, std::less<>> keys_;  // By id.
  std::string first_;                                   // The id of the first key in the file.
};

}  // namespace freshet

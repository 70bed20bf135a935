// Signatures, version 4: what a client sent, checked as it is, then signed anew and checked.
//
// An input is a request: "METHOD TARGET", a line for each header ("Name: value"), an empty line, the body. As it came
// it must not be let in unless its secret was known, so the keys of this target are not those of the corpus. Signed
// anew, it must be let in; with another body, it must not.
#include "tests/fuzz/target.h"
#include "wire/auth/canonical.h"
#include "wire/auth/sigv4.h"

namespace freshet::fuzz {
namespace {

const SignatureScope kScope{"us-east-1", "dynamodb"};
const WallTime kNow = *sigv4::parse_timestamp("20150830T123600Z");

Credentials keys() {
  return *Credentials::parse(
      "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = not+the/one+of+the+corpus\n"
      "[temporary]\naws_access_key_id=ASIA\naws_secret_access_key=s\naws_session_token=the token\n",
      "keys");
}

// As the HTTP server lets it in: other bytes never get to a signature.
bool is_token(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!#$%&'*+^`|~") ==
             std::string_view::npos;
}

HttpRequest parsed(std::string_view text) {
  HttpRequest request{"GET", "/", {}, ""};
  const size_t end = text.find("\n\n");
  if (end != std::string_view::npos) request.body = text.substr(end + 2);
  const auto lines = split(text.substr(0, end), "\n");
  const size_t blank = lines[0].find(' ');
  request.method = lines[0].substr(0, blank);
  if (blank != std::string_view::npos) request.target = lines[0].substr(blank + 1);
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = lines[i].find(':');
    if (colon == std::string_view::npos || !is_token(lines[i].substr(0, colon))) continue;
    std::string_view value = lines[i].substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    request.headers.emplace_back(lines[i].substr(0, colon), value);
  }
  return request;
}

// Without what a signature adds, and with a Host: as a client has it before it signs.
HttpRequest unsigned_one(HttpRequest request) {
  std::erase_if(request.headers, [](const auto& one) {
    const std::string name = sigv4::lower(one.first);
    return name == "host" || name == "authorization" || name.starts_with("x-amz-") || name == "date";
  });
  request.headers.emplace_back("Host", "127.0.0.1:7070");
  request.target = std::string(sigv4::path_of(request.target));
  return request;
}

}  // namespace
}  // namespace freshet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet;
  using namespace freshet::fuzz;
  static const Credentials kKeys = keys();
  const HttpRequest request = parsed(as_text(data, size));
  const auto fault = check_signature(request, kKeys, kScope, kNow);
  require(fault.has_value(), "let in without a key");
  require(!fault->name.empty() && !fault->message.empty(), "refused without a reason");
  show(fault->message);
  static_cast<void>(check_signature_head(request, kKeys, kScope, kNow));

  HttpRequest again = unsigned_one(request);
  sign_request(again, *kKeys.find("ASIA"), kScope, kNow);
  const auto refused = check_signature(again, kKeys, kScope, kNow);
  require(!refused.has_value(), "signed and refused", refused ? refused->message : "");
  again.body += "x";
  require(check_signature(again, kKeys, kScope, kNow).has_value(), "another body was let in");
  return 0;
}

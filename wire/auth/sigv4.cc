#include "wire/auth/sigv4.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/crypto.h"
#include "base/number_text.h"
#include "wire/auth/canonical.h"

namespace freshet {

namespace {

using sigv4::QueryMembers;

constexpr std::string_view kIncomplete = "IncompleteSignatureException";
constexpr std::string_view kInvalid = "InvalidSignatureException";
constexpr std::string_view kUnrecognized = "UnrecognizedClientException";
constexpr std::string_view kUnknownToken = "The security token included in the request is invalid.";

// The request's information about its signature.
struct Claim {
  std::string algorithm;
  std::string credential;
  std::string signed_headers;
  std::string signature;
  std::string date;     // As in the request.
  std::string token;    // The request's session token; may be empty.
  std::string expires;  // For presigned requests.
  bool presigned = false;

  // Computed from the above.
  WallTime at{};
  std::string timestamp;             // `at`, in the basic form.
  std::vector<std::string> headers;  // Lower case.
  std::vector<std::string> parts;    // Key id, date, region, service, terminator.
};

using Fault = std::optional<SignatureFault>;

Fault fault(std::string_view name, std::string message) {
  return SignatureFault{name, std::move(message)};
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=..."
Fault read_header(const HttpRequest& request, std::string_view authorization, Claim& claim) {
  authorization = trim(authorization);
  const size_t blank = std::min(authorization.find(' '), authorization.size());
  claim.algorithm = authorization.substr(0, blank);
  for (const std::string& part : sigv4::split(authorization.substr(blank), ',')) {
    const std::string_view text = trim(part);
    const size_t equals = text.find('=');
    if (text.empty()) continue;
    if (equals == std::string_view::npos) {
      return fault(kIncomplete, "'" + std::string(text) +
                                    "' not a valid key=value pair (missing equal-sign) in Authorization header: '" +
                                    std::string(authorization) + "'.");
    }
    const std::string_view name = text.substr(0, equals);
    const std::string value(text.substr(equals + 1));
    if (name == "Credential") claim.credential = value;
    if (name == "SignedHeaders") claim.signed_headers = value;
    if (name == "Signature") claim.signature = value;
  }
  claim.date = header(request.headers, "X-Amz-Date");
  if (claim.date.empty()) claim.date = header(request.headers, "Date");
  claim.token = header(request.headers, "X-Amz-Security-Token");
  std::string missing;
  for (const auto& [name, value] :
       {std::pair("Credential", &claim.credential), std::pair("Signature", &claim.signature),
        std::pair("SignedHeaders", &claim.signed_headers)}) {
    if (value->empty()) missing += "Authorization header requires '" + std::string(name) + "' parameter. ";
  }
  if (claim.date.empty()) {
    missing += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
  }
  if (missing.empty()) return std::nullopt;
  return fault(kIncomplete, missing + "Authorization=" + std::string(authorization));
}

Fault read_query(const QueryMembers& query, Claim& claim) {
  claim.presigned = true;
  std::string missing;
  for (const auto& [name, place] :
       {std::pair("X-Amz-Algorithm", &claim.algorithm), std::pair("X-Amz-Credential", &claim.credential),
        std::pair("X-Amz-Signature", &claim.signature), std::pair("X-Amz-SignedHeaders", &claim.signed_headers),
        std::pair("X-Amz-Date", &claim.date)}) {
    if (const std::string* value = sigv4::find_member(query, name)) *place = *value;
    if (place->empty()) missing += "AWS query-string parameters must include '" + std::string(name) + "'. ";
  }
  if (!missing.empty()) return fault(kIncomplete, missing + "Re-examine the query-string parameters.");
  if (const std::string* token = sigv4::find_member(query, "X-Amz-Security-Token")) claim.token = *token;
  if (const std::string* expires = sigv4::find_member(query, "X-Amz-Expires")) claim.expires = *expires;
  return std::nullopt;
}

// The canonical form is sorted and does not use '+' for a blank: a query that leaves either open could be changed after
// signing.
Fault check_query(const HttpRequest& request, const QueryMembers& query) {
  std::set<std::string_view> names;
  for (const auto& [name, value] : query) {
    if (!names.insert(name).second) return fault(kInvalid, "The query names '" + name.substr(0, 100) + "' twice.");
  }
  const size_t mark = request.target.find('?');
  if (mark != std::string::npos && request.target.find('+', mark) != std::string::npos) {
    return fault(kInvalid, "A '+' in the query must be sent as %2B, and a blank as %20.");
  }
  return std::nullopt;
}

Fault check_time(Claim& claim, WallTime now) {
  auto at = sigv4::parse_timestamp(claim.date);
  if (!at && !claim.presigned) at = sigv4::parse_http_date(claim.date);
  if (!at) {
    return fault(kIncomplete, "Date must be in ISO-8601 'basic format'. Got '" + claim.date +
                                  "'. See http://en.wikipedia.org/wiki/ISO_8601");
  }
  claim.at = *at;
  claim.timestamp = sigv4::format_timestamp(*at);
  seconds life = kSignatureWindow;
  if (!claim.expires.empty()) {
    int64_t given = 0;
    if (!read_number_in(claim.expires, given) || given < 1 || given > kMaxPresigned.count()) {
      return fault(kIncomplete,
                   "X-Amz-Expires must be a number of seconds from 1 to 604800. Got '" + claim.expires + "'");
    }
    life = seconds(given);
  }
  const std::string shown = sigv4::format_timestamp(now);
  const auto minutes = [](seconds span) {
    return span.count() % 60 == 0 ? std::to_string(span.count() / 60) + " min.)" : std::to_string(span.count()) + " s)";
  };
  if (now - *at > life) {
    return fault(kInvalid, "Signature expired: " + claim.timestamp + " is now earlier than " +
                               sigv4::format_timestamp(now - life) + " (" + shown + " - " + minutes(life));
  }
  if (*at - now > kSignatureWindow) {
    return fault(kInvalid, "Signature not yet current: " + claim.timestamp + " is still later than " +
                               sigv4::format_timestamp(now + kSignatureWindow) + " (" + shown + " + " +
                               minutes(kSignatureWindow));
  }
  return std::nullopt;
}

// The signature must cover Host, so that it is valid for servers of that name only, and the headers that decide what
// the request does.
Fault check_signed_headers(const HttpRequest& request, Claim& claim) {
  for (const std::string& name : sigv4::split(claim.signed_headers, ';')) claim.headers.push_back(sigv4::lower(name));
  // The names must rise, each once: a header named again and again would be hashed again and again.
  const bool rising =
      std::adjacent_find(claim.headers.begin(), claim.headers.end(), std::greater_equal<>()) == claim.headers.end();
  if (!rising || claim.headers.size() > request.headers.size()) {
    return fault(kInvalid, "SignedHeaders must name headers of the request, each once, in ascending order.");
  }
  const auto is_signed = [&](std::string_view name) {
    return std::find(claim.headers.begin(), claim.headers.end(), name) != claim.headers.end();
  };
  if (!is_signed("host")) {
    return fault(kInvalid, "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.");
  }
  if (!header(request.headers, "X-Amz-Target").empty() && !is_signed("x-amz-target")) {
    return fault(kInvalid, "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.");
  }
  return std::nullopt;
}

Fault check_scope(Claim& claim, const SignatureScope& scope) {
  if (claim.algorithm != sigv4::kAlgorithm) {
    return fault(kIncomplete,
                 "Unsupported AWS 'algorithm': '" + claim.algorithm + "' (only AWS4-HMAC-SHA256 for now). ");
  }
  claim.parts = sigv4::split(claim.credential, '/');
  if (claim.parts.size() != 5) {
    return fault(kIncomplete,
                 "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '" +
                     claim.credential + "'");
  }
  const std::string &date = claim.parts[1], &region = claim.parts[2], &service = claim.parts[3], &end = claim.parts[4];
  std::string wrong;
  if (!scope.region.empty() && region != scope.region) {
    wrong += "Credential should be scoped to a valid region, not '" + region + "'. ";
  }
  if (!scope.service.empty() && service != scope.service) {
    wrong += "Credential should be scoped to correct service: '" + scope.service + "'. ";
  }
  if (end != sigv4::kTerminator) {
    wrong += "Credential should be scoped with a valid terminator: 'aws4_request', not '" + end + "'. ";
  }
  if (date != claim.timestamp.substr(0, 8)) {
    wrong += "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '" + date +
             "' != '" + claim.timestamp.substr(0, 8) + "', from '" + claim.timestamp + "'.";
  }
  if (wrong.empty()) return std::nullopt;
  return fault(kInvalid, std::move(wrong));
}

Fault compare(const HttpRequest& request, const QueryMembers& query, const Claim& claim, const AccessKey& key) {
  const std::string body_hash = sha256_hex(request.body);
  const std::string scope = sigv4::scope_text(claim.parts[1], claim.parts[2], claim.parts[3]);
  std::string canonical;
  std::string to_sign;
  const std::string_view path = sigv4::path_of(request.target);
  for (const auto form : {sigv4::PathForm::kAsSent, sigv4::PathForm::kEncodedAgain}) {
    // The sender may have signed another path, which was then encoded once more.
    if (form == sigv4::PathForm::kAsSent && path.find("%25") != std::string_view::npos) continue;
    canonical = sigv4::canonical_request(request, query, claim.headers, body_hash, form);
    to_sign = sigv4::string_to_sign(claim.timestamp, scope, canonical);
    const std::string right = sigv4::signature_of(key, claim.parts[1], claim.parts[2], claim.parts[3], to_sign);
    if (equal_in_constant_time(right, claim.signature)) return std::nullopt;
    if (path == "/") break;  // Both forms are the same.
  }
  constexpr size_t kShown = 8 << 10;
  if (canonical.size() > kShown) canonical = canonical.substr(0, kShown) + "...";
  return fault(kInvalid,
               "The request signature we calculated does not match the signature you provided. Check your AWS Secret "
               "Access Key and signing method. Consult the service documentation for details.\n\nThe Canonical String "
               "for this request should have been\n'" +
                   canonical + "'\n\nThe String-to-Sign should have been\n'" + to_sign + "'\n");
}

Fault read_claim(const HttpRequest& request, const QueryMembers& query, Claim& claim) {
  const std::string_view authorization = header(request.headers, "Authorization");
  const bool presigned = sigv4::find_member(query, "X-Amz-Algorithm") != nullptr;
  if (auto unclear = check_query(request, query)) return unclear;
  if (!authorization.empty() && presigned) {
    return fault(kInvalid, "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.");
  }
  if (!presigned && !trim(authorization).starts_with("AWS4-")) {
    return fault("MissingAuthenticationTokenException", "Request is missing Authentication Token");
  }
  return presigned ? read_query(query, claim) : read_header(request, authorization, claim);
}

// Reads the request's claim and finds the key that it names. Null with a fault.
const AccessKey* check_claim(const HttpRequest& request, const QueryMembers& query, const Credentials& credentials,
                             const SignatureScope& scope, WallTime now, Claim& claim, Fault& wrong) {
  wrong = read_claim(request, query, claim);
  if (!wrong) wrong = check_time(claim, now);
  if (!wrong) wrong = check_signed_headers(request, claim);
  if (!wrong) wrong = check_scope(claim, scope);
  if (wrong) return nullptr;
  const AccessKey* key = credentials.find(claim.parts[0]);
  if (key != nullptr && equal_in_constant_time(key->token, claim.token)) return key;
  wrong = fault(kUnrecognized, std::string(kUnknownToken));
  return nullptr;
}

}  // namespace

std::optional<SignatureFault> check_signature(const HttpRequest& request, const Credentials& credentials,
                                              const SignatureScope& scope, WallTime now) {
  const AccessKey* signer = nullptr;
  return check_signature(request, credentials, scope, now, signer);
}

std::optional<SignatureFault> check_signature(const HttpRequest& request, const Credentials& credentials,
                                              const SignatureScope& scope, WallTime now, const AccessKey*& signer) {
  signer = nullptr;
  const QueryMembers query = sigv4::parse_query(request.target);
  Claim claim;
  Fault wrong;
  const AccessKey* key = check_claim(request, query, credentials, scope, now, claim, wrong);
  if (key != nullptr) wrong = compare(request, query, claim, *key);
  if (!wrong) signer = key;
  return wrong;
}

std::optional<SignatureFault> check_signature_head(const HttpRequest& head, const Credentials& credentials,
                                                   const SignatureScope& scope, WallTime now) {
  Claim claim;
  Fault wrong;
  check_claim(head, sigv4::parse_query(head.target), credentials, scope, now, claim, wrong);
  return wrong;
}

void sign_request(HttpRequest& request, const AccessKey& key, const SignatureScope& scope, WallTime now) {
  sign_request(request, key, scope, now, sha256_hex(request.body));
}

void sign_request(HttpRequest& request, const AccessKey& key, const SignatureScope& scope, WallTime now,
                  const std::string& body_hash) {
  const std::string timestamp = sigv4::format_timestamp(now);
  const std::string date = timestamp.substr(0, 8);
  request.headers.emplace_back("X-Amz-Date", timestamp);
  if (!key.token.empty()) request.headers.emplace_back("X-Amz-Security-Token", key.token);
  std::vector<std::string> names;
  for (const auto& [name, value] : request.headers) names.push_back(sigv4::lower(name));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string canonical = sigv4::canonical_request(request, sigv4::parse_query(request.target), names, body_hash,
                                                         sigv4::PathForm::kEncodedAgain);
  const std::string place = sigv4::scope_text(date, scope.region, scope.service);
  const std::string signature =
      sigv4::signature_of(key, date, scope.region, scope.service, sigv4::string_to_sign(timestamp, place, canonical));
  std::string authorization =
      std::string(sigv4::kAlgorithm) + " Credential=" + key.id + "/" + place + ", SignedHeaders=";
  for (const std::string& name : names) {
    if (authorization.back() != '=') authorization += ';';
    authorization += name;
  }
  request.headers.emplace_back("Authorization", authorization + ", Signature=" + signature);
}

}  // namespace freshet

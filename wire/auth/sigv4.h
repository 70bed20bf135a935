// AWS Signature Version 4 of HTTP requests: signs them, and checks signatures. Pure functions; any thread.
//
// The order of the checks and the texts are those of the service. The signature covers the method, the path, the query,
// the signed headers and the body as received (compressed, if it was).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "runtime/ports.h"
#include "wire/auth/credentials.h"

namespace freshet {

inline constexpr seconds kSignatureWindow{15 * 60};  // The allowed difference between the clocks of client and server,
                                                     // either way.
inline constexpr seconds kMaxPresigned{7 * 24 * 3600};

// The service and region that requests must be signed for. Empty parts are not checked.
struct SignatureScope {
  std::string region;
  std::string service;
};

// The reason for refusing a request: the service's name of the error and its text.
struct SignatureFault {
  std::string_view name;
  std::string message;
};

// Empty if the request has a valid signature of one of the keys, in its headers or (presigned) in its query.
std::optional<SignatureFault> check_signature(const HttpRequest& request, const Credentials& credentials,
                                              const SignatureScope& scope, WallTime now);

// The same. Also sets `signer` to the key in the credentials that signed the request; null with a fault.
std::optional<SignatureFault> check_signature(const HttpRequest& request, const Credentials& credentials,
                                              const SignatureScope& scope, WallTime now, const AccessKey*& signer);

// Does all checks that need only the head, before there is a body: everything but the signature itself.
std::optional<SignatureFault> check_signature_head(const HttpRequest& head, const Credentials& credentials,
                                                   const SignatureScope& scope, WallTime now);

// Adds X-Amz-Date, Authorization and, if the key has a token, X-Amz-Security-Token. Signs all existing headers; Host
// must be one of them.
void sign_request(HttpRequest& request, const AccessKey& key, const SignatureScope& scope, WallTime now);
// The same with the SHA-256 of the body, in hex.
void sign_request(HttpRequest& request, const AccessKey& key, const SignatureScope& scope, WallTime now,
                  const std::string& body_hash);

}  // namespace freshet

// A plain blocking HTTP client for the command line: one connection, kept alive. Not for the daemon (see client.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/ports.h"
#include "wire/auth/credentials.h"

namespace freshet {

struct BlockingClientOptions {
  std::optional<AccessKey> key;  // The key that signs requests.
  std::string ca_file;           // PEM file: trusted for https://, besides the system's certificates.
  // The service in signatures. The DynamoDB protocols require `dynamodb` and the daemon's region, all others accept
  // any.
  std::string service = "freshet";
  std::string region = "us-east-1";
};

// Parts of the error for a server whose certificate is refused, for code that adds advice to it. kBegin is its
// beginning. The others tell the reason; if none of them occurs, the issuer is unknown.
namespace untrusted {
inline constexpr std::string_view kBegin = "cannot trust ";
inline constexpr std::string_view kExpired = "its certificate expired on ";
inline constexpr std::string_view kEarly = "its certificate is not valid before ";
inline constexpr std::string_view kOtherName = "its certificate is for ";
}  // namespace untrusted

// One thread at a time.
class BlockingClient {
 public:
  // `base_url` is http://HOST[:PORT] or https://..., without a path. kValidation if it is not, or the file of
  // certificates cannot be read.
  static Result<std::unique_ptr<BlockingClient>> make(const std::string& base_url, BlockingClientOptions options = {});
  virtual ~BlockingClient() = default;
  // Connects if needed, also when the server has closed the kept-alive connection. kUnavailable (naming the
  // address) if the server cannot be reached or closes the connection. The request may then have been carried out,
  // so only GET and HEAD are retried once on another connection. Any status is a success here. `headers` are
  // signed, too.
  virtual Result<HttpResponse> call(const std::string& method, const std::string& target, const std::string& body,
                                    const HttpHeaders& headers = {}) = 0;
};

}  // namespace freshet

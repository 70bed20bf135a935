// A plain blocking HTTP client for the command line: one connection, kept alive. Not for the daemon (see client.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "runtime/ports.h"
#include "wire/auth/credentials.h"

namespace freshet {

struct BlockingClientOptions {
  std::optional<AccessKey> key;  // Requests are signed with it.
  std::string ca_file;           // PEM: trusted for https://, besides the system's.
  // What the signatures are for. The DynamoDB protocols want `dynamodb` and the daemon's region, all others take any.
  std::string service = "freshet";
  std::string region = "us-east-1";
};

// One thread at a time.
class BlockingClient {
 public:
  // `base_url` is http://HOST[:PORT] or https://..., without a path. kValidation if it is not, or the file of
  // certificates cannot be read.
  static Result<std::unique_ptr<BlockingClient>> make(const std::string& base_url, BlockingClientOptions options = {});
  virtual ~BlockingClient() = default;
  // Connects if needed, also when the server has closed the kept-alive connection. kUnavailable (naming the address) if
  // the server cannot be reached or breaks off. The request may have been carried out then, so only GET and HEAD are
  // retried once on another connection. Any status is a success here.
  // `headers` are signed, too.
  virtual Result<HttpResponse> call(const std::string& method, const std::string& target, const std::string& body,
                                    const HttpHeaders& headers = {}) = 0;
};

}  // namespace freshet

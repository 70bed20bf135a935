// The store at FRESHET_SEAM_ENDPOINT, for the seam's suite: http://HOST:PORT of something that speaks the DynamoDB
// protocol, with FRESHET_SEAM_KEY=ID:SECRET if it wants requests to be signed, and with what it lacks in
// FRESHET_SEAM_LACKS: transactions, refused-items. Calls block, so that the tests' simulated time stands still
// meanwhile.
#pragma once

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/ports.h"
#include "wire/auth/credentials.h"
#include "wire/http/blocking_client.h"

namespace freshet {

class RealEndpoint final : public HttpClient {
 public:
  explicit RealEndpoint(const std::string& url) {
    if (auto client = BlockingClient::make(url)) client_ = std::move(*client);
  }

  static std::string url() {
    const char* url = std::getenv("FRESHET_SEAM_ENDPOINT");
    return url == nullptr ? "" : url;
  }
  static bool lacks(std::string_view what) {
    const char* all = std::getenv("FRESHET_SEAM_LACKS");
    return all != nullptr && std::string_view(all).find(what) != std::string_view::npos;
  }
  static AccessKey key() {
    const char* text = std::getenv("FRESHET_SEAM_KEY");
    const std::string key = text == nullptr ? "test:test" : text;
    AccessKey out;
    out.id = key.substr(0, key.find(':'));
    out.secret = key.substr(key.find(':') + 1);
    return out;
  }

  // A moment for the engine to go on.
  static void pass() { std::this_thread::sleep_for(std::chrono::milliseconds(40)); }

  Async<Result<HttpResponse>> send(std::string, HttpRequest request, milliseconds) override {
    if (!client_) return Result<HttpResponse>(never_sent(ErrorCode::kUnavailable, "no such endpoint"));
    // A table that is being made is asked for again and again, in simulated time.
    if (header(request.headers, "X-Amz-Target").ends_with(".DescribeTable")) pass();
    HttpHeaders headers;
    for (auto& header : request.headers) {
      if (header.first != "Host") headers.push_back(std::move(header));
    }
    return client_->call(request.method, request.target, request.body, headers);
  }

 private:
  std::unique_ptr<BlockingClient> client_;
};

}  // namespace freshet

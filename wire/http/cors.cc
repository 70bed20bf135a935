#include "wire/http/cors.h"

#include <algorithm>

namespace freshet {

namespace {

class MarkedExchange final : public Exchange {
 public:
  MarkedExchange(std::unique_ptr<Exchange> inner, std::string origin)
      : inner_(std::move(inner)), origin_(std::move(origin)) {}
  Async<void> run() override { return inner_->run(); }
  HttpResponse respond() override {
    HttpResponse response = inner_->respond();
    Cors::mark(response, origin_);
    return response;
  }

 private:
  const std::unique_ptr<Exchange> inner_;
  const std::string origin_;
};

}  // namespace

Cors::Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {
  all_ = std::find(origins_.begin(), origins_.end(), "*") != origins_.end();
}

bool Cors::allows(std::string_view origin) const {
  return all_ || std::find(origins_.begin(), origins_.end(), origin) != origins_.end();
}

bool Cors::is_preflight(const HttpRequest& request) {
  return request.method == "OPTIONS" && !header(request.headers, "Access-Control-Request-Method").empty();
}

HttpResponse Cors::answer_preflight(const HttpRequest& request) const {
  HttpResponse response;
  response.status = 204;
  mark(response, header(request.headers, "Origin"));
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE");
  if (const auto asked = header(request.headers, "Access-Control-Request-Headers"); !asked.empty()) {
    response.headers.emplace_back("Access-Control-Allow-Headers", asked);
  }
  response.headers.emplace_back("Access-Control-Max-Age", "7200");
  return response;
}

void Cors::mark(HttpResponse& response, std::string_view origin) {
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back("Access-Control-Expose-Headers", "x-amzn-RequestId, x-amz-crc32, Retry-After, Date");
  response.headers.emplace_back("Vary", "Origin");
}

std::unique_ptr<Exchange> Cors::marked(std::unique_ptr<Exchange> exchange, std::string origin) {
  return std::make_unique<MarkedExchange>(std::move(exchange), std::move(origin));
}

std::string check_origin(std::string_view origin) {
  if (origin == "*" || origin == "null") return {};
  const size_t scheme = origin.find("://");
  const bool good = scheme != std::string_view::npos && scheme > 0 && scheme + 3 < origin.size() &&
                    origin.find_first_of("/?# \t", scheme + 3) == std::string_view::npos;
  return good ? std::string()
              : "'" + std::string(origin) + "' is not an origin: SCHEME://HOST[:PORT] without a path, or *";
}

}  // namespace freshet

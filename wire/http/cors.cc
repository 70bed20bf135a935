#include "wire/http/cors.h"

#include <algorithm>

namespace freshet {

Cors::Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {
  all_ = std::find(origins_.begin(), origins_.end(), "*") != origins_.end();
}

bool Cors::allows(std::string_view origin) const {
  return all_ || std::find(origins_.begin(), origins_.end(), origin) != origins_.end();
}

bool Cors::is_preflight(const HttpRequest& request) {
  return request.method == "OPTIONS" && !header(request.headers, "Access-Control-Request-Method").empty();
}

std::string_view Cors::page_of(const HttpHeaders& headers) const {
  if (origins_.empty()) return {};
  const std::string_view origin = header(headers, "Origin");
  return allows(origin) ? origin : std::string_view();
}

std::string_view Cors::any_page() const {
  if (all_) return "*";
  return origins_.size() == 1 ? std::string_view(origins_[0]) : std::string_view();
}

HttpResponse Cors::answer_preflight(const HttpRequest& request) {
  HttpResponse response;
  response.status = 204;
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST");
  if (const auto asked = header(request.headers, "Access-Control-Request-Headers"); !asked.empty()) {
    response.headers.emplace_back("Access-Control-Allow-Headers", asked);
  }
  response.headers.emplace_back("Access-Control-Max-Age", "7200");
  return response;
}

void Cors::mark(HttpResponse& response, std::string_view origin) {
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back(
      "Access-Control-Expose-Headers",
      "x-amzn-RequestId, x-request-id, x-amz-crc32, Retry-After, Date, Allow, X-Freshet-Next");
  response.headers.emplace_back("Vary", "Origin");
}

std::string check_origin(std::string_view origin) {
  if (origin == "*") return {};
  const bool tls = origin.starts_with("https://");
  const std::string_view host = tls || origin.starts_with("http://") ? origin.substr(tls ? 8 : 7) : std::string_view();
  const bool plain = !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
  });
  if (plain && !host.ends_with(tls ? ":443" : ":80")) return {};
  return "'" + std::string(origin) +
         "' is not an origin as browsers send it: http://HOST[:PORT] or https://HOST[:PORT] in lower case, without "
         "path "
         "and default port; or *";
}

}  // namespace freshet

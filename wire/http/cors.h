// Cross-origin requests of web pages. Off, without any header, unless origins are configured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/ports.h"

namespace freshet {

// Immutable; any thread.
class Cors {
 public:
  // Origins as browsers send them, "https://app.example"; "*" allows every page there is.
  explicit Cors(std::vector<std::string> origins);
  bool allows(std::string_view origin) const;
  // The page that sent a request with these headers, if it may read the answer; else empty. A view into them.
  std::string_view page_of(const HttpHeaders& headers) const;
  // A value that lets all configured pages read, whichever asks: "*", or the only one. Empty if there is none.
  std::string_view any_page() const;
  // True if this is a browser's preflight request.
  static bool is_preflight(const HttpRequest& request);
  static HttpResponse answer_preflight(const HttpRequest& request);
  // Lets the page read the answer.
  static void mark(HttpResponse& response, std::string_view origin);

 private:
  std::vector<std::string> origins_;
  bool all_ = false;
};

// "" if an origin can be configured, else what is wrong with it.
std::string check_origin(std::string_view origin);

}  // namespace freshet

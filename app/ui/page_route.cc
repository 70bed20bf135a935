#include "app/ui/page_route.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "app/ui/assets.h"
#include "wire/http/compression.h"
#include "wire/http/own_error.h"

namespace freshet::ui {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
constexpr std::string_view kFolder = "%FOLDER%";  // In index.html.
constexpr std::string_view kHeadEnd = "</head>";

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

std::string_view type_of(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  if (path.ends_with(".svg")) return "image/svg+xml";
  return "text/plain; charset=utf-8";
}

const Asset* find(std::string_view path) {
  const auto all = assets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Asset& one) { return one.path == path; });
  return found == all.end() ? nullptr : &*found;
}

HttpResponse redirect() {
  HttpResponse response;
  response.status = 303;
  response.content_type = "text/plain; charset=utf-8";
  response.headers.emplace_back("Location", "/ui/");
  response.headers.emplace_back("Vary", "Accept");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.body = "the dashboard is at /ui/\n";
  return response;
}

std::string page_of(const Asset& index, PageOf of) {
  std::string page(index.body);
  if (of == PageOf::kFile) page.insert(page.find(kHeadEnd), "<meta name=\"freshet-file\" content=\"\">\n");
  for (size_t at = 0; (at = page.find(kFolder, at)) != std::string::npos;) {
    page.replace(at, kFolder.size(), version());
  }
  return page;
}

// `tag`: of what is served now.
bool is_known(const HttpRequest& request, const std::string& tag) {
  return header(request.headers, "If-None-Match").find(tag) != std::string_view::npos;
}

// `of`: empty for a file of the page.
HttpResponse answer(const HttpRequest& request, const Asset& asset, std::optional<PageOf> of) {
  HttpResponse response;
  const std::string tag =
      "\"" + std::string(of ? version() : asset.hash.substr(0, 32)) + (of == PageOf::kFile ? "-file\"" : "\"");
  response.content_type = type_of(asset.path);
  auto& headers = response.headers;
  headers.emplace_back("ETag", tag);
  headers.emplace_back("Cache-Control", of ? "no-cache" : "public, max-age=31536000, immutable");
  headers.emplace_back("Content-Security-Policy", kPolicy);
  headers.emplace_back("X-Content-Type-Options", "nosniff");
  headers.emplace_back("X-Frame-Options", "DENY");
  headers.emplace_back("Referrer-Policy", "no-referrer");
  headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  headers.emplace_back("Vary", "Accept-Encoding");
  if (is_known(request, tag)) {
    response.status = 304;
    return response;
  }
  response.body = of ? page_of(asset, *of) : std::string(asset.body);
  compress_answer(response, preferred_coding(header(request.headers, "Accept-Encoding")));
  return response;
}

HttpResponse answer_to(const HttpRequest& request, PageOf of) {
  const std::string_view path = path_of(request.target);
  if (path == "/" || path == "/ui") return redirect();
  std::string_view rest = path.substr(std::string_view("/ui/").size());
  if (rest.empty()) return answer(request, *find("index.html"), of);
  const std::string folder = std::string(version()) + "/";
  const Asset* asset = rest.starts_with(folder) ? find(rest.substr(folder.size())) : nullptr;
  if (asset == nullptr) return own_error(404, "NotFoundException", nothing_served(request.method, path));
  return answer(request, *asset, std::nullopt);
}

class PageRoute final : public Route {
 public:
  explicit PageRoute(PageOf of) : of_(of) {}
  bool matches(const HttpRequest& request) const override {
    const std::string_view path = path_of(request.target);
    if (path == "/ui" || path.starts_with("/ui/")) return true;
    const bool is_root = path == "/" && request.method == "GET";
    return is_root && header(request.headers, "Accept").find("text/html") != std::string_view::npos;
  }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    if (request.method != "GET") return answer_with_response(method_not_allowed(request, "GET, HEAD"));
    return answer_with_response(answer_to(request, of_));
  }

 private:
  const PageOf of_;
};

}  // namespace

std::unique_ptr<Route> make_page_route(PageOf of) {
  return std::make_unique<PageRoute>(of);
}

}  // namespace freshet::ui

#include "wire/http/blocking_client.h"

#include <utility>
// Asio on GCC 12 needs <utility> before it.
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>

#include "base/clock.h"
#include "base/limits.h"
#include "wire/auth/sigv4.h"

namespace freshet {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

class BeastBlockingClient final : public BlockingClient {
 public:
  BeastBlockingClient(std::string host, std::string port, std::optional<AccessKey> key)
      : host_(std::move(host)), port_(std::move(port)), key_(std::move(key)) {}

  Result<HttpResponse> call(const std::string& method, const std::string& target, const std::string& body) override {
    const bool bracketed = host_.find(':') != std::string::npos;
    HttpRequest plain{method, target, {{"Host", (bracketed ? "[" + host_ + "]" : host_) + ":" + port_}}, body};
    if (key_) sign_request(plain, *key_, {"us-east-1", "freshet"}, SystemClock().wall());
    http::request<http::string_body> request;
    request.method_string(method);
    request.target(target);
    request.version(11);
    for (const auto& [name, value] : plain.headers) request.set(name, value);
    request.set(http::field::content_type, "application/json");
    request.body() = std::move(plain.body);
    request.prepare_payload();

    const bool fresh = !socket_.has_value();
    auto response = exchange(request);
    if (!response && !fresh) response = exchange(request);  // The kept-alive connection had been closed.
    return response;
  }

 private:
  Result<HttpResponse> broken(const char* what, const boost::system::error_code& error) {
    socket_.reset();
    return fail(ErrorCode::kUnavailable,
                std::string("cannot ") + what + " http://" + host_ + ":" + port_ + ": " + error.message());
  }

  Result<HttpResponse> exchange(const http::request<http::string_body>& request) {
    boost::system::error_code error;
    if (!socket_) {
      socket_.emplace(io_);
      buffer_.clear();
      tcp::resolver resolver(io_);
      const auto addresses = resolver.resolve(host_, port_, error);
      if (error) return broken("resolve", error);
      asio::connect(*socket_, addresses, error);
      if (error) return broken("reach", error);
      socket_->set_option(tcp::no_delay(true), error);
    }
    http::write(*socket_, request, error);
    if (error) return broken("send to", error);
    http::response_parser<http::string_body> parser;
    parser.body_limit(4 * limits::kMaxRequestBytes);
    http::read(*socket_, buffer_, parser, error);
    if (error) return broken("read from", error);
    auto answer = parser.release();
    if (!answer.keep_alive()) socket_.reset();
    HttpResponse response;
    response.status = answer.result_int();
    for (const auto& field : answer) {
      response.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    response.body = std::move(answer.body());
    return response;
  }

  const std::string host_;
  const std::string port_;
  const std::optional<AccessKey> key_;
  asio::io_context io_;
  std::optional<tcp::socket> socket_;
  boost::beast::flat_buffer buffer_;
};

}  // namespace

Result<std::unique_ptr<BlockingClient>> BlockingClient::make(const std::string& base_url,
                                                             std::optional<AccessKey> key) {
  constexpr std::string_view kScheme = "http://";
  const auto wrong = [&](const char* why) {
    return invalid("'" + base_url + "' is no address of a daemon: " + why + " (like http://127.0.0.1:7070)");
  };
  if (base_url.rfind(kScheme, 0) != 0) return wrong("it must start with http://");
  std::string host = base_url.substr(kScheme.size());
  while (!host.empty() && host.back() == '/') host.pop_back();
  if (host.find('/') != std::string::npos) return wrong("it must not have a path");
  std::string port = "80";
  const auto colon = host.rfind(':');
  if (colon != std::string::npos && host.find(']', colon) == std::string::npos) {
    port = host.substr(colon + 1);
    host.resize(colon);
  }
  if (port.empty() || port.find_first_not_of("0123456789") != std::string::npos) return wrong("the port is no number");
  if (host.empty()) return wrong("the host is missing");
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return std::make_unique<BeastBlockingClient>(std::move(host), std::move(port), std::move(key));
}

}  // namespace freshet

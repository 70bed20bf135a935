#include "wire/http/blocking_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>
// Asio on GCC 12 needs <utility> before it.
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>

#include <openssl/x509v3.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/number_text.h"
#include "wire/auth/sigv4.h"
#include "wire/http/tls.h"

namespace freshet {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

// OpenSSL has no words for an error of the system, such as a missing file.
std::string reason_of(const boost::system::error_code& error) {
  const auto code = static_cast<unsigned>(error.value());
  const bool by_system = error.category() == asio::error::get_ssl_category() && ERR_SYSTEM_ERROR(code);
  return by_system ? std::strerror(ERR_GET_REASON(code)) : error.message();
}

// "Nov 24 10:00:00 2026 GMT".
std::string date_of(const ASN1_TIME* time) {
  std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  if (!out || ASN1_TIME_print(out.get(), time) != 1) return "a date that cannot be read";
  char* text = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

// The names and addresses that the certificate is for: "localhost, 127.0.0.1".
std::string names_of(X509* certificate) {
  std::string out;
  auto* all = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; all != nullptr && i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* one = sk_GENERAL_NAME_value(all, i);
    std::string name;
    if (one->type == GEN_DNS) {
      const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(one->d.dNSName));
      name.assign(text, static_cast<size_t>(ASN1_STRING_length(one->d.dNSName)));
    } else if (one->type == GEN_IPADD) {
      const int family = ASN1_STRING_length(one->d.iPAddress) == 4 ? AF_INET : AF_INET6;
      char text[INET6_ADDRSTRLEN] = {};
      if (::inet_ntop(family, ASN1_STRING_get0_data(one->d.iPAddress), text, sizeof text) != nullptr) name = text;
    }
    if (!name.empty()) out += (out.empty() ? "" : ", ") + name;
  }
  GENERAL_NAMES_free(all);
  if (!out.empty()) return out;
  // Without any of these its subject's common name counts.
  char name[256] = {};
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return length > 0 ? name : "";
}

// The reason why the certificate is refused.
std::string refusal_of(X509_STORE_CTX* check) {
  const int why = X509_STORE_CTX_get_error(check);
  X509* certificate = X509_STORE_CTX_get_current_cert(check);
  if (certificate == nullptr) return X509_verify_cert_error_string(why);
  switch (why) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return std::string(untrusted::kExpired) + date_of(X509_get0_notAfter(certificate));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return std::string(untrusted::kEarly) + date_of(X509_get0_notBefore(certificate));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: {
      const std::string names = names_of(certificate);
      return std::string(untrusted::kOtherName) + (names.empty() ? "no name at all" : names);
    }
    default:
      return X509_verify_cert_error_string(why);
  }
}

// The certificate must be for that name, or for that address. False if it cannot be asked for one.
bool ask_for(SSL* stream, const std::string& host) {
  X509_VERIFY_PARAM* wanted = SSL_get0_param(stream);
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return true;
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(stream, host.c_str()) == 1 && SSL_set_tlsext_host_name(stream, host.c_str()) == 1;
}

class BeastBlockingClient final : public BlockingClient {
 public:
  BeastBlockingClient(std::string host, std::string port, bool secure, BlockingClientOptions options)
      : host_(std::move(host)), port_(std::move(port)), secure_(secure), options_(std::move(options)) {}

  // kValidation if a file of certificates cannot be read.
  Result<void> trust() {
    const auto& ca_file = options_.ca_file;
    boost::system::error_code error;
    context_.set_verify_mode(asio::ssl::verify_peer);
    context_.set_default_verify_paths(error);
    if (ca_file.empty()) return {};
    context_.load_verify_file(ca_file, error);
    if (!error) return {};
    const auto why = TlsTrust::make(ca_file);  // In the words of the daemon's own client.
    return why ? invalid("cannot use the certificates of '" + ca_file + "': " + reason_of(error)) : fail(why.error());
  }

  Result<HttpResponse> call(const std::string& method, const std::string& target, const std::string& body,
                            const HttpHeaders& headers) override {
    const bool bracketed = host_.find(':') != std::string::npos;
    HttpRequest plain{method, target, {{"Host", (bracketed ? "[" + host_ + "]" : host_) + ":" + port_}}, body};
    plain.headers.insert(plain.headers.end(), headers.begin(), headers.end());
    if (options_.key) {
      sign_request(plain, *options_.key, {options_.region, options_.service}, SystemClock().wall());
    }
    http::request<http::string_body> request;
    request.method_string(method);
    request.target(target);
    request.version(11);
    request.set(http::field::content_type, "application/json");
    for (const auto& [name, value] : plain.headers) request.set(name, value);
    request.body() = std::move(plain.body);
    request.prepare_payload();

    if (socket_ && closed_by_server()) disconnect();
    const bool fresh = !socket_.has_value();
    auto response = exchange(request);
    // The server may have closed the connection since that check. A request that changes something is not sent again:
    // the first one may have been carried out.
    const bool changes = method != "GET" && method != "HEAD";
    if (!response && !fresh && !changes) response = exchange(request);
    return response;
  }

 private:
  Result<HttpResponse> broken(const char* what, const boost::system::error_code& error) {
    disconnect();
    return fail(ErrorCode::kUnavailable, std::string("cannot ") + what + (secure_ ? " https://" : " http://") + host_ +
                                             ":" + port_ + ": " + error.message());
  }

  // True for an idle kept-alive connection on which the server has nothing to send but the end.
  bool closed_by_server() {
    char byte = 0;
    const ssize_t n = ::recv(socket_->native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

  void disconnect() {
    tls_.reset();
    socket_.reset();
  }

  // Connects; on a failure returns the step that failed, with its error.
  const char* connect(boost::system::error_code& error) {
    socket_.emplace(io_);
    buffer_.clear();
    tcp::resolver resolver(io_);
    const auto addresses = resolver.resolve(host_, port_, error);
    if (error) return "resolve";
    asio::connect(*socket_, addresses, error);
    if (error) return "reach";
    socket_->set_option(tcp::no_delay(true), error);
    if (!secure_) return nullptr;
    tls_.emplace(*socket_, context_);
    refusal_.clear();
    if (!ask_for(tls_->native_handle(), host_)) {
      error = asio::error::make_error_code(asio::error::invalid_argument);
      return "begin TLS with";
    }
    tls_->set_verify_callback([this](bool good, asio::ssl::verify_context& check) {
      if (!good && refusal_.empty()) refusal_ = refusal_of(check.native_handle());
      return good;
    });
    tls_->handshake(asio::ssl::stream_base::client, error);
    if (!error) return nullptr;
    return refusal_.empty() ? "begin TLS with" : "trust";
  }

  // True if the first bytes of the answer to a handshake were not TLS: a server of plain HTTP answers in its own way.
  static bool is_plain(const boost::system::error_code& error) {
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));  // NOLINT(google-runtime-int)
    const bool by_tls = error.category() == asio::error::get_ssl_category();
    return by_tls && (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
                      reason == SSL_R_HTTPS_PROXY_REQUEST);
  }

  Result<HttpResponse> exchange(const http::request<http::string_body>& request) {
    boost::system::error_code error;
    if (!socket_) {
      if (const char* failed = connect(error)) {
        if (!is_plain(error) && refusal_.empty()) return broken(failed, error);
        disconnect();
        const std::string place = host_ + ":" + port_;
        if (!refusal_.empty()) return fail(ErrorCode::kUnavailable, why_untrusted(place));
        return fail(ErrorCode::kUnavailable,
                    "the server at https://" + place + " does not speak TLS; its address is http://" + place);
      }
    }
    return tls_ ? exchange(*tls_, request) : exchange(*socket_, request);
  }

  std::string why_untrusted(const std::string& place) const {
    std::string out = std::string(untrusted::kBegin) + "https://" + place + ": " + refusal_;
    const bool by_issuer = refusal_.find(untrusted::kExpired) == refusal_.npos &&
                           refusal_.find(untrusted::kEarly) == refusal_.npos &&
                           refusal_.find(untrusted::kOtherName) == refusal_.npos;
    if (refusal_.starts_with(untrusted::kOtherName)) out += ", and not for " + host_;
    if (by_issuer && !options_.ca_file.empty()) out += "; none of '" + options_.ca_file + "' has signed it";
    return out;
  }

  template <class Stream>
  Result<HttpResponse> exchange(Stream& stream, const http::request<http::string_body>& request) {
    boost::system::error_code error;
    http::write(stream, request, error);
    if (error) return broken("send to", error);
    http::response_parser<http::string_body> parser;
    parser.body_limit(4 * limits::kMaxRequestBytes);
    http::read(stream, buffer_, parser, error);
    if (error) return broken("read from", error);
    auto answer = parser.release();
    if (!answer.keep_alive()) disconnect();
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
  const bool secure_;
  const BlockingClientOptions options_;
  asio::io_context io_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
  std::optional<tcp::socket> socket_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;  // Over the socket.
  boost::beast::flat_buffer buffer_;
  std::string refusal_;  // The reason why the server's certificate is refused; empty if it is accepted.
};

}  // namespace

Result<std::unique_ptr<BlockingClient>> BlockingClient::make(const std::string& base_url,
                                                             BlockingClientOptions options) {
  const bool secure = base_url.rfind("https://", 0) == 0;
  const std::string_view scheme = secure ? "https://" : "http://";
  const auto wrong = [&](const char* why) {
    return invalid("'" + base_url + "' is no address of a daemon: " + why + " (like http://127.0.0.1:7070)");
  };
  if (base_url.rfind(scheme, 0) != 0) return wrong("it must start with http:// or https://");
  std::string host = base_url.substr(scheme.size());
  while (!host.empty() && host.back() == '/') host.pop_back();
  if (host.find('/') != std::string::npos) return wrong("it must not have a path");
  std::string port = secure ? "443" : "80";
  const auto colon = host.rfind(':');
  if (colon != std::string::npos && host.find(']', colon) == std::string::npos) {
    port = host.substr(colon + 1);
    host.resize(colon);
  }
  uint16_t number = 0;
  if (!read_number_in(port, number)) return wrong("the port must be a number from 0 to 65535");
  if (host.empty()) return wrong("the host is missing");
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  auto client = std::make_unique<BeastBlockingClient>(std::move(host), std::move(port), secure, std::move(options));
  if (auto trusted = client->trust(); !trusted) return fail(trusted.error());
  return client;
}

}  // namespace freshet

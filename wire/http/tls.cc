#include "wire/http/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>

#include "base/check.h"

namespace freshet {

namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeStream {
  void operator()(SSL* stream) const { SSL_free(stream); }
};

// Why OpenSSL refused; empties its queue of errors.
std::string reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  // OpenSSL has no text for what the system said.
  if (ERR_SYSTEM_ERROR(code)) {
    const int error = ERR_GET_REASON(code);
    return std::generic_category().message(error) + (error == EACCES ? " (chmod or chown lets this user read it)" : "");
  }
  if (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE) {
    return "it is not PEM text (-----BEGIN ...-----)";
  }
  if (ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_NO_CERTIFICATE_OR_CRL_FOUND) {
    return "it holds no certificate in PEM text (-----BEGIN CERTIFICATE-----)";
  }
  if (ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH) {
    return "it is the key of another certificate";
  }
  const char* text = ERR_reason_error_string(code);
  return text != nullptr ? text : "error " + std::to_string(code);
}

// The reason for `file`. OpenSSL opens a folder, and then only says that it found nothing in it.
std::string reason(const std::string& file) {
  std::string why = reason();
  std::error_code ignored;
  return std::filesystem::is_directory(file, ignored) ? std::generic_category().message(EISDIR) : why;
}

// The one protocol that is spoken here, for clients that ask.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned int in_size,
                    void*) {
  static constexpr unsigned char kHttp[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kHttp, sizeof(kHttp) - 1, in, in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// For both ends: idle connections hold no buffers, and data that could not be written may be offered again from another
// address.
void set_up(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // TLS 1.3 has no other ciphers. For 1.2: keys that are gone with the connection, and no CBC.
  FRESHET_CHECK(SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1, "OpenSSL knows these ciphers");
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

// A client has sent plain HTTP: says so in plain HTTP, the one answer that it can read. First reads what it has sent:
// the kernel would drop the answer if the socket were closed with unread bytes.
void answer_in_plain(int socket) {
  static constexpr std::string_view kBody =
      R"({"error":{"code":"ValidationException","message":"this port speaks HTTPS: use https:// in the address"},)"
      R"("__type":"ValidationException","message":"this port speaks HTTPS: use https:// in the address"})"
      "\n";
  static const std::string answer =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
      std::to_string(kBody.size()) + "\r\n\r\n" + std::string(kBody);
  char taken[4096];
  for (int i = 0; i < 16 && ::recv(socket, taken, sizeof(taken), MSG_DONTWAIT) > 0; ++i) {
  }
  if (::send(socket, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) ::shutdown(socket, SHUT_WR);
}

class OpenSslStream final : public TlsStream {
 public:
  explicit OpenSslStream(SSL* stream) : stream_(stream) {}

  ssize_t receive(char* place, size_t room) override {
    ERR_clear_error();
    const int n = SSL_read(stream_.get(), place, static_cast<int>(std::min<size_t>(room, INT_MAX)));
    read_waits_for_write_ = n <= 0 && SSL_want_write(stream_.get()) != 0;
    return n > 0 ? n : refused(n);
  }

  ssize_t send(const iovec* parts, size_t count) override {
    ssize_t sent = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto* at = static_cast<const char*>(parts[i].iov_base);
      for (size_t left = parts[i].iov_len; left > 0;) {
        ERR_clear_error();
        const int n = SSL_write(stream_.get(), at, static_cast<int>(std::min<size_t>(left, INT_MAX)));
        if (n <= 0) {
          const ssize_t error = refused(n);
          if (sent > 0 && error < 0 && errno == EAGAIN) return sent;
          if (error == 0) errno = EPIPE;
          return -1;
        }
        at += n;
        left -= static_cast<size_t>(n);
        sent += n;
      }
    }
    return sent;
  }

  bool read_waits_for_write() const override { return read_waits_for_write_; }
  std::string fault() const override { return fault_; }
  bool handshaking() const override { return SSL_is_init_finished(stream_.get()) == 0; }

  void end() override {
    if (SSL_is_init_finished(stream_.get()) == 0 || broken_) return;
    ERR_clear_error();
    SSL_shutdown(stream_.get());
    ERR_clear_error();
  }

 private:
  std::string fault_now() const {
    const long verdict = SSL_get_verify_result(stream_.get());
    if (verdict == X509_V_OK) return "TLS: " + reason();
    ERR_clear_error();
    std::string why = std::string("its certificate is refused: ") + X509_verify_cert_error_string(verdict);
    switch (verdict) {
      case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
      case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return why + " (--ca-file names certificates that the daemon trusts besides the system's)";
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return why + " (call it by a name that its certificate is for)";
      default:
        return why;
    }
  }

  // Translates to the result of a socket: 0 at the end of the stream, else -1 and errno.
  ssize_t refused(int n) {
    const int system_error = errno;
    switch (SSL_get_error(stream_.get(), n)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
      case SSL_ERROR_ZERO_RETURN:
        return 0;
      case SSL_ERROR_SYSCALL:
        broken_ = true;
        errno = system_error != 0 && system_error != EAGAIN ? system_error : ECONNRESET;
        return -1;
      default:
        broken_ = true;
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) answer_in_plain(SSL_get_fd(stream_.get()));
        if (fault_.empty()) fault_ = fault_now();
        errno = EPROTO;
        return -1;
    }
  }

  const std::unique_ptr<SSL, FreeStream> stream_;
  bool read_waits_for_write_ = false;  // The last read did.
  bool broken_ = false;                // Nothing may be sent any more.
  std::string fault_;
};

class OpenSslContext final : public TlsContext {
 public:
  explicit OpenSslContext(std::unique_ptr<SSL_CTX, FreeContext> context) : context_(std::move(context)) {}
  std::unique_ptr<TlsStream> accept(int socket) const override {
    SSL* stream = SSL_new(context_.get());
    if (stream == nullptr || SSL_set_fd(stream, socket) != 1) {
      SSL_free(stream);
      ERR_clear_error();
      return nullptr;
    }
    SSL_set_accept_state(stream);
    return std::make_unique<OpenSslStream>(stream);
  }

 private:
  const std::unique_ptr<SSL_CTX, FreeContext> context_;
};

class OpenSslTrust final : public TlsTrust {
 public:
  explicit OpenSslTrust(std::unique_ptr<SSL_CTX, FreeContext> context) : context_(std::move(context)) {}
  std::unique_ptr<TlsStream> connect(int socket, const std::string& host) const override {
    SSL* stream = SSL_new(context_.get());
    if (stream == nullptr || SSL_set_fd(stream, socket) != 1 || !is_for(stream, host)) {
      SSL_free(stream);
      ERR_clear_error();
      return nullptr;
    }
    SSL_set_connect_state(stream);
    return std::make_unique<OpenSslStream>(stream);
  }

 private:
  // A certificate has addresses in a field of their own, and a client must not request an address by name (SNI).
  static bool is_for(SSL* stream, const std::string& host) {
    X509_VERIFY_PARAM* wanted = SSL_get0_param(stream);
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return true;
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(stream, host.c_str()) == 1 && SSL_set_tlsext_host_name(stream, host.c_str()) == 1;
  }
  const std::unique_ptr<SSL_CTX, FreeContext> context_;
};

}  // namespace

Result<std::shared_ptr<const TlsTrust>> TlsTrust::make(const std::string& ca_file) {
  std::unique_ptr<SSL_CTX, FreeContext> context(SSL_CTX_new(TLS_client_method()));
  FRESHET_CHECK(context != nullptr, "OpenSSL is there");
  // Without close_notify, anybody may have ended the connection, so an answer that only ends with it is incomplete.
  set_up(context.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  static constexpr unsigned char kHttp[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context.get(), kHttp, sizeof(kHttp) - 1);
  ERR_clear_error();
  SSL_CTX_set_default_verify_paths(context.get());
  ERR_clear_error();
  if (!ca_file.empty() && SSL_CTX_load_verify_file(context.get(), ca_file.c_str()) != 1) {
    return invalid("cannot use the certificates of '" + ca_file + "': " + reason(ca_file));
  }
  return std::make_shared<const OpenSslTrust>(std::move(context));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const std::string& certificate, const std::string& key) {
  std::unique_ptr<SSL_CTX, FreeContext> context(SSL_CTX_new(TLS_server_method()));
  FRESHET_CHECK(context != nullptr, "OpenSSL is there");
  set_up(context.get());
  SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  // A key behind a pass phrase is refused rather than asked for on the terminal.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1) {
    return invalid("cannot use the certificate '" + certificate + "': " + reason(certificate));
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return invalid("cannot use the private key '" + key + "': " + reason(key));
  }
  return std::make_shared<const OpenSslContext>(std::move(context));
}

}  // namespace freshet

#include "bench/bare_beast.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <thread>
#include <utility>

namespace freshet {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::ip::tcp::socket socket, const std::string& answer) : socket_(std::move(socket)), answer_(answer) {
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }
  void read() {
    request_ = {};
    http::async_read(socket_, buffer_, request_, beast::bind_front_handler(&Session::on_read, shared_from_this()));
  }

 private:
  void on_read(beast::error_code error, size_t) {
    if (error) return;
    response_ = {};
    response_.version(11);
    response_.result(200);
    response_.set(http::field::content_type, "application/json");
    response_.set(http::field::date, "Sat, 21 Nov 2026 09:31:15 GMT");
    response_.body() = answer_;
    response_.prepare_payload();
    http::async_write(socket_, response_, beast::bind_front_handler(&Session::on_write, shared_from_this()));
  }
  void on_write(beast::error_code error, size_t) {
    if (!error) read();
  }

  asio::ip::tcp::socket socket_;
  const std::string& answer_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> response_;
};

}  // namespace

class BareBeast::Impl {
 public:
  explicit Impl(std::string answer)
      : answer_(std::move(answer)), io_(1), acceptor_(io_, {asio::ip::make_address("127.0.0.1"), 0}) {
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Impl() {
    io_.stop();
    thread_.join();
  }
  uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void accept() {
    acceptor_.async_accept([this](beast::error_code error, asio::ip::tcp::socket socket) {
      if (error) return;
      std::make_shared<Session>(std::move(socket), answer_)->read();
      accept();
    });
  }

  const std::string answer_;
  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

BareBeast::BareBeast(std::string answer) : impl_(std::make_unique<Impl>(std::move(answer))) {}
BareBeast::~BareBeast() = default;
uint16_t BareBeast::port() const {
  return impl_->port();
}

}  // namespace freshet

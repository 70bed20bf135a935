// One connection of the server: reads and parses requests, keeps their answers in order, writes them. I/O thread.
// Not for use outside wire/http.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/http/io_thread.h"
#include "wire/http/message_parser.h"
#include "wire/http/own_error.h"
#include "wire/http/refusal_log.h"
#include "wire/http/server.h"
#include "wire/http/tls.h"

namespace freshet::http_server {

// What a connection needs of the thread's part of the server. Outlives its connections.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  virtual const HttpServerOptions& options() const = 0;
  virtual IoThread& io() = 0;
  virtual bool stopping() const = 0;
  // The body that a connection is receiving has grown or is gone. False if all bodies together are too much.
  virtual bool charge(size_t before, size_t now) = 0;
  virtual std::string_view date() = 0;  // Of now, as a Date header spells it.
  // An answer of 400 or more is about to be written.
  virtual void refused(const RefusedRequest& request) = 0;
  // Why the head of a request that is still arriving is enough to refuse it; null if it is not.
  virtual std::unique_ptr<HttpResponse> refuse_head(HttpRequest head) const = 0;
  // The bodies of answers that a client has not taken yet have grown or are gone.
  virtual void hold(size_t before, size_t now) = 0;
  virtual bool is_full() const = 0;  // All of them together are too much.
  // The web page that sent a request with these headers and may read the answer; empty if there is none.
  virtual std::string_view page_of(const HttpHeaders& headers) const = 0;
  // A whole request; its answer comes as answer(request_number, ...), now or later.
  virtual void submit(uint64_t connection, uint64_t request_number, HttpRequest request) = 0;
  virtual void hung_up(uint64_t connection) = 0;     // The client has gone while requests were in work.
  virtual void has_output(uint64_t connection) = 0;  // Wants flush() at the end of the turn.
  virtual void look_again(BootTime when) = 0;        // Wants check_timeout() then, or earlier.
  virtual void closed(uint64_t connection) = 0;      // Destroys the connection at the end of the turn.
};

class Connection final : public IoThread::Handler {
 public:
  // With `tls`, which is the socket's, all bytes go through it.
  Connection(ConnectionOwner& owner, std::unique_ptr<Socket> socket, std::unique_ptr<TlsStream> tls, uint64_t id,
             uint64_t listener);
  void on_ready(bool readable, bool writable, bool hung_up) override;

  // The answer to a request. Answers go out in the order of the requests.
  void answer(uint64_t request_number, HttpResponse response);
  void answer_overloaded(uint64_t request_number, std::string_view reason);
  void flush();  // Writes what is there.
  void check_timeout(BootTime now);
  void begin_stop();  // Closes as soon as nothing is in work; a request that is not whole by then is refused.
  void close();
  bool has_untaken() const { return held_ > 0; }  // Answers that the client has not taken yet.

 private:
  // "GET /queues", for the log: what there is no room for is left out. Without an allocation, as each request has one.
  class RequestName {
   public:
    void append(std::string_view text) {
      const size_t size = std::min(text.size(), text_.size() - size_);
      std::copy_n(text.data(), size, text_.data() + size_);
      size_ += size;
    }
    std::string_view view() const { return {text_.data(), size_}; }

   private:
    std::array<char, 232> text_;
    size_t size_ = 0;
  };

  // A request that is not answered yet.
  struct Slot {
    bool done = false;
    bool close_after = false;
    bool to_head = false;
    bool http10 = false;
    ApiKind api = ApiKind::kOwn;
    std::string id;    // The client's own; empty if it has none.
    RequestName what;  // For the log.
    std::string page;  // Which may read the answer; empty if the request is none of a web page.
    HttpResponse response;
  };

  void read();
  bool read_once();
  ssize_t receive(char* place, size_t room) {
    return tls_ ? tls_->receive(place, room) : socket_->receive(place, room);
  }
  ssize_t transmit(const iovec* parts, size_t count) {
    return tls_ ? tls_->send(parts, count) : socket_->send(parts, count);
  }
  void consume(std::string_view in, bool is_unread);
  bool accepting() const;
  const std::shared_ptr<const std::string>& peer();
  void take_request();
  void check_head();
  void refuse(int status, std::string reason);
  void refuse(HttpResponse response);
  bool charge(size_t body_bytes);
  void hold(size_t body_bytes);
  void send_continue_if_wanted();
  void end_of_stream();
  void watch_half_closed();
  void probe();
  bool gone() const { return socket_->fault() != 0; }
  void hang_up();
  void refuse_unfinished();
  void write_front();
  void append_answer(Slot& slot, uint64_t number, bool close_after);
  void append_headers(std::string& out, const Slot& slot, uint64_t number);
  Slot& open_slot(const HttpRequest& request);
  uint64_t id_number(uint64_t request_number) const;
  void begin_linger();
  bool in_work() const;
  bool idle() const { return slots_.empty() && !parser_.started() && unread_.empty() && out_.empty(); }
  size_t pending_output() const;

  ConnectionOwner& owner_;
  std::unique_ptr<Socket> socket_;
  const std::unique_ptr<TlsStream> tls_;  // Null without TLS.
  const uint64_t id_;
  const uint64_t listener_;
  std::shared_ptr<const std::string> peer_;  // Null until a request wants it.
  RequestParser parser_;
  std::string unread_;    // Received, not yet parsed.
  bool can_read_ = true;  // The socket may have more.
  bool can_write_ = true;
  bool hung_up_ = false;      // Epoll has said so; the end of the stream is still to be read.
  bool half_closed_ = false;  // The client sends no more; whether it still reads is not known.
  bool probed_ = false;       // It has been sent something since, to find out.
  bool refusing_ = false;     // No further request is parsed: an error or "Connection: close" ends the connection.
  bool lingering_ = false;    // All is written; what still arrives is dropped until the client closes.
  bool closed_ = false;
  bool continue_sent_ = false;
  bool head_checked_ = false;  // Of the request that is arriving.
  bool flush_wanted_ = false;
  size_t charged_ = 0;          // Bytes of the body that is arriving, as the owner knows them.
  size_t held_ = 0;             // Bytes of answers' bodies that are not written, as the owner knows them.
  uint64_t first_request_ = 0;  // Number of slots_[0].
  std::vector<Slot> slots_;
  std::vector<std::string> out_;  // To be written, in order.
  std::string spare_;             // Keeps its memory for the next answer.
  size_t out_offset_ = 0;         // Written of out_[0].
  size_t discarded_ = 0;          // While lingering.
  BootTime since_;                // Start of what the timeout watches: idling, the request, the last write, lingering.
};

}  // namespace freshet::http_server

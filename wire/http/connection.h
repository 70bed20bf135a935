// One connection of the server: reads and parses requests, keeps their responses in order, writes them. I/O thread. Not
// for use outside wire/http.
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

// The part of the server that a connection calls: that of its thread. Outlives its connections.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  virtual const HttpServerOptions& options() const = 0;
  virtual IoThread& io() = 0;
  virtual bool stopping() const = 0;
  // The body that a connection is receiving has grown, or was released. Returns false if all bodies together are too
  // large.
  virtual bool charge(size_t before, size_t now) = 0;
  virtual std::string_view date() = 0;  // The current time, as in a Date header.
  // A response of 400 or more is about to be written.
  virtual void refused(const RefusedRequest& request) = 0;
  // Returns the refusal of a request if its head alone is sufficient reason; else null.
  virtual std::unique_ptr<HttpResponse> refuse_head(HttpRequest head) const = 0;
  // The bodies of responses that a client has not received yet have grown, or were released.
  virtual void hold(size_t before, size_t now) = 0;
  virtual bool is_full() const = 0;  // True if all of them together are too large.
  // The web page that sent a request with these headers and may read the answer; empty if there is none.
  virtual std::string_view page_of(const HttpHeaders& headers) const = 0;
  // A complete request; its response comes as answer(request_number, ...), now or later.
  virtual void submit(uint64_t connection, uint64_t request_number, HttpRequest request) = 0;
  virtual void hung_up(uint64_t connection) = 0;     // The client has disconnected while requests were in work.
  virtual void has_output(uint64_t connection) = 0;  // Asks for flush() at the end of the turn.
  virtual void look_again(BootTime when) = 0;        // Asks for check_timeout() at that time, or earlier.
  virtual void closed(uint64_t connection) = 0;      // Asks to destroy the connection at the end of the turn.
};

class Connection final : public IoThread::Handler {
 public:
  // With `tls`, which is the socket's, all bytes go through it.
  Connection(ConnectionOwner& owner, std::unique_ptr<Socket> socket, std::unique_ptr<TlsStream> tls, uint64_t id,
             uint64_t listener);
  void on_ready(bool readable, bool writable, bool hung_up) override;

  // Gives the response to a request. Responses are sent in the order of the requests.
  void answer(uint64_t request_number, HttpResponse response);
  void answer_overloaded(uint64_t request_number, std::string_view reason);
  void flush();  // Writes pending output.
  void check_timeout(BootTime now);
  void begin_stop();  // Closes as soon as nothing is in work; an incomplete request is then refused.
  void close();
  bool has_untaken() const { return held_ > 0; }  // True if the client has not received all responses.

 private:
  // "GET /queues", for the log, cut if there is no room. Needs no allocation, because each request has one.
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

  // A request without a response yet.
  struct Slot {
    bool done = false;
    bool close_after = false;
    bool to_head = false;
    bool http10 = false;
    ApiKind api = ApiKind::kOwn;
    std::string id;    // The client's own id; empty if it has none.
    RequestName what;  // For the log.
    std::string page;  // The web page that may read the response; empty if no web page sent the request.
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
  std::shared_ptr<const std::string> peer_;  // Null until a request needs it.
  RequestParser parser_;
  std::string unread_;    // Received, not parsed yet.
  bool can_read_ = true;  // True if the socket may have more.
  bool can_write_ = true;
  bool hung_up_ = false;      // Reported by epoll; the end of the stream is still to be read.
  bool half_closed_ = false;  // The client sends no more; it is unknown if it still reads.
  bool probed_ = false;       // Something was sent since then, to find out.
  bool refusing_ = false;     // No further request is parsed: an error or "Connection: close" ends the connection.
  bool lingering_ = false;    // Everything is written; data that still arrives is dropped until the client closes.
  bool closed_ = false;
  bool continue_sent_ = false;
  bool head_checked_ = false;  // True once the head of the arriving request was checked.
  bool flush_wanted_ = false;
  size_t charged_ = 0;          // Bytes of the arriving body that were reported to the owner.
  size_t held_ = 0;             // Bytes of unwritten bodies of responses that were reported to the owner.
  uint64_t first_request_ = 0;  // The request number of slots_[0].
  std::vector<Slot> slots_;
  std::vector<std::string> out_;  // Pending output, in order.
  std::string spare_;             // Keeps its memory for the next response.
  size_t out_offset_ = 0;         // The bytes of out_[0] that are written.
  size_t discarded_ = 0;          // Bytes that were dropped while lingering.
  BootTime since_;                // The start of the time that the timeout measures: idling, the request, the last
                                  // write, or lingering.
};

}  // namespace freshet::http_server

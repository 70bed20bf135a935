#include "wire/http/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/points.h"
#include "wire/http/cors.h"
#include "wire/http/request_ids.h"

namespace freshet::http_server {

namespace {

constexpr size_t kOwnSegment = 16u << 10;       // A body from this size on is not copied.
constexpr size_t kSegment = 64u << 10;          // Small answers are gathered up to this.
constexpr size_t kMaxPendingOutput = 1u << 20;  // Above it no further request is read.
constexpr size_t kMaxDiscarded = 64u << 20;
constexpr size_t kUnseen = 16u << 10;  // The bytes of a body that are received before the head is checked.
constexpr milliseconds kLinger{2'000};
constexpr milliseconds kStopLinger{100};  // How long a stopping server reads on before it closes.
constexpr milliseconds kPatience{2'000};  // For a client that reads nothing, while there is no room for responses.
constexpr milliseconds kProbeAfter{50};   // Most responses come sooner.
constexpr std::string_view kProtocolId = "x-amzn-RequestId";
constexpr size_t kNameBytes = std::string_view("x-request-id").size();
constexpr size_t kMostLogged = 200;  // The most bytes of a target in the log.
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string_view status_text(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Other";
  }
}

// `lower` is lower-case letters and '-'.
bool is_name(std::string_view name, std::string_view lower) {
  return std::equal(name.begin(), name.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

// A header value must not be able to start another header.
void append_value(std::string& out, std::string_view value) {
  const size_t begin = out.size();
  out += value;
  for (size_t i = begin; i < out.size(); ++i) {
    if (static_cast<unsigned char>(out[i]) < 0x20 && out[i] != '\t') out[i] = ' ';
  }
}

}  // namespace

Connection::Connection(ConnectionOwner& owner, std::unique_ptr<Socket> socket, std::unique_ptr<TlsStream> tls,
                       uint64_t id, uint64_t listener)
    : owner_(owner),
      socket_(std::move(socket)),
      tls_(std::move(tls)),
      id_(id),
      listener_(listener),
      parser_(owner.options().limits),
      since_(owner.io().now()) {}

void Connection::on_ready(bool readable, bool writable, bool hung_up) {
  if (closed_) return;
  can_read_ = can_read_ || readable || (writable && tls_ && tls_->read_waits_for_write());
  can_write_ = can_write_ || writable;
  hung_up_ = hung_up_ || hung_up;
  if (half_closed_ && hung_up && gone()) return hang_up();
  if (writable && !out_.empty()) flush();
  read();
}

bool Connection::accepting() const {
  return !closed_ && !refusing_ && slots_.size() < owner_.options().max_pipelined &&
         pending_output() < kMaxPendingOutput;
}

void Connection::read() {
  if (accepting() && !unread_.empty()) consume(unread_, true);
  while (can_read_ && (lingering_ || accepting())) {
    if (!read_once()) return;
  }
  // Even while nothing is read, a disconnected client must not leave its exchanges running.
  if (!closed_ && hung_up_ && !lingering_ && !accepting()) watch_half_closed();
}

// Reads once and handles the data. Returns false if the socket has no more, or is closed.
bool Connection::read_once() {
  char* place = owner_.io().scratch();
  size_t room = IoThread::kScratchBytes;
  const size_t kept = unread_.size();
  if (kept > 0) {
    room = 16u << 10;
    unread_.resize(kept + room);
    place = unread_.data() + kept;
  }
  const ssize_t n = receive(place, room);
  if (kept > 0) unread_.resize(kept + static_cast<size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) {
    can_read_ = false;
    if (errno != EAGAIN) hang_up();
    return false;
  }
  if (n == 0) {
    can_read_ = false;
    hung_up_ = true;
    end_of_stream();
    return false;
  }
  // A short read: the socket is empty, and later data triggers a new event. A hang-up has been reported already. Within
  // TLS it only is the end of a record.
  if (static_cast<size_t>(n) < room && !hung_up_ && !tls_) can_read_ = false;
  if (lingering_) {
    unread_.clear();
    discarded_ += static_cast<size_t>(n);
    if (discarded_ > kMaxDiscarded) close();
    return !closed_;
  }
  if (kept > 0) {
    consume(unread_, true);
  } else {
    consume({place, static_cast<size_t>(n)}, false);
  }
  return !closed_;
}

// Parses what it can of `in`, which is unread_ itself or the scratch buffer, and keeps the rest in unread_.
void Connection::consume(std::string_view in, bool is_unread) {
  size_t taken = 0;
  while (taken < in.size() && accepting()) {
    const bool fresh = !parser_.started();
    taken += parser_.feed(in.substr(taken));
    if (fresh && parser_.started()) since_ = owner_.io().now();
    if (parser_.state() == ParseState::kFailed) {
      refuse(parser_.failure().status, parser_.failure().reason);
    } else if (parser_.state() == ParseState::kComplete) {
      take_request();
    } else {
      check_head();
      if (!refusing_ && !charge(parser_.body_bytes())) refuse(503, "too many large requests are in work; try again");
      send_continue_if_wanted();
      break;
    }
  }
  if (refusing_) taken = in.size();
  if (is_unread) {
    unread_.erase(0, taken);
  } else if (taken < in.size()) {
    unread_.assign(in.substr(taken));
  }
}

Connection::Slot& Connection::open_slot(const HttpRequest& request) {
  Slot& slot = slots_.emplace_back();
  slot.to_head = request.method == "HEAD";
  slot.page = owner_.page_of(request.headers);
  if (!owner_.options().marks_answers) return slot;
  slot.api = api_of(request.target);
  std::string_view operation;
  for (const auto& [name, value] : request.headers) {
    if (name.size() != kNameBytes) continue;  // Both names have this length.
    if (is_name(name, "x-request-id") && is_good_request_id(value)) slot.id = value;
    if (is_name(name, "x-amz-target")) operation = value;
  }
  slot.what.append(request.method);
  slot.what.append(" ");
  // Without the query, which may have a signature or a token.
  const std::string_view target = request.target;
  slot.what.append(target.substr(0, std::min(target.find('?'), kMostLogged)));
  if (operation.empty() || slot.api != ApiKind::kAws) return slot;
  slot.what.append(" ");
  slot.what.append(operation);
  return slot;
}

const std::shared_ptr<const std::string>& Connection::peer() {
  if (!peer_) peer_ = std::make_shared<const std::string>(socket_->peer());
  return peer_;
}

void Connection::take_request() {
  const bool http10 = parser_.http10();
  const bool close_after = !parser_.keep_alive();
  HttpRequest request = parser_.take();
  request.listener = listener_;
  Slot& slot = open_slot(request);
  slot.http10 = http10;
  slot.close_after = close_after;
  continue_sent_ = false;
  head_checked_ = false;
  charge(0);
  refusing_ = slot.close_after;
  const uint64_t number = first_request_ + slots_.size() - 1;
  request.number = id_number(number);
  request.peer = peer();
  owner_.submit(id_, number, std::move(request));
}

// Refuses a request by its head, so that its body neither fills the room for bodies nor is requested.
void Connection::check_head() {
  if (head_checked_ || !parser_.header_complete()) return;
  if (parser_.body_bytes() <= kUnseen && !parser_.expects_continue()) return;
  head_checked_ = true;
  if (auto refused = owner_.refuse_head(parser_.head())) refuse(std::move(*refused));
}

void Connection::refuse(int status, std::string reason) {
  const ApiKind api = api_of(parser_.head().target);
  refuse(status == 503 ? overloaded(api, reason) : refusal(api, status, reason));
}

// Answers after everything that is in work, then closes.
void Connection::refuse(HttpResponse response) {
  refusing_ = true;
  charge(0);
  Slot& slot = open_slot(parser_.head());
  slot.close_after = true;
  answer(first_request_ + slots_.size() - 1, std::move(response));
}

bool Connection::charge(size_t body_bytes) {
  if (body_bytes == charged_) return true;
  return owner_.charge(std::exchange(charged_, body_bytes), body_bytes);
}

void Connection::hold(size_t body_bytes) {
  owner_.hold(std::exchange(held_, body_bytes), body_bytes);
}

void Connection::send_continue_if_wanted() {
  if (continue_sent_ || !slots_.empty() || !parser_.expects_continue()) return;
  if (parser_.state() != ParseState::kNeedMore || refusing_) return;
  continue_sent_ = true;
  out_.emplace_back(kContinue);
  if (!std::exchange(flush_wanted_, true)) owner_.has_output(id_);
}

bool Connection::in_work() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.done; });
}

// The client has closed its sending side, or all of it; both look the same. One that only sends no more still reads its
// responses.
void Connection::end_of_stream() {
  if (lingering_ || (!in_work() && out_.empty())) return close();
  refusing_ = true;
  watch_half_closed();
}

void Connection::watch_half_closed() {
  half_closed_ = true;
  probe();
}

// Finds out if a half-closed client still reads: sending fails if its system no longer has the connection. Every client
// of HTTP/1.1 skips an interim response.
void Connection::probe() {
  if (!half_closed_ || probed_ || closed_ || !in_work() || !out_.empty() || slots_[0].http10) return;
  if (owner_.io().now() - since_ < kProbeAfter) return owner_.look_again(since_ + kProbeAfter);
  probed_ = true;
  out_.emplace_back(kContinue);
  if (!std::exchange(flush_wanted_, true)) owner_.has_output(id_);
}

// The client has gone: its requests in work and unwritten responses are dropped.
void Connection::hang_up() {
  if (in_work()) owner_.hung_up(id_);
  close();
}

void Connection::answer(uint64_t request_number, HttpResponse response) {
  if (closed_ || request_number < first_request_) return;
  const size_t index = request_number - first_request_;
  if (index >= slots_.size()) return;
  Slot& slot = slots_[index];
  // A client that has read all responses gets the next one, whatever the room. One that has not may be about to, and is
  // only refused.
  if (held_ > 0 && response.body.size() >= kOwnSegment && owner_.is_full()) {
    response = overloaded(slot.api, "too many answers wait to be taken; try again");
  }
  if (!slot.to_head) hold(held_ + response.body.size());
  slot.done = true;
  slot.response = std::move(response);
  if (!slot.page.empty()) Cors::mark(slot.response, slot.page);
  if (index > 0) return;
  write_front();
}

void Connection::answer_overloaded(uint64_t request_number, std::string_view reason) {
  const size_t index = request_number - first_request_;
  if (closed_ || request_number < first_request_ || index >= slots_.size()) return;
  answer(request_number, overloaded(slots_[index].api, reason));
}

void Connection::write_front() {
  const bool nothing_waited = out_.empty();  // Otherwise the timeout continues: new responses are no sign of life of
                                             // the client.
  size_t done = 0;
  while (done < slots_.size() && slots_[done].done) {
    Slot& slot = slots_[done];
    const uint64_t number = first_request_ + done++;
    const bool last = done == slots_.size() && unread_.empty() && !parser_.started();
    const bool close_after = slot.close_after || (last && (owner_.stopping() || half_closed_));
    refusing_ = refusing_ || close_after;
    append_answer(slot, number, close_after);
  }
  slots_.erase(slots_.begin(), slots_.begin() + static_cast<ptrdiff_t>(done));
  first_request_ += done;
  if (!parser_.started() && nothing_waited) since_ = owner_.io().now();
  send_continue_if_wanted();
  if (!std::exchange(flush_wanted_, true)) owner_.has_output(id_);
}

uint64_t Connection::id_number(uint64_t request_number) const {
  return request_number_of(owner_.options().seed, id_, request_number);
}

void Connection::append_headers(std::string& out, const Slot& slot, uint64_t number) {
  out += "Date: ";
  out += owner_.date();
  out += "\r\n";
  std::string_view id;
  for (const auto& [name, value] : slot.response.headers) {
    append_value(out, name);
    out += ": ";
    append_value(out, value);
    out += "\r\n";
    if (name == kProtocolId) id = value;
  }
  if (!owner_.options().marks_answers) return;
  out += slot.api == ApiKind::kAws ? "Server: Server\r\n" : "Server: Freshet\r\n";  // The service's header has that
                                                                                    // value.
  std::array<char, 16> own;
  std::string protocol;
  if (id.empty()) {
    const bool aws = slot.api == ApiKind::kAws;
    if (aws) {
      id = protocol = protocol_request_id(id_number(number));
    } else if (!slot.id.empty()) {
      id = slot.id;
    } else {
      own = own_request_id(id_number(number));
      id = {own.data(), own.size()};
    }
    out += aws ? kProtocolId : "x-request-id";
    out += ": ";
    out += id;
    out += "\r\n";
  }
  if (slot.response.status < 400) return;
  const std::string_view code = header(slot.response.headers, "x-amzn-ErrorType");
  owner_.refused({id, slot.what.view(), slot.response.status, slot.response.body, code});
}

void Connection::append_answer(Slot& slot, uint64_t number, bool close_after) {
  HttpResponse& response = slot.response;
  const bool bodiless = response.status == 204 || response.status == 304;
  if (out_.empty() || out_.back().size() > kSegment) out_.push_back(std::exchange(spare_, {}));
  std::string& out = out_.back();
  out += "HTTP/1.1 ";
  out += std::to_string(response.status);
  out += ' ';
  out += status_text(response.status);
  out += "\r\n";
  if (!bodiless) {
    out += "Content-Type: ";
    append_value(out, response.content_type);
    out += "\r\nContent-Length: ";
    out += std::to_string(response.body.size());
    out += "\r\n";
  }
  append_headers(out, slot, number);
  if (close_after) {
    out += "Connection: close\r\n";
  } else if (slot.http10) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  if (bodiless || slot.to_head) return;
  if (response.body.size() < kOwnSegment) {
    out += response.body;
  } else {
    out_.push_back(std::move(response.body));
    out_.emplace_back();
  }
}

size_t Connection::pending_output() const {
  size_t bytes = 0;
  for (const std::string& segment : out_) bytes += segment.size();
  return bytes;
}

void Connection::flush() {
  flush_wanted_ = false;
  if (closed_) return;
  while (can_write_ && !out_.empty()) {
    std::array<iovec, 16> parts;
    size_t count = 0;
    size_t bytes = 0;
    for (; count < out_.size() && count < parts.size(); ++count) {
      const size_t skip = count == 0 ? out_offset_ : 0;
      parts[count] = {out_[count].data() + skip, out_[count].size() - skip};
      bytes += parts[count].iov_len;
    }
    const ssize_t n = bytes == 0 ? 0 : transmit(parts.data(), count);
    if (n < 0) {
      can_write_ = false;
      if (errno != EAGAIN) {
        hang_up();
        return;
      }
      FRESHET_REACHED("an answer waits for its reader");
      break;
    }
    since_ = owner_.io().now();
    hold(held_ - std::min(held_, static_cast<size_t>(n)));
    size_t written = static_cast<size_t>(n) + out_offset_;
    size_t whole = 0;
    while (whole < count && written >= out_[whole].size()) written -= out_[whole++].size();
    if (whole > 0 && out_[0].capacity() <= kOwnSegment) {
      spare_ = std::move(out_[0]);
      spare_.clear();
    }
    out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(whole));
    out_offset_ = written;
  }
  if (!out_.empty()) return;
  if (slots_.empty()) hold(0);
  if (slots_.empty() && refusing_) {
    begin_linger();
  } else if (can_read_ || !unread_.empty()) {
    read();
  }
  refuse_unfinished();
  // Closes connections whose responses were ready, but not yet sent, when the stop began.
  if (!closed_ && !lingering_ && owner_.stopping() && idle()) close();
}

// Closing at once would make the kernel reset the connection while the client still sends, and the client might lose
// the response. So only our side is closed, and further data is read and dropped for a while.
void Connection::begin_linger() {
  if (lingering_) return;
  if (hung_up_) {
    close();
    return;
  }
  lingering_ = true;
  unread_.clear();
  since_ = owner_.io().now();
  if (tls_) tls_->end();
  socket_->end_sending();
  read();
}

void Connection::begin_stop() {
  if (idle() || lingering_) return close();
  refuse_unfinished();
}

// A stopping server does not wait for the rest of a request: no part of it was carried out, and the response says so.
void Connection::refuse_unfinished() {
  if (closed_ || refusing_ || !owner_.stopping() || !slots_.empty() || !out_.empty()) return;
  if (parser_.started() || !unread_.empty()) refuse(503, "the server is stopping; try again");
}

void Connection::check_timeout(BootTime now) {
  const nanoseconds past = now - since_;
  const HttpServerOptions& options = owner_.options();
  if (lingering_) {
    if (past > (owner_.stopping() ? kStopLinger : kLinger)) close();
  } else if (!out_.empty()) {
    if (past > (owner_.is_full() ? std::min(options.write_timeout, kPatience) : options.write_timeout)) {
      FRESHET_REACHED("nobody reads an answer");
      hang_up();
    }
  } else if (!slots_.empty() || refusing_) {
    probe();  // The duration of an exchange is not limited.
  } else if (parser_.started() || !unread_.empty()) {
    if (past > options.read_timeout) refuse(408, "the request did not arrive in time");
  } else if (tls_ && tls_->handshaking()) {
    if (past > options.read_timeout) close();  // A client of TLS would not understand a response in plain text.
  } else if (past > options.idle_timeout) {
    begin_stop();
  }
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  charge(0);
  hold(0);
  slots_.clear();  // It stays until the end of the turn, in which more may happen.
  out_.clear();
  if (tls_ && !lingering_) tls_->end();
  if (!FRESHET_PLANTED("closed-connection-kept")) socket_.reset();
  owner_.closed(id_);
}

}  // namespace freshet::http_server
